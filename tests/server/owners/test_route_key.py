"""The tenant or challenge that a path names, which decides the partition of a call."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tidegate_server.owners.route_key import RouteKey, route_key_in


def test_a_tenant_and_a_challenge_are_found_in_their_paths() -> None:
    """With what follows them, and under both prefixes."""
    name = uuid4()
    for path in (f"/api/v1/tenants/{name}", f"/tenants/{name}/policies"):
        assert route_key_in(path) == RouteKey(tenant_id=name)
    for path in (f"/api/v1/challenge/{name}", f"/api/v1/challenge/{name}/solution"):
        assert route_key_in(path) == RouteKey(challenge_id=name)


@pytest.mark.parametrize("path", ["/api/v1/auth/login", "/api/v1/tenants", "/tenants/nobody"])
def test_what_names_nobody_is_of_the_first_partition(path: str) -> None:
    """So the limits of logins are counted in one place."""
    assert route_key_in(path) == RouteKey(is_of_first=True)


def test_a_page_is_of_any_partition() -> None:
    """Pages are the same everywhere."""
    assert route_key_in("/console/") == RouteKey()
