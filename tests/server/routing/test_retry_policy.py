"""Requests that may be run again where nobody knows whether they were run."""

from __future__ import annotations

import pytest

from tidegate_server.http.repeats import HEADER
from tidegate_server.routing.retry_policy import is_repeatable
from tidegate_server.routing.route import Route
from tidegate_server.routing.routes import ROUTES

KEY = [(HEADER.encode(), b"key")]
ID = "0192aaaa-0000-7000-8000-000000000000"


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_what_changes_something_is_run_again_where_its_answer_is_kept(route: Route) -> None:
    """Reads and hot calls may be run again; a change may be if its route keeps the answer under
    the key of the request."""
    is_change = route.method != "GET" and route.handler is not None
    for path in route.paths:
        for name in route.parameters:
            path = path.replace(f"{{{name}}}", ID)
        if is_change:
            assert not is_repeatable(route.method, path, [])
            assert is_repeatable(route.method, path, KEY) == route.repeatable
        elif route.method == "GET":
            assert is_repeatable(route.method, path, [])


@pytest.mark.parametrize(
    ("method", "path", "is_again"),
    [
        ("POST", "/api/v1/runtime/mitigation", True),
        ("POST", "/api/v1/beacon/events", True),
        ("POST", "/authz/any/path", True),
        ("POST", "/api/v1/sync/events", False),
        ("DELETE", "/tenants", False),
    ],
)
def test_hot_calls_are_run_again(method: str, path: str, is_again: bool) -> None:
    """Calls for decisions can be repeated, since an id makes sure that each is decided once."""
    assert is_repeatable(method, path, KEY) is is_again
