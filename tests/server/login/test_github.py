"""Login at GitHub, here a stand-in whose addresses are settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.server.login.browsing import Browser, me
from tests.server.login.issuer import Issuer, issuing, reply
from tests.server.serving import Served, serving

from tidegate_server.login.logins import Logins
from tidegate_server.operators.providers import read_providers

USER = {"id": 7, "login": "ann", "name": "Ann", "email": "public@example.test"}
EMAILS = [
    {"email": "old@example.test", "primary": False, "verified": True},
    {"email": "ann@example.test", "primary": True, "verified": True},
]
TOKENS = {"access_token": "gho_x", "token_type": "bearer", "scope": "user:email"}


@pytest.fixture(scope="module")
def hub() -> Iterator[Issuer]:
    """The stand-in."""
    with issuing() as made:
        yield made


@pytest.fixture(scope="module")
def served(hub: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that has operators log in there."""
    text = (
        f'{{"github": {{"client_id": "x", "client_secret": "s", "issuer": "{hub.origin}",'
        f' "api_url": "{hub.origin}/api/v3"}}}}'
    )
    logins = Logins(read_providers(text), anyone=True)
    logins.prepare()
    with serving(tmp_path_factory.mktemp("github"), logins) as made:
        yield made


def log_in(hub: Issuer, served: Served, **replies: Any) -> dict[str, str]:
    """A login at the stand-in, which answers as it should but for some replies."""
    said = {"tokens": TOKENS, "user": USER, "emails": EMAILS, **replies}
    hub.changed = {
        "/login/oauth/access_token": lambda _: reply(said["tokens"]),
        "/api/v3/user": lambda _: reply(said["user"]),
        "/api/v3/user/emails": lambda _: reply(said["emails"]),
    }
    visitor = Browser(served, "github")
    location = urlsplit(visitor.begin())
    assert f"{location.scheme}://{location.netloc}" == hub.origin
    assert location.path == "/login/oauth/authorize"
    asked = parse_qs(location.query)
    assert asked["scope"] == ["read:user user:email"]
    assert asked["code_challenge_method"] == ["S256"]
    return visitor.come_back({"code": "x", "state": asked["state"][0]})


def test_the_primary_verified_address_counts(hub: Issuer, served: Served) -> None:
    """The public address is what somebody typed, and counts for nothing."""
    found = me(served, log_in(hub, served)["access_token"]).json()
    assert (found["name"], found["email"]) == ("Ann", "ann@example.test")


def test_the_number_names_the_user(hub: Issuer, served: Served) -> None:
    """A renamed user stays; another number under the old name is somebody else."""
    first = me(served, log_in(hub, served)["access_token"]).json()["user_id"]
    renamed = {**USER, "login": "ann-smith"}
    assert me(served, log_in(hub, served, user=renamed)["access_token"]).json()["user_id"] == first
    other = [{"email": "eve@example.test", "primary": True, "verified": True}]
    found = log_in(hub, served, user={**USER, "id": 8}, emails=other)
    assert me(served, found["access_token"]).json()["user_id"] != first


@pytest.mark.parametrize(
    "replies",
    [
        {"emails": [{"email": "new@example.test", "primary": True, "verified": False}]},
        {"emails": [{"email": "new@example.test", "primary": False, "verified": True}]},
        {"emails": [{"email": "new@example.test", "primary": True, "verified": "true"}]},
        {"emails": []},
        {"emails": {"message": "Not Found"}},
        {"user": {"login": "ann"}},
        {"user": {**USER, "id": "9"}},
        {"user": {**USER, "id": True}},
        {"user": []},
        {"tokens": {"error": "bad_verification_code"}},
        {"tokens": {"access_token": "x"}},
    ],
    ids=lambda replies: str(replies)[:60],
)
def test_an_answer_that_names_nobody_for_sure_is_refused(
    hub: Issuer, served: Served, replies: dict[str, Any]
) -> None:
    """A user without a number, or a new one without a verified primary address, gets no token."""
    stranger = {"user": {**USER, "id": 99}, **replies}
    assert log_in(hub, served, **stranger) == {"error": "refused"}
