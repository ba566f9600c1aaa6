"""The token of a login: kept under its name, gone with the sign-out."""

from __future__ import annotations

import base64
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser import Watched
from tests.operators.test_second_factor import code_at
from tests.service.service_process import Service, start, stop
from tools import plain_http

from tidegate_server.operators.second_factor import PERIOD_SECONDS

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
        page.get_by_role("button", name="Account").click()
        page.get_by_role("button", name="Log out").click()
        page.wait_for_url("**/login?**")
        assert page.evaluate(STORED) is None
        assert plain_http.get(f"{said['base_url']}/api/v1/me", headers=bearer).status_code == 401
    finally:
        stop(process)


@contextmanager
def logged_in(page: Page, directory: Path) -> Iterator[str]:
    """The console of the operator that `init --server` made; gives the address of the service."""
    data = ["--store-directory", str(directory / "data")]
    named = ["--email", EMAIL, "--tenant", "Shop", "--password-stdin"]
    subprocess.run(
        [sys.executable, "-m", "tidegate", "init", "--server", *named, *data],
        input=f"{PASSWORD}\n",
        text=True,
        capture_output=True,
        check=True,
    )
    process, said = start(*data, log=directory / "log")
    try:
        page.goto(f"{said['base_url']}/login")
        page.get_by_role("link", name="Email and password").click()
        page.get_by_label("Email").fill(EMAIL)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(f"{said['base_url']}/console/shop/**")
        yield said["base_url"]
    finally:
        stop(process)


def test_a_login_with_a_password_ends_in_the_console(visitor: Watched, tmp_path: Path) -> None:
    """The operator logs in at the page that nothing led to."""
    with logged_in(visitor.page, tmp_path):
        visitor.page.get_by_role("button", name="Account").click()
        expect(visitor.page.get_by_role("button", name="Log out")).to_be_visible()


def test_an_operator_ends_another_session_and_adds_a_second_factor(
    visitor: Watched, tmp_path: Path
) -> None:
    """The account's section lists sessions, and shows secret and recovery codes once."""
    page = visitor.page
    with logged_in(page, tmp_path) as base_url:
        login = {"email": EMAIL, "password": PASSWORD}
        lost = plain_http.post(f"{base_url}/api/v1/auth/local/token", json=login).json()
        page.goto(f"{base_url}/console/shop/settings")
        account = page.get_by_role("region", name="Your account")
        expect(account.get_by_text("this session")).to_be_visible()
        # The newest is the last one; `init` has left a session, too.
        ends = account.get_by_role("button", name="End session")
        expect(ends).to_have_count(2)
        ends.last.click()
        ends.last.click()
        expect(ends).to_have_count(1)
        bearer = {"authorization": f"Bearer {lost['access_token']}"}
        assert plain_http.get(f"{base_url}/api/v1/me", headers=bearer).status_code == 401
        account.get_by_label("Password").fill(PASSWORD)
        account.get_by_role("button", name="Set up").click()
        secret = base64.b32decode(account.get_by_role("status").locator("code").inner_text())
        step = int(time.time()) // PERIOD_SECONDS
        account.get_by_label("Code").fill(code_at(secret, step))
        account.get_by_role("button", name="Turn on").click()
        expect(account.get_by_text("10 recovery codes left")).to_be_visible()
        code = account.locator("pre").inner_text().split()[0]
        assert plain_http.post(f"{base_url}/api/v1/auth/local/token", json=login).status_code == 401
        account.get_by_label("Code").fill(code)
        account.get_by_role("button", name="Turn off").click()
        expect(account.get_by_label("Password")).to_be_visible()
