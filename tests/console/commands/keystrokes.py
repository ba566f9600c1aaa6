"""``python -m tests.console.commands.keystrokes``: how soon the editor shows a key.

Keys are typed at a steady rate into a long expression, over recorded events. The page itself notes
the time of each key, when it was painted (the browser's own event timing), and when findings and
matches were on the screen.
"""

from __future__ import annotations

import gzip
import itertools
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright
from tests.browser import launched
from tests.console.places import HOME
from tests.service.service_process import Service, start, stop

EVENTS, BATCH = 10_000, 500
LENGTH, KEYS_A_SECOND, ROUNDS = 2_000, 8, 10
KEY_MS, FINDINGS_MS, MATCHES_MS = 50, 300, 700
"""The bounds: of a key at the 95th percentile, of findings and matches after the last key."""
UNLIMITED = 100_000_000
SHORTEST_MS = 16
"""The browser does not tell how long shorter events took."""
NOTE = """() => {
  window.keys = [];
  window.late = [];
  window.states = [];
  addEventListener('keydown', ({ key, timeStamp }) => {
    if (key !== 'Escape') window.keys.push(timeStamp);
  }, true);
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries())
      if (entry.name === 'keydown') window.late.push(entry.duration);
  }).observe({ type: 'event', durationThreshold: 16 });
  const look = () => {
    const finding = document.querySelector('.finding')?.textContent ?? '';
    const matches = document.querySelector(".matches[aria-busy='false']")?.textContent ?? '';
    const last = window.states.at(-1);
    if (last?.finding !== finding || last?.matches !== matches)
      window.states.push({ at: performance.now(), finding, matches });
    requestAnimationFrame(look);
  };
  look();
}"""


def recorded(log: Path) -> Service:
    """A demonstration with recent events, and a key whose limit is not met."""
    limits = ("TENANT_RATE_LIMIT_PER_MINUTE", "MAX_API_KEY_RATE_LIMIT_PER_MINUTE")
    environment = {f"TIDEGATE_SERVER_{name}": str(UNLIMITED) for name in limits}
    process, said = start("--demo", log=log, environment=environment)
    service = Service(process=process, log=log, **said)
    tenant = f"/tenants/{service.tenant_id}"
    wanted = {"name": "typing", "rate_limit_per_minute": UNLIMITED}
    key = service.control("POST", f"{tenant}/api-keys", wanted).json()["key"]
    packed = resources.files("tidegate.samples").joinpath("traffic.jsonl.gz").read_bytes()
    lines = itertools.cycle(gzip.decompress(packed).splitlines())
    for number in range(EVENTS // BATCH):
        batch = [json.loads(line) for line in itertools.islice(lines, BATCH)]
        for event in batch:
            del event["observed_at"]
            event["idempotency_key"] += f"-{number}"
        answer = service.hot("/beacon/events", batch, **{"x-service-api-key": key})
        assert answer.status_code == 200, answer.text
    asked = {"expression": "true", "newest": EVENTS}
    found = service.control("POST", f"{tenant}/traffic/match", asked).json()
    assert found["looked_at"] == EVENTS, found
    return service


def long_expression() -> str:
    """An expression of some thousand characters, most of it false."""
    parts = ['request.method == "POST"']
    for number in itertools.count():
        if sum(map(len, parts)) + 4 * len(parts) >= LENGTH:
            return " || ".join(parts)
        parts.append(f'request.path.startsWith("/nowhere/{number}")')
    raise AssertionError


def percentile(values: list[float], share: float) -> float:
    """The value below which a share of the others lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def after_last_key(page: Page, member: str, waiting: str) -> float:
    """Milliseconds from the last key until something was shown that has a text.

    Args:
        page: with the notes.
        member: of a state.
        waiting: what the member holds when it is there.
    """
    found = """([member, waiting]) => {
      const last = window.keys.at(-1);
      const state = window.states.find(each => each.at > last && each[member].includes(waiting));
      return state ? state.at - last : null;
    }"""
    given = [member, waiting]
    page.wait_for_function(f"given => ({found})(given) !== null", arg=given)
    return float(page.evaluate(found, given))


@contextmanager
def watched(page: Page) -> Iterator[None]:
    """See that every frame is drawn: without a viewer the browser may leave some out."""
    session = page.context.new_cdp_session(page)

    def next_frame(frame: dict[str, Any]) -> None:
        session.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    session.on("Page.screencastFrame", next_frame)
    session.send("Page.startScreencast", {"format": "jpeg", "quality": 20})
    yield
    session.remove_listener("Page.screencastFrame", next_frame)
    session.send("Page.stopScreencast")


def measured(page: Page) -> dict[str, list[float]]:
    """The times that the page noted in some rounds of typing."""
    page.goto(f"{HOME}/actions/new")
    page.get_by_role("textbox", name="Expression").click()
    page.keyboard.insert_text(long_expression())
    page.locator(".matches").wait_for()
    page.evaluate(NOTE)
    with watched(page):
        findings, matches = typed(page)
    late = page.evaluate("window.late")
    keys = int(page.evaluate("window.keys.length"))
    painted = [float(each) for each in late] + [float(SHORTEST_MS)] * (keys - len(late))
    return {"keys": painted, "findings": findings, "matches": matches}


def typed(page: Page) -> tuple[list[float], list[float]]:
    """Milliseconds until findings and matches were shown, of each round."""
    delay = 1_000 / KEYS_A_SECOND
    findings, matches = [], []
    for number in range(ROUNDS):
        name = f"nope{number}"
        page.keyboard.type(f" || {name}", delay=delay)
        findings.append(after_last_key(page, "finding", name))
        for _ in name:
            page.keyboard.press("Backspace", delay=delay)
        page.keyboard.type(f"{number} < {number}", delay=delay)
        matches.append(after_last_key(page, "matches", "events match"))
    return findings, matches


def main() -> int:
    """Measure a demonstration; 1 when a bound is passed."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        sync_playwright() as playwright,
        launched(playwright) as browser,
    ):
        service = recorded(Path(scratch) / "log")
        page = browser.new_page(base_url=service.base_url)
        page.goto(f"/console/#access_token={service.owner_token}")
        page.wait_for_url(f"**{HOME}/")
        found = measured(page)
        stop(service.process)
    is_well = True
    for name, values, share, bound in (
        ("a key on the screen", found["keys"], 0.95, KEY_MS),
        ("findings", found["findings"], 0.95, FINDINGS_MS),
        ("count and samples", found["matches"], 0.95, MATCHES_MS),
    ):
        middle, tail = percentile(values, 0.5), percentile(values, share)
        is_well &= tail <= bound
        print(f"{name}: {middle:.0f} ms (median), {tail:.0f} ms (p95) of {len(values)}; {bound} ms")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
