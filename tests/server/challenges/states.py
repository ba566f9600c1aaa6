"""Every state of a challenge's page, as a browser gets there; screenshots of all of them.

``python -m tests.server.challenges.states DIRECTORY`` writes the screenshots: each state, in both
themes, on a wide screen and on one of 320 pixels.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count, product
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

import attrs
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from tests.browser import HEIGHT, THEMES, WIDTHS, Theme, launched
from tests.server.challenges.gate import Gate, gate_of
from tests.server.challenges.siteverify import KEYS, WIDGET, Siteverify, siteverify
from tests.server.deciding import Service, deciding

from tidegate_server.challenges.opening import ROUNDS
from tidegate_server.http.ids import new_id

SCRIPT = "text/javascript"
_numbers = count(1)


@attrs.frozen
class Site:
    """A service with tenants of several kinds.

    Attributes:
        quick: its challenges are light, and visitors may wait for a second instead.
        patient: the same, for minutes.
        strict: its challenges are light, without another way.
        slow: its challenges take a browser minutes, without another way.
        turnstile: its challenges are Turnstile's.
        verifying: what checks the solutions of Turnstile.
    """

    service: Service
    quick: Gate
    patient: Gate
    strict: Gate
    slow: Gate
    turnstile: Gate
    verifying: Siteverify


@contextmanager
def site(directory: Path) -> Iterator[Site]:
    """A running service, until the block ends."""
    with siteverify() as verifying, deciding(directory, **KEYS, **verifying.settings) as service:
        yield Site(
            service,
            gate_of(service),
            gate_of(service, wait_seconds=300),
            gate_of(service, wait_seconds=0),
            gate_of(service, wait_seconds=0, challenge={"difficulty": 10}),
            gate_of(service, wait_seconds=0, challenge={"provider": "turnstile"}),
            verifying,
        )


def new_address() -> str:
    """The address of a visitor who was not here before."""
    number = next(_numbers)
    return f"198.18.{number // 250}.{number % 250 + 1}"


def _at(page: Page, gate: Gate, path: str, ready: str = "h1") -> None:
    page.goto(f"{gate.base_url}{path}", wait_until="commit")
    page.wait_for_selector(ready)


def checking(page: Page, site: Site) -> None:
    _at(
        page, site.slow, site.slow.challenged(new_address()), "altcha-widget [data-state=verifying]"
    )


def by_hand(page: Page, site: Site) -> None:
    _at(page, site.slow, f"{site.slow.challenged(new_address())}?again=true", "altcha-widget input")


def broken(page: Page, site: Site) -> None:
    page.add_init_script("window.Worker = class { constructor() { throw new Error('none'); } };")
    _at(page, site.patient, site.patient.challenged(new_address()), "#again:not([hidden])")


def wrong(page: Page, site: Site) -> None:
    page.route(
        "**/altcha.min.js*",
        lambda route: route.fulfill(body=_CHEAT, content_type=SCRIPT, headers=_UNKEPT),
        times=1,
    )
    _at(page, site.slow, site.slow.challenged(new_address()), "[role=alert]")
    page.wait_for_selector("altcha-widget input")


def without_scripts(page: Page, site: Site) -> None:
    _at(page, site.slow, site.slow.challenged(new_address()))


def waiting(page: Page, site: Site) -> None:
    _at(page, site.patient, site.patient.challenged(new_address()), "button")


def too_early(page: Page, site: Site) -> None:
    waiting(page, site)
    page.click("button")
    page.wait_for_selector("[role=alert]")


def other_way(page: Page, site: Site) -> None:
    _at(page, site.patient, _after_rounds(site.patient), "button")


def stopped(page: Page, site: Site) -> None:
    _at(page, site.strict, _after_rounds(site.strict))


def done(page: Page, site: Site) -> None:
    path = site.quick.opened(new_address())
    site.quick.spend(path)
    _at(page, site.quick, path)


def passed(page: Page, site: Site) -> None:
    path = site.quick.challenged(new_address(), None)
    page.goto(f"{site.quick.base_url}{path}", wait_until="commit")
    page.wait_for_url("**/solution")


def expired(page: Page, site: Site) -> None:
    old = UUID(int=(new_id().int - (31 * 60_000 << 80)))
    _at(page, site.quick, f"/api/v1/challenge/{old}")


def unknown(page: Page, site: Site) -> None:
    _at(page, site.quick, f"/api/v1/challenge/{new_id()}")


def turnstile(page: Page, site: Site) -> None:
    page.route(
        "**/turnstile/v0/api.js*", lambda route: route.fulfill(body=WIDGET, content_type=SCRIPT)
    )
    page.add_init_script("window.waits = true")
    _at(page, site.turnstile, site.turnstile.challenged(new_address()), "#widget button")


def turnstile_blocked(page: Page, site: Site) -> None:
    page.route("**/turnstile/v0/api.js*", lambda route: route.abort())
    _at(page, site.turnstile, site.turnstile.challenged(new_address()), "#again:not([hidden])")


def turnstile_away(page: Page, site: Site) -> None:
    page.route(
        "**/turnstile/v0/api.js*", lambda route: route.fulfill(body=WIDGET, content_type=SCRIPT)
    )
    page.add_init_script("window.token = 'away'")
    _at(page, site.turnstile, site.turnstile.challenged(new_address()))
    page.wait_for_url("**/solution")


State: TypeAlias = Callable[[Page, Site], None]
STATES: Mapping[str, State] = {
    each.__name__: each
    for each in (
        checking,
        by_hand,
        broken,
        wrong,
        without_scripts,
        waiting,
        too_early,
        other_way,
        stopped,
        done,
        passed,
        expired,
        unknown,
        turnstile,
        turnstile_blocked,
        turnstile_away,
    )
}
SCRIPTLESS = ("without_scripts", "waiting", "too_early")
"""States of browsers without JavaScript."""
_CHEAT = """
globalThis.$altcha = { algorithms: new Map(), i18n: new Map() };
addEventListener("load", () => {
  const form = document.getElementById("solution");
  const field = Object.assign(document.createElement("input"), { name: "solution", value: "x" });
  form.append(field);
  form.submit();
});
"""
"""In place of the widget: what sends a wrong solution."""
_UNKEPT = {"cache-control": "no-store"}


def _after_rounds(gate: Gate) -> str:
    """The path of a challenge of a visitor who solved many, and keeps no cookie."""
    address = new_address()
    for _ in range(ROUNDS):
        path = gate.challenged(address)
        solution = {"solution": gate.solution(path)}
        assert gate.http.post(f"{path}/solution", json=solution).status_code == 303
    return gate.challenged(address)


def context_for(
    browser: Browser, state: str, theme: Theme = "light", width: int = 1_000, **options: Any
) -> BrowserContext:
    """The window of a visitor in a state."""
    return browser.new_context(
        color_scheme=theme,
        viewport={"width": width, "height": HEIGHT},
        java_script_enabled=state not in SCRIPTLESS,
        **options,
    )


def main() -> None:
    """Write the screenshots."""
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as data,
        site(Path(data) / "data") as made,
        sync_playwright() as playwright,
    ):
        browser = launched(playwright)
        for name, theme, width in product(STATES, THEMES, WIDTHS):
            context = context_for(browser, name, theme, width)
            page = context.new_page()
            STATES[name](page, made)
            page.screenshot(path=directory / f"{name}-{theme}-{width}.png")
            context.close()
            print(name, theme, width, flush=True)
        browser.close()


if __name__ == "__main__":
    main()
