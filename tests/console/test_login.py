"""Who am I: a token from the login, kept under its name, gone with the sign-out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from playwright.sync_api import expect
from tests.browser import Watched
from tests.service.service_process import Service, start, stop
from tools import plain_http

EMAIL, PASSWORD = "me@example.test", "a password of eight words that nobody else has"
STORED = "localStorage.getItem('service.auth_token')"


def test_the_token_leaves_the_address_at_once(owner: Watched, service: Service) -> None:
    """The token is in the storage, and in no address or history entry."""
    page = owner.page
    assert page.evaluate(STORED) == service.owner_token
    assert service.owner_token not in page.url
    page.go_back()
    assert service.owner_token not in page.url
    owner.require_silence()


def test_without_a_token_the_login_is_shown_and_leads_back(visitor: Watched) -> None:
    """A visitor of a deep link logs in first; the filters are in no request."""
    page = visitor.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/console/example-shop/decisions#path=%2Fsecret")
    page.wait_for_url("**/login?next=%2Fconsole%2Fexample-shop%2Fdecisions")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert not any("secret" in url.partition("#")[0] for url in asked)


def test_a_token_that_ended_leads_to_the_login(owner: Watched) -> None:
    """A 401 forgets the token."""
    page = owner.page
    page.evaluate("localStorage.setItem('service.auth_token', 'stale')")
    page.goto("/console/example-shop/policies")
    page.wait_for_url("**/login?**")
    assert page.evaluate(STORED) is None


def test_who_signs_out_has_a_token_that_no_longer_counts(visitor: Watched, tmp_path: Path) -> None:
    """The token is revoked at the service, and forgotten in the browser."""
    process, said = start("--demo", log=tmp_path / "log")
    page = visitor.page
    bearer = {"authorization": f"Bearer {said['owner_token']}"}
    try:
        page.goto(f"{said['base_url']}/console/#access_token={said['owner_token']}")
        assert plain_http.get(f"{said['base_url']}/api/v1/me", headers=bearer).status_code == 200
        page.get_by_role("button", name="Log out").click()
        page.wait_for_url("**/login?**")
        assert page.evaluate(STORED) is None
        assert plain_http.get(f"{said['base_url']}/api/v1/me", headers=bearer).status_code == 401
    finally:
        stop(process)


def test_a_login_with_a_password_ends_in_the_console(visitor: Watched, tmp_path: Path) -> None:
    """The operator that `init --server` made logs in at the page that nothing led to."""
    data = ["--store-directory", str(tmp_path / "data")]
    named = ["--email", EMAIL, "--tenant", "Shop", "--password-stdin"]
    subprocess.run(
        [sys.executable, "-m", "tidegate", "init", "--server", *named, *data],
        input=f"{PASSWORD}\n",
        text=True,
        capture_output=True,
        check=True,
    )
    process, said = start(*data, log=tmp_path / "log")
    page = visitor.page
    try:
        page.goto(f"{said['base_url']}/login")
        page.get_by_role("link", name="Email and password").click()
        page.get_by_label("Email").fill(EMAIL)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(f"{said['base_url']}/console/shop/**")
        expect(page.get_by_role("button", name="Log out")).to_be_visible()
    finally:
        stop(process)
