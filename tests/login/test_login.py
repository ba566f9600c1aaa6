"""Login in a real browser: at a certified provider, and with a password."""

from __future__ import annotations

import base64
import time
from urllib.parse import parse_qs, urlsplit

import httpx2
from playwright.sync_api import Page, expect
from tests.browser import Watched
from tests.login.conftest import EMAIL, PASSWORD, Place
from tests.operators.test_second_factor import code_at
from tools import plain_http

from tidegate_server.operators.second_factor import PERIOD_SECONDS

STORED = "localStorage.getItem('service.auth_token')"


def at_the_provider(page: Page, name: str) -> None:
    """Go from the page of all ways to the provider, and log in there."""
    page.goto("/login")
    page.get_by_role("link", name="Company").click()
    page.locator("input[name=login]").fill(name)
    page.locator("input[name=password]").fill("anything")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


def me(place: Place, token: str) -> httpx2.Response:
    """The caller according to the service."""
    headers = {"authorization": f"Bearer {token}"}
    return plain_http.get(f"{place.base_url}/api/v1/me", headers=headers, timeout=30)


def test_a_login_at_a_provider_ends_in_a_token(visitor: Watched, place: Place) -> None:
    """The token is in the storage and counts; the address, the history and the log know nothing."""
    page = visitor.page
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    at_the_provider(page, "ann")
    expect(page.get_by_role("heading")).to_have_text("Logged in as The person ann")
    assert page.url == f"{place.base_url}/login/callback"
    token = page.evaluate(STORED)
    assert me(place, token).json()["email"] == "ann@example.test"
    assert page.evaluate("document.cookie") == ""
    visitor.said.clear()  # the provider's own pages are not silent
    visitor.elsewhere.clear()
    page.reload()
    expect(page.get_by_role("heading")).to_have_text("Logged in as The person ann")
    visitor.require_silence()
    secrets = {token}
    for address in addresses:
        for name, values in parse_qs(urlsplit(address).query).items():
            if name in ("code", "state", "nonce", "code_challenge"):
                secrets.update(values)
    assert len(secrets) >= 5
    written = place.log.read_text()
    assert "login" in written
    assert not [secret for secret in secrets if secret in written]


def test_an_address_that_nobody_verified_is_refused(visitor: Watched) -> None:
    """The page says so, keeps nothing, and leads back."""
    page = visitor.page
    at_the_provider(page, "unverified")
    expect(page.get_by_role("heading")).to_have_text("Not logged in")
    expect(page.get_by_role("status")).to_have_text("The login was refused.")
    assert urlsplit(page.url).fragment == ""
    assert page.evaluate(STORED) is None
    page.get_by_role("link", name="Log in again").click()
    expect(page.get_by_role("link", name="Company")).to_be_visible()


def test_a_password_ends_in_a_token_and_the_sign_out_ends_it(
    visitor: Watched, place: Place
) -> None:
    """A wrong password is said where it was typed; the right one logs in."""
    page = visitor.page
    page.goto("/login")
    page.get_by_role("link", name="Email and password").click()
    page.get_by_label("Email").fill(EMAIL)
    page.get_by_label("Password").fill("wrong")
    page.get_by_label("Password").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("wrong")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading")).to_have_text("Logged in as The owner")
    token = page.evaluate(STORED)
    assert me(place, token).status_code == 200
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading")).to_have_text("Not logged in")
    assert page.evaluate(STORED) is None
    assert me(place, token).status_code == 401
    assert visitor.elsewhere == []


def test_the_page_asks_for_a_code_where_the_operator_has_a_second_factor(
    visitor: Watched, place: Place
) -> None:
    """It asks after the password, says a wrong code, and takes another without the password."""
    api = f"{place.base_url}/api/v1/auth"
    login = {"email": EMAIL, "password": PASSWORD}
    token = plain_http.post(f"{api}/local/token", json=login, timeout=30).json()["access_token"]
    owner = {"headers": {"authorization": f"Bearer {token}"}, "timeout": 30}
    secret = plain_http.post(f"{api}/second-factor", json={"password": PASSWORD}, **owner).json()
    key = base64.b32decode(secret["secret"])
    step = int(time.time()) // PERIOD_SECONDS
    first = {"code": code_at(key, step - 1)}
    spare = plain_http.request("PUT", f"{api}/second-factor", json=first, **owner).json()[
        "recovery_codes"
    ]
    page = visitor.page
    try:
        page.goto("/auth/local/login")
        expect(page.get_by_label("Code")).to_be_hidden()
        page.get_by_label("Email").fill(EMAIL)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_label("Code")).to_be_focused()
        page.get_by_label("Code").fill("no digits")
        page.get_by_label("Code").press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("code is wrong")
        page.get_by_label("Code").fill(spare[0])
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading")).to_have_text("Logged in as The owner")
    finally:
        removal = plain_http.post(f"{api}/second-factor/removal", json={"code": spare[1]}, **owner)
        assert removal.status_code == 204


def test_a_token_in_a_link_logs_nobody_in(visitor: Watched) -> None:
    """The page takes a token only from the login that this browser began."""
    page = visitor.page
    for more in ("", "&word=", "&word=x", "&word=undefined"):
        page.goto("about:blank")
        page.goto(f"/login/callback#access_token=x.y.z{more}")
        expect(page.get_by_role("heading")).to_have_text("Not logged in")
        assert page.evaluate(STORED) is None
        assert urlsplit(page.url).fragment == ""
    visitor.require_silence()
