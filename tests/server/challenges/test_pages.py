"""The pages of challenges in a real browser: what visitors can do there, and what they cannot."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import attrs
import pytest
from playwright.sync_api import Browser, Page
from tests.browser import THEMES, Theme, Watched, require_accessible
from tests.server.challenges import states
from tests.server.challenges.gate import Gate, gate_of
from tests.server.challenges.siteverify import SECRET, WIDGET
from tests.server.challenges.states import STATES, Site, context_for, new_address
from tests.shared_data import some_lines

SOLVED_MS = 60_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service with tenants of several kinds."""
    with states.site(tmp_path_factory.mktemp("pages") / "data") as made:
        yield made


@attrs.frozen
class Shop:
    """A site that visitors come back to, and the paths it was asked for."""

    origin: str
    asked: list[str] = attrs.field(factory=list)


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    """A site on a socket."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.asked.append(self.path)
            self.send_response(200)
            self.send_header("content-length", "4")
            self.end_headers()
            self.wfile.write(b"shop")

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Shop(f"http://127.0.0.1:{server.server_port}")
    Thread(target=server.serve_forever, daemon=True).start()
    yield made
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def gate(site: Site, shop: Shop) -> Gate:
    """A tenant whose visitors come back to the shop."""
    return gate_of(site.service, origins=(shop.origin,))


def comes_back(page: Page, shop: Shop, path: str) -> None:
    """Wait until the browser is at the shop again, with a proof."""
    address = re.escape(shop.origin + path) + "[?&]service_challenge_proof=[A-Za-z0-9_-]+$"
    page.wait_for_url(re.compile(address), timeout=SOLVED_MS)


def test_a_visitor_is_checked_and_comes_back(browser: Browser, gate: Gate, shop: Shop) -> None:
    """The check runs by itself, with no request elsewhere and nothing in the console."""
    context = context_for(browser, "checking")
    watched = Watched.of(context, gate.base_url)
    path = gate.challenged(new_address(), f"{shop.origin}/list?a=b%20c&d=%2F")
    watched.page.goto(gate.base_url + path, wait_until="commit")
    comes_back(watched.page, shop, "/list?a=b%20c&d=%2F")
    assert watched.said == []
    assert [url for url in watched.elsewhere if not url.startswith(shop.origin)] == []
    watched.page.go_back()
    watched.page.wait_for_selector(f'a[href^="{shop.origin}"]')
    context.close()


def test_a_visitor_without_a_mouse_gets_through(browser: Browser, gate: Gate, shop: Shop) -> None:
    """Where the visitor starts the check, Tab and Space do."""
    context = context_for(browser, "by_hand")
    page = context.new_page()
    path = gate.challenged(new_address(), f"{shop.origin}/keys")
    page.goto(f"{gate.base_url}{path}?again=true")
    page.wait_for_selector("altcha-widget input")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.type") == "checkbox"
    page.keyboard.press("Space")
    comes_back(page, shop, "/keys")
    context.close()


def test_a_visitor_whose_browser_cannot_solve_waits_instead(
    browser: Browser, gate: Gate, shop: Shop
) -> None:
    """A page that fails shows the other way, where the tenant has one."""
    context = context_for(browser, "broken")
    page = context.new_page()
    page.add_init_script("delete window.Worker")
    path = gate.challenged(new_address(), f"{shop.origin}/old")
    page.goto(gate.base_url + path)
    while not page.url.startswith(shop.origin):  # a press may come too early
        with page.expect_navigation():
            page.click("button")
    comes_back(page, shop, "/old")
    context.close()


def test_turnstile_is_asked_once_for_its_own_challenge(
    browser: Browser, site: Site, shop: Shop
) -> None:
    """The widget's solution is checked by its call, with the challenge it was made for."""
    gate = gate_of(site.service, challenge={"provider": "turnstile"}, origins=(shop.origin,))
    context = context_for(browser, "turnstile")
    page = context.new_page()
    page.route(
        "**/turnstile/v0/api.js*",
        lambda route: route.fulfill(body=WIDGET, content_type="text/javascript"),
    )
    path = gate.challenged(new_address(), f"{shop.origin}/turnstile")
    page.goto(gate.base_url + path, wait_until="commit")
    comes_back(page, shop, "/turnstile")
    form = site.verifying.asked[-1]
    assert form["secret"] == SECRET
    assert form["response"].endswith(path.rpartition("/")[2].replace("-", ""))
    context.close()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("state", STATES)
def test_every_state_can_be_used_by_everybody(
    browser: Browser, site: Site, state: str, theme: Theme
) -> None:
    """axe-core finds nothing (WCAG 2.2 AA), and 320 pixels are wide enough."""
    # Without JavaScript nothing can look at the page, so it is written into one that has it.
    context = context_for(browser, state, theme, 320)
    page = context.new_page()
    STATES[state](page, site)
    if state in states.SCRIPTLESS:
        content = page.content().replace("<noscript>", "").replace("</noscript>", "")
        content = re.sub(r"<script.*?</script>", "", content)
        style = site.service.http.get("/api/v1/challenge/files/page.css").text
        content = re.sub('<link rel="stylesheet"[^>]*>', "", content)
        context.close()
        context = context_for(browser, "by_hand", theme, 320)
        page = context.new_page()
        page.set_content(content.replace("</head>", f"<style>{style}</style></head>"))
    require_accessible(page)
    context.close()


@pytest.mark.parametrize(
    ("accepted", "code", "direction"),
    [
        ("de-CH, fr;q=0.5", "de", "ltr"),
        ("xx, ar;q=0.9, en;q=0.8", "ar", "rtl"),
        ("xx", "en", "ltr"),
    ],
)
def test_a_page_speaks_the_language_of_its_visitor(
    browser: Browser, site: Site, accepted: str, code: str, direction: str
) -> None:
    """The one that the browser likes best of those there are."""
    context = context_for(browser, "by_hand", extra_http_headers={"accept-language": accepted})
    page = context.new_page()
    states.by_hand(page, site)
    root = page.locator("html")
    assert (root.get_attribute("lang"), root.get_attribute("dir")) == (code, direction)
    context.close()


HOSTILE = [
    *(
        str(line.get("s") or line.get("return_url"))
        for name, most in (
            ("payloads/crlf", 4),
            ("payloads/open_redirect", 8),
            ("payloads/path_traversal", 2),
            ("payloads/sql_nosql_cmd_template", 4),
            ("payloads/xxe", 2),
            ("url/return_url_verdicts", 8),
        )
        for line in some_lines(f"data/adversarial/{name}.jsonl", most)
    ),
    "javascript:alert(1)",
    '"><script>alert(1)</script>',
    '{origin}/"><script>alert(1)</script>?<img src=x onerror=alert(1)>',
    "{origin}@evil.example/",
]


def test_no_return_url_leads_astray_or_runs(browser: Browser, gate: Gate, shop: Shop) -> None:
    """Whatever an edge passes on as the address: no script runs, no other origin is asked."""
    context = context_for(browser, "checking")
    for number, text in enumerate(HOSTILE):
        given = {"return_url": text.replace("{origin}", shop.origin)}
        request = {"path": "/secret", "client_ip": new_address(), "headers": {"host": "shop.test"}}
        answer = gate.http.post(
            "/api/v1/runtime/mitigation",
            content=json.dumps({**given, "request": request}),  # a lone surrogate is escaped
            headers={
                "content-type": "application/json",
                "x-service-api-key": gate.tenant.key,
            },
        )
        if answer.status_code in (400, 422):
            continue
        context.clear_cookies()  # each is another visitor
        watched = Watched.of(context, gate.base_url)
        assert answer.status_code == 200, (number, ascii(text), answer.text)
        url = answer.json()["action"]["challenge"]["redirect_url"]
        page = watched.page
        page.goto(url, wait_until="commit")
        page.wait_for_url(re.compile(f"{re.escape(shop.origin)}/|/solution$"), timeout=SOLVED_MS)
        assert watched.said == [], (number, text)
        strays = [each for each in watched.elsewhere if not each.startswith(f"{shop.origin}/")]
        assert strays == [], (number, text)
        page.close()
    context.close()
