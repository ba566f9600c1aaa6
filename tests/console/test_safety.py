"""Hostile text stays text, and the browser holds the page to its policy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from playwright.sync_api import Browser
from tests.browser import Watched
from tests.console.places import HOME, open_place, places, prepare
from tests.service.service_process import Service, start, stop
from tests.shared_data import shared_lines, shared_path

FOLDERS = ("strings", "payloads", "logs", "headers", "url")
BATCH = 500
EACH = 60
"""Texts of each file, spread over all of it."""
MARKUP = '"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}'

BREAK = """() => {
  const attempts = {
    markup: () => { document.body.innerHTML = '<b>x</b>'; },
    policy: () => trustedTypes.createPolicy('own', { createHTML: (text) => text }),
    evaluation: () => (0, eval)('1'),
    style: () => document.body.setAttribute('style', 'color: red'),
    sheet: () => document.head.append(
      Object.assign(document.createElement('style'), { textContent: 'b {}' })),
    image: () => { new Image().src = 'https://elsewhere.example/x.png'; },
    inlined: () => { new Image().src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw='; },
    call: () => void fetch('https://elsewhere.example/').catch(() => {}),
    script: () => {
      const made = document.createElement('script');
      made.append('globalThis.ran = true');
      document.head.append(made);
    },
    form: () => {
      const made = document.createElement('form');
      made.action = '/elsewhere';
      document.body.append(made);
      made.submit();
    },
  };
  globalThis.violated = new Set();
  addEventListener('securitypolicyviolation', (event) => violated.add(event.effectiveDirective));
  for (const attempt of Object.values(attempts)) {
    try { attempt(); } catch { /* refused at once */ }
  }
}"""


VIOLATED = [
    "connect-src",
    "form-action",
    "img-src",
    "require-trusted-types-for",
    "style-src-attr",
    "style-src-elem",
    "trusted-types",
]


def test_the_browser_holds_the_page_to_its_policy(owner: Watched) -> None:
    """Markup from text, own policies, inline scripts and styles, other origins: all are refused."""
    page = owner.page
    page.evaluate(BREAK)
    page.wait_for_function("count => violated.size >= count", arg=len(VIOLATED))
    assert page.evaluate("[...violated].sort()") == VIOLATED
    assert not page.evaluate("globalThis.ran === true")
    assert page.url.endswith("/console/example-shop/")


def texts() -> list[str]:
    """Texts that were made to break something, of each kind."""
    found: list[str] = []
    for folder in (f"data/adversarial/{name}" for name in FOLDERS):
        for path in sorted(shared_path(folder).glob("*.jsonl")):
            of_file = list(_strings(shared_lines(f"{folder}/{path.name}")))
            found.extend(of_file[:: max(1, len(of_file) // EACH)])
    return list(dict.fromkeys(found))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


def event_of(text: str, number: int) -> dict[str, Any]:
    """An event that has a text wherever one can stand."""
    clean = text.encode("utf-8", "replace").decode()
    request = {
        "method": "GET",
        "path": clean,
        "client_ip": f"192.0.2.{number % 250 + 1}",
        "query_params": {"q": clean},
        "headers": {"user-agent": clean, "referer": clean},
    }
    return {"request": request, "fields": {"note": clean, "status": "401"}}


def send(service: Service, events: list[dict[str, Any]]) -> None:
    """Have events decided, all that the service takes at all."""
    for begin in range(0, len(events), BATCH):
        body = json.dumps(events[begin : begin + BATCH]).encode()
        statuses = {each["status"] for each in service.hot("/beacon/events", body).json()}
        assert statuses <= {200, 413, 422}


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of its own, to which hostile events and hostile names were sent."""
    log = tmp_path_factory.mktemp("attacked") / "log"
    process, said = start("--demo", log=log)
    made = Service(process=process, log=log, **said)
    # The key of the demonstration has a limit, and all events are sent at once.
    wanted = {"name": "events", "rate_limit_per_minute": 60_000}
    key = made.control("POST", f"/tenants/{made.tenant_id}/api-keys", wanted).json()["key"]
    made = attrs.evolve(made, api_key=key)
    events = [event_of(text, number) for number, text in enumerate(texts())]
    # A policy of the demonstration stops these, so that there is an entity to look at.
    stopped = [{"request": {"path": "/.env", "client_ip": "192.0.2.9", "method": "GET"}}] * 40
    send(made, [*events, *stopped])
    name = {"name": MARKUP, "description": MARKUP}
    clause = {"name": MARKUP, "expression": "request.path != '/.env'"}
    for kind, members in {
        "actions": {**name, "expression": "true"},
        "lists": {**name, "kind": "string", "entries": [MARKUP]},
        "mitigations": {**name, "mode": "Block", "block": {"body": MARKUP}},
        "entity-definitions": {**name, "key_fields": ["request.path"]},
        "policies": {**name, "status": "active", "priority": 1, "clauses": [clause]},
        "api-keys": {"name": MARKUP},
    }.items():
        answer = made.control("POST", f"/tenants/{made.tenant_id}/{kind}", members)
        assert answer.status_code == 201, answer.text
    send(made, events)
    prepare(made)
    yield made
    stop(process)


@pytest.fixture
def reader(browser: Browser, attacked: Service) -> Iterator[Watched]:
    """A page of the Owner of the attacked tenant."""
    context = browser.new_context(base_url=attacked.base_url)
    context.set_default_timeout(20_000)
    watched = Watched.of(context, attacked.base_url)
    watched.page.goto(f"/console/#access_token={attacked.owner_token}")
    watched.page.wait_for_url(f"**{HOME}/")
    yield watched
    context.close()


def test_hostile_text_stays_text(reader: Watched, attacked: Service) -> None:
    """Every page is shown: no dialog, no message, no violation, nothing elsewhere, no way away."""
    page = reader.page
    visited = places(attacked)
    for kind, member in (("actions", "action_id"), ("lists", "list_id")):
        rows = attacked.control("GET", f"/tenants/{attacked.tenant_id}/{kind}?limit=500").json()
        hostile = next(each[member] for each in rows if each["name"] == MARKUP)
        visited[f"hostile-{kind}"] = f"{HOME}/{kind}/{hostile}"
    expected = {"failed"}
    for name, path in visited.items():
        open_place(page, path)
        assert page.url == f"{attacked.base_url}{path}"
        if name in expected:
            reader.said.clear()  # Chromium itself says that an answer was 404.
        assert reader.said == [], name
    reader.require_silence()


def test_every_hostile_row_is_shown_and_opened(reader: Watched, attacked: Service) -> None:
    """The list is shown to its end, and rows of all of it are opened."""
    page = reader.page
    page.goto(f"{HOME}/decisions")
    more = page.get_by_role("button", name="Show more")
    rows = page.locator("tbody tr")
    more.wait_for()
    while rows.count() < 400 and more.count():
        before = rows.count()
        more.click()
        rows.nth(before).or_(page.locator("h1:only-child")).wait_for()
    links = rows.locator("td:first-child a")
    hrefs = links.evaluate_all("all => all.map(each => each.getAttribute('href'))")
    for href in hrefs[:: max(1, len(hrefs) // 8)]:
        open_place(page, href)
        assert page.url == f"{attacked.base_url}{href}"
    reader.require_silence()


def test_texts_are_of_each_kind() -> None:
    """The samples are not few, and have markup, control characters and addresses among them."""
    found = texts()
    assert len(found) > 200
    assert any("<script" in each.lower() for each in found)
