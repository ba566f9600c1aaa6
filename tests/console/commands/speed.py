"""``python -m tests.console.commands.speed``: the largest paint, and memory over 500 changes."""

from __future__ import annotations

import json
import sys
import tempfile
from itertools import cycle, islice
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright
from tests.browser import launched
from tests.console.conftest import started
from tests.console.places import HOME, open_place, places, prepare
from tests.service.service_process import Service, stop

PAINT_SECONDS, SLOW_PAINT_SECONDS = 1.2, 2.5
SLOWER, ROUND_TRIP_MS, BITS_A_SECOND = 4, 150, 1_600_000
"""A slow client: its processor, and its line."""
CHANGES, WARM_UP, GROWTH = 500, 100, 1.1
PAINT = """() => new Promise((resolve) => {
  let largest = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) largest = entry.startTime;
  }).observe({ type: 'largest-contentful-paint', buffered: true });
  setTimeout(() => resolve(largest / 1000), 500);
})"""


def slowed(session: CDPSession) -> None:
    """Make a page as slow as a phone on a poor line."""
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    session.send("Network.enable")
    line = {
        "offline": False,
        "latency": ROUND_TRIP_MS,
        "downloadThroughput": BITS_A_SECOND / 8,
        "uploadThroughput": BITS_A_SECOND / 8,
    }
    session.send("Network.emulateNetworkConditions", line)


def paint(browser: Browser, service: Service, path: str, *, is_slow: bool) -> float:
    """Seconds to the largest paint of a page, from nothing in the cache."""
    context = browser.new_context(base_url=service.base_url)
    token = f"localStorage.setItem('service.auth_token', '{service.owner_token}')"
    context.add_init_script(token)
    page = context.new_page()
    if is_slow:
        slowed(context.new_cdp_session(page))
    page.goto(path)
    page.wait_for_load_state("networkidle")
    found = float(page.evaluate(PAINT))
    context.close()
    return found


def heap(session: CDPSession) -> tuple[int, int]:
    """Bytes that scripts of the page hold, and those of them that are compiled code.

    Compiled code is the browser's: it compiles what runs often, for as long as pages change.
    """
    session.send("HeapProfiler.collectGarbage")
    used = int(session.send("Runtime.getHeapUsage")["usedSize"])
    chunks: list[str] = []
    session.on("HeapProfiler.addHeapSnapshotChunk", lambda each: chunks.append(each["chunk"]))
    session.send("HeapProfiler.takeHeapSnapshot", {"reportProgress": False})
    taken = json.loads("".join(chunks))
    described, nodes = taken["snapshot"]["meta"], taken["nodes"]
    fields = described["node_fields"]
    kinds = nodes[fields.index("type") :: len(fields)]
    sizes = nodes[fields.index("self_size") :: len(fields)]
    code = described["node_types"][0].index("code")
    return used, sum(size for kind, size in zip(kinds, sizes, strict=True) if kind == code)


def growth(page: Page, paths: list[str]) -> tuple[float, float]:
    """The memory of scripts after all changes of page, as a multiple of the memory before: with
    what the browser compiled, and without."""
    visits = cycle(paths)
    for path in islice(visits, WARM_UP):
        open_place(page, path)
    used, code = heap(page.context.new_cdp_session(page))
    for path in islice(visits, CHANGES):
        open_place(page, path)
    used_after, code_after = heap(page.context.new_cdp_session(page))
    return used_after / used, (used_after - code_after) / (used - code)


def main() -> int:
    """Measure a demonstration; 1 when a bound is passed."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        sync_playwright() as playwright,
        launched(playwright) as browser,
    ):
        service = started(Path(scratch) / "log")
        prepare(service)
        all_places = places(service)
        shown = ("overview", "decisions", "policies", "decision")
        paints = [paint(browser, service, all_places[each], is_slow=False) for each in shown]
        slow = [paint(browser, service, all_places[each], is_slow=True) for each in shown]
        page = browser.new_page(base_url=service.base_url)
        page.goto(f"/console/#access_token={service.owner_token}")
        page.wait_for_url(f"**{HOME}/")
        all_places.pop("failed")
        whole, grown = growth(page, list(all_places.values()))
        stop(service.process)
    for name, fast, late in zip(shown, paints, slow, strict=True):
        print(f"largest paint of {name}: {fast:.2f} s, {late:.2f} s where slow")
    print(f"memory after {CHANGES} changes of page: {grown:.3f} times what it was,")
    print(f"and {whole:.3f} times with the code that the browser compiles")
    is_well = max(paints) <= PAINT_SECONDS and max(slow) <= SLOW_PAINT_SECONDS and grown <= GROWTH
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
