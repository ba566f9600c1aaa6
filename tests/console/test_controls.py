"""Every control that writes: enabled for the roles that may, else disabled with the reason.

The write of a button is found by pressing it as Owner, on every page, with each write held back.
The table of routes says which roles may write that, and the interface refuses the others.

A browser reads the console once for a role, and goes from page to page within it. It waits until
the page has nothing under way, not for a time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import attrs
import pytest
from playwright.sync_api import Browser, Page
from tests.browser import Watched
from tests.console.places import ALONE
from tests.server.deciding import Deciding, deciding, made

from tidegate_server.operators.permissions import Permission, Role, may, may_change_membership
from tidegate_server.routing.routes import ROUTES

ROLES = ("Viewer", "Analyst", "Admin", "Owner")
WATCH = """() => {
  const state = (window.watched = { isHolding: false, held: [], calls: 0, timers: new Set() });
  const { fetch, setTimeout, clearTimeout } = window;
  const looks = new RegExp('/(expressions/|traffic/|decisions/search|entities/find)');
  window.fetch = async (asked, ...rest) => {
    const request = asked instanceof Request ? asked : new Request(asked, ...rest);
    const path = new URL(request.url).pathname;
    state.calls += 1;
    try {
      if (!state.isHolding || request.method === 'GET' || looks.test(path)) {
        const answer = await fetch(request);
        await answer.clone().arrayBuffer();
        return answer;
      }
      state.held.push([request.method, path, (await request.text()) || null]);
      const headers = { 'content-type': 'application/problem+json' };
      return new Response('{}', { status: 409, headers });
    } finally {
      // What is made of the answer comes after this.
      setTimeout(() => (state.calls -= 1));
    }
  };
  window.setTimeout = (call, delay = 0, ...rest) => {
    const timer = setTimeout((...given) => {
      state.timers.delete(timer);
      call(...given);
    }, delay, ...rest);
    if (delay <= 500) state.timers.add(timer);
    return timer;
  };
  window.clearTimeout = (timer) => {
    state.timers.delete(timer);
    clearTimeout(timer);
  };
}"""
"""Knows whether a page has something under way, and holds back what writes, if it is asked to.

Calls that send a body and write nothing are not held back.
"""
SETTLED = """(isShown) => new Promise((resolve) => {
  let quiet = 0;
  const look = () => {
    const { calls, timers } = window.watched;
    const main = document.querySelector('main[aria-busy="false"]');
    const isThere = main !== null && (main.querySelector('h1, .refused') !== null) === isShown;
    quiet = isThere && calls === 0 && timers.size === 0 ? quiet + 1 : 0;
    if (quiet === 2) resolve();
    else requestAnimationFrame(look);
  };
  look();
})"""
"""Waits until a page has no call and no timer under way, and is drawn."""
GO = """(path) => {
  history.pushState(null, '', path);
  dispatchEvent(new PopStateEvent('popstate'));
}"""
BUTTONS = """() => {
  for (const each of document.querySelectorAll('main details')) each.open = true;
  return [...document.querySelectorAll('main button')].map((button, at) => ({
    at,
    name: (button.getAttribute('aria-label') ?? button.textContent).trim(),
    disabled: button.matches(':disabled'),
    reason: button.title || (button.closest('form')?.textContent ?? ''),
  }));
}"""
NEEDED = "Requires the role"
WRITING = {
    *("active", "overrides", "entities", "policies", "actions", "mitigations", "lists", "packs"),
    *("entity-definitions", "alerts", "replay", "settings"),
}
"""Where something can be written: the first parts of the addresses of pages."""
Found: TypeAlias = "dict[tuple[str, str], Write | None]"
"""The write of each button, by the page and the name of the button; None if nothing."""


@attrs.frozen
class Write:
    """A call that a button makes."""

    method: str
    path: str
    body: Any

    def is_allowed(self, role: str, shop: Deciding) -> bool:
        """Whether a role may make the call, by the tables of routes and of roles."""
        if self.path.endswith(f"/memberships/{shop.by('Owner').operator_id}"):
            return may_change_membership(Role(role), Role.OWNER, None)
        for route in ROUTES:
            for template in route.paths:
                pattern = re.sub(r"\{\w+\}", "[^/]+", template)
                if route.method == self.method and re.fullmatch(pattern, self.path):
                    assert isinstance(route.permission, Permission)
                    return may(Role(role), route.permission)
        raise AssertionError(self)


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deciding]:
    """A tenant with an operator of each role, and something on every page."""
    with deciding(tmp_path_factory.mktemp("controls")) as service:
        shop = service.tenant()
        for _ in range(4):
            shop.decide("/login", fields={"account": "ann"})
        owner = shop.by("Owner")
        day = {"since": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"}
        made(owner.post(f"{shop.path}/replay-jobs", day))
        ban = {"kind": "ban", "network": "203.0.113.9", "duration_seconds": 9_000, "reason": "x"}
        made(owner.post(f"{shop.path}/overrides", ban))
        made(owner.post(f"{shop.path}/alerts", {"name": "Blocks", "metric": "blocks"}))
        # A second version, so that the first one can be restored.
        policy = f"{shop.path}/policies/{shop.get('policies')[0]['policy_id']}"
        made(owner.request("PATCH", policy, json={"description": "Logins"}))
        # Members have names, which are on buttons, once they have asked for something.
        for role in ROLES:
            shop.get("", role)
        yield shop


def pages_of(shop: Deciding) -> list[str]:
    """The pages of the tenant, below its address."""

    def first(path: str, member: str) -> str:
        return str(shop.get(path)[0][member])

    policy = first("policies", "policy_id")
    return [
        *(path for name, path in ALONE.items() if name != "nowhere"),
        f"decisions/{first('decisions', 'decision_id')}",
        f"entities/{first('active-mitigations', 'entity_id')}",
        f"policies/{policy}",
        f"policies/{policy}/results",
        f"policies/{policy}/versions",
        f"actions/{first('actions', 'action_id')}",
        f"mitigations/{first('mitigations', 'mitigation_id')}",
        f"lists/{first('lists', 'list_id')}",
        f"entity-definitions/{first('entity-definitions', 'entity_definition_id')}",
        f"replay/{first('replay-jobs', 'replay_job_id')}",
    ]


def entered(browser: Browser, shop: Deciding, role: str) -> Page:
    """A page of an operator with a role, which tells whether something is under way in it."""
    base_url = shop.service.base_url
    context = browser.new_context(base_url=base_url)
    context.set_default_timeout(20_000)
    context.add_init_script(f"({WATCH})()")
    page = Watched.of(context, base_url).page
    page.goto(f"/console/#access_token={shop.by(role).token}")
    page.get_by_role("heading", name="Overview").wait_for()
    return page


def buttons(page: Page, home: str, path: str) -> list[dict[str, Any]]:
    """The buttons of a page made anew, without reading the console again; those that copy are
    left out."""
    page.evaluate(GO, f"{home}/{ALONE['nowhere']}")
    page.evaluate(SETTLED, False)
    page.evaluate(GO, f"{home}/{path}")
    page.evaluate(SETTLED, True)
    return [each for each in page.evaluate(BUTTONS) if not each["name"].startswith("Copy")]


def pressed(page: Page, found: dict[str, Any]) -> None:
    """Press a button, with what it needs next to it."""
    button = page.locator("main button").nth(found["at"])
    beside = button.locator("xpath=ancestor::form").locator("input, textarea")
    for field in (
        page.locator("main :is(input, textarea):is(:required, details *)").or_(beside).all()
    ):
        kind = field.get_attribute("type")
        if field.is_enabled() and field.input_value() == "" and kind in (None, "text", "email"):
            field.fill("a@example.test" if kind == "email" else "x")
    if button.is_enabled():
        button.click()
    asked = page.locator("main [role=group] button.danger")
    if asked.count():
        asked.first.click()


@pytest.fixture(scope="module")
def writes(browser: Browser, decided: Deciding) -> Found:
    """The write of each button of each page, found by pressing it as Owner."""
    page = entered(browser, decided, "Owner")
    page.evaluate("() => { window.watched.isHolding = true; }")
    home = f"/console/{decided.get('')['slug']}"
    found: Found = {}
    for path in pages_of(decided):
        is_fresh = True
        for button in buttons(page, home, path):
            key = (path, button["name"])
            if key in found:
                continue
            if not is_fresh:
                buttons(page, home, path)
            is_fresh = False
            pressed(page, button)
            page.evaluate(SETTLED, True)
            held = page.evaluate("() => window.watched.held.splice(0)")
            found[key] = Write(*held[0]) if held else None
    page.context.close()
    assert {path.split("/")[0] for (path, _), write in found.items() if write} == WRITING
    return found


@pytest.mark.parametrize("role", ROLES)
def test_a_control_is_enabled_for_those_who_may(
    browser: Browser, decided: Deciding, writes: Found, role: str
) -> None:
    """On each page that a role reads, it has every button that writes: enabled exactly where the
    role may write that, else with the reason, and then the interface refuses it, too."""
    page = entered(browser, decided, role)
    refused: list[str] = []
    page.on("response", lambda each: refused.append(each.url) if each.status == 403 else None)
    home = f"/console/{decided.get('')['slug']}"
    for path in pages_of(decided):
        shown = {each["name"]: each for each in buttons(page, home, path)}
        if page.locator("main .refused").count():
            assert shown == {}, path
            continue
        for (place, name), write in writes.items():
            if place != path or write is None:
                continue
            button, is_allowed = shown[name], write.is_allowed(role, decided)
            # A button may also wait for something to be typed, which a role has no part in.
            assert (NEEDED in button["reason"]) is not is_allowed, (path, button)
            assert is_allowed or button["disabled"], (path, button)
            if not is_allowed:
                body = None if write.body is None else json.loads(write.body)
                answer = decided.by(role).request(write.method, write.path, json=body)
                assert answer.status_code == 403, (path, name, answer.text)
        assert {(path, name) for name in shown} <= set(writes), "not what an Owner has"
    assert refused == []
    page.context.close()
