"""A visitor with a browser: challenged, solved, sent back to the address, and not asked again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, BrowserContext, Page
from tests.browser import browser
from tests.integrations.asking import BROWSER, ask
from tests.integrations.conftest import Edges
from tests.integrations.edges import Edge
from tests.server.deciding import Deciding, made

__all__ = ["browser"]
SOLVED_MS = 120_000
"""A slow machine that does something else besides."""


@pytest.fixture(params=["asgi", "wsgi", "nginx", "caddy", "envoy", "express"])
def edge(request: pytest.FixtureRequest, edges: Edges) -> Edge:
    """One body, the integrations."""
    return edges.of(request.param)


@pytest.fixture(autouse=True)
def origin(edge: Edge, shop: Deciding) -> Iterator[None]:
    """The tenant names the site: behind a proxy the visitor's own `Host` names none."""
    owner = shop.by("Owner")
    made(owner.patch(shop.path, {"settings": {"return_url_origins": [edge.base_url]}}))
    yield
    made(owner.patch(shop.path, {"settings": {"return_url_origins": []}}))


def challenges(shop: Deciding, path: str) -> int:
    """Decisions of a path that were challenges."""
    return sum(each["action"] == "challenge" for each in shop.get("decisions", path=path))


def arrives(page: Page, address: str) -> None:
    """Wait for the very address, with the site's own page."""
    page.wait_for_url(re.compile(f"^{re.escape(address)}$"), timeout=SOLVED_MS)
    assert page.inner_text("h1") == "A small site"


def check_pass(context: BrowserContext, edge: Edge) -> None:
    """The cookie is for this host alone, and out of reach of scripts."""
    (cookie,) = [
        each for each in context.cookies(edge.base_url) if each["name"] == "service_challenge"
    ]
    assert (cookie["path"], cookie["secure"], cookie["httpOnly"]) == ("/", True, True)
    assert (cookie["sameSite"], cookie["expires"]) == ("Lax", -1)


def test_a_visitor_solves_a_challenge_once(browser: Browser, edge: Edge, shop: Deciding) -> None:
    """Afterwards the address bar has what was asked for, and no further session is opened."""
    path = f"/challenged/{uuid4()}"
    address = f"{edge.base_url}{path}?a=b%20c&d=%2F#place"
    context = browser.new_context()
    page = context.new_page()
    referrers: list[str] = []
    page.on("request", lambda request: referrers.append(request.headers.get("referer", "")))
    page.goto(address)
    arrives(page, address.partition("#")[0])
    check_pass(context, edge)
    assert "service_challenge" not in page.evaluate("document.cookie")
    assert "service_challenge_proof" not in page.evaluate("document.referrer")
    assert not [each for each in referrers if "service_challenge_proof" in each]
    assert challenges(shop, path) == 1
    for _ in range(3):
        page.goto(address)
        arrives(page, address)
    assert challenges(shop, path) == 1
    context.close()


def test_a_visitor_without_scripts_waits_instead(
    browser: Browser, edge: Edge, shop: Deciding
) -> None:
    """Where the tenant offers that way."""
    settings = {"settings": {"challenge_wait_seconds": 1}}
    made(shop.by("Owner").patch(shop.path, settings))
    path = f"/challenged/{uuid4()}"
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{edge.base_url}{path}?x=1")
    for _ in range(100):  # a press that comes too early shows the page again
        page.click("button[type=submit]")
        if page.url.startswith(edge.base_url):
            break
    arrives(page, f"{edge.base_url}{path}?x=1")
    check_pass(context, edge)
    page.goto(f"{edge.base_url}{path}?x=2")
    arrives(page, f"{edge.base_url}{path}?x=2")
    assert challenges(shop, path) == 1
    context.close()


def test_a_pass_that_is_revoked_or_carried_off_lets_nobody_in(
    browser: Browser, edge: Edge, shop: Deciding
) -> None:
    """The visitor is challenged again, and so is somebody else with the cookie."""
    path = f"/challenged/{uuid4()}"
    context = browser.new_context()
    page = context.new_page()
    page.goto(edge.base_url + path)
    arrives(page, edge.base_url + path)
    cookies = {each["name"]: each["value"] for each in context.cookies(edge.base_url)}
    visitor = BROWSER | {
        "user-agent": page.evaluate("navigator.userAgent"),
        "cookie": f"service_challenge={cookies['service_challenge']}",
    }
    context.close()
    assert ask(edge.base_url, path, visitor).status == 200
    assert ask(edge.base_url, path, visitor | {"user-agent": "somebody else"}).status == 302
    for each in shop.get("passes"):
        made(shop.by("Owner").delete(f"{shop.path}/passes/{each['pass_id']}"))
    assert ask(edge.base_url, path, visitor).status == 302
