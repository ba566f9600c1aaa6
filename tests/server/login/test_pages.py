"""The pages of a login, as they are served."""

from __future__ import annotations

import re

import pytest
from tests.server.login.conftest import Place
from tests.server.serving import serving

from tidegate_server.login.logins import Logins

PAGES = ("/login", "/login/callback", "/auth/local/login")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_runs_our_own_script_and_no_other(place: Place, path: str) -> None:
    """No markup that a policy would have to allow, no frame, no cache."""
    answer = place.served.http.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    for part in (
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
    ):
        assert part in policy
    assert not re.search(r"<script>|<style|\son\w+=|style=|https?://", answer.text)
    for loaded in re.findall(r'(?:src|href)="(/login/[^"]+)"', answer.text):
        assert place.served.http.get(loaded).status_code == 200


def test_the_ways_to_log_in_are_listed(place: Place) -> None:
    """Each way to log in is listed with the address where a browser begins."""
    found = place.served.http.get("/api/v1/auth/providers").json()
    assert [(each["name"], each["login_url"]) for each in found] == [
        ("company", "/auth/company/login"),
        ("other", "/auth/other/login"),
        ("local", "/auth/local/login"),
    ]


def test_passwords_can_be_turned_off(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Without passwords neither the form nor the call for a token is there."""
    with serving(tmp_path_factory.mktemp("no-passwords"), Logins(local=False)) as served:
        assert served.http.get("/api/v1/auth/providers").json() == []
        body = {"email": "a@example.test", "password": "x"}
        for answer in (
            served.http.get("/auth/local/login"),
            served.http.post("/api/v1/auth/local/token", json=body),
        ):
            assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


@pytest.mark.parametrize("name", ["nobody", "Company", "company%2f", "..", "local"])
def test_there_is_no_callback_of_another_name(place: Place, name: str) -> None:
    """Only what the settings name is a provider."""
    answer = place.served.http.get(f"/auth/{name}/callback")
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
