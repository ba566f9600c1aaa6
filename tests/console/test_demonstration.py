"""The demonstration, as somebody meets it: a command, a link, a site under attack."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, expect
from tests.browser import Watched, browser, require_accessible
from tests.service.service_process import stop

__all__ = ["browser"]
SECONDS = 60.0


@contextmanager
def demonstration(home: Path) -> Iterator[str]:
    """The text that `tidegate serve --demo` prints, up to the calls to try."""
    command = [sys.executable, "-m", "tidegate", "serve", "--demo", "--server-port", "0"]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
    try:
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or not lines[-1].startswith("traffic"):
            line = process.stdout.readline().decode()
            assert line, (home / "log").read_text()
            lines.append(line)
        yield "".join(lines)
    finally:
        code = stop(process)
    assert code == 0


def test_the_console_shows_a_site_under_attack_a_minute_after_the_command(
    browser: Browser, tmp_path: Path, process: None
) -> None:
    """The printed link logs in; within 60 s of the command there are traffic, blocks, challenges
    and entities under mitigation, and the tenant's name says that the traffic is generated."""
    until = time.monotonic() + SECONDS
    with demonstration(tmp_path) as said:
        assert "generated, with attacks in it" in said
        [link] = re.findall(r"console +(http://\S+)", said)
        watched = Watched.of(browser.new_context(), link.partition("/console/")[0])
        page = watched.page
        page.wait_for_timeout((until - time.monotonic() - 10) * 1_000)
        page.goto(link)
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        assert "access_token" not in page.url
        assert page.url.endswith("/console/example-shop-generated-traffic/#range=15m")
        expect(page.get_by_label("Tenant").locator("option:checked")).to_contain_text(
            "Example Shop (generated traffic)"
        )
        for name, least in (("Blocked", 20), ("Challenged", 20), ("Under mitigation", 5)):
            tile = page.locator(".tile").filter(has=page.get_by_text(name, exact=True))
            figure = tile.locator(".figure")
            expect(figure).to_have_text(re.compile(r"\d"))
            assert int(figure.inner_text().replace(",", "")) >= least, name
        assert time.monotonic() < until
        page.get_by_role("link", name="Entities under mitigation now").click()
        rows = page.get_by_role("row")
        expect(rows.filter(has_text="credential-stuffing").first).to_be_visible()
        expect(rows.filter(has_text="scraping").first).to_contain_text("challenge")
        watched.require_silence()
        require_accessible(page)
        page.context.close()
