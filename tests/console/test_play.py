"""The page of `tidegate play`, in a browser."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.browser import THEMES, Theme, Watched, browser, require_accessible

__all__ = ["browser"]
DOCUMENT = """apiVersion: tidegate/v1
mitigations:
  - {name: Refuse, mode: Block, ttl_seconds: 0}
policies:
  - name: Secrets
    clauses:
      - {name: any, expression: 'request.path == "/.env"', mitigation: refuse}
"""
EVENT = '{"request": {"path": "/.env", "client_ip": "192.0.2.1"}}'
COMMAND = "from tidegate_server.play.command import play; play()"


@contextmanager
def playing(home: Path, *arguments: str) -> Iterator[str]:
    """The address that a running command printed."""
    command = [sys.executable, "-c", COMMAND, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=home)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


@pytest.fixture
def files(tmp_path: Path, process: None) -> list[str]:
    """A document and an event as files."""
    (tmp_path / "shop.yaml").write_text(DOCUMENT)
    (tmp_path / "events.jsonl").write_text(EVENT)
    return [str(tmp_path / "shop.yaml"), str(tmp_path / "events.jsonl")]


def opened(browser: Browser, address: str, **options: object) -> Watched:
    """A page at an address."""
    context = browser.new_context(**options)  # type: ignore[arg-type]
    watched = Watched.of(context, address.partition("/#")[0])
    watched.page.goto(address)
    return watched


def test_the_decision_changes_as_the_definitions_are_typed(
    browser: Browser, files: list[str], tmp_path: Path
) -> None:
    """The event is blocked, with the reason; after a change in the editor it is allowed."""
    with playing(tmp_path, *files) as address:
        watched = opened(browser, address)
        page = watched.page
        row = page.get_by_role("region", name="Decisions").locator("tbody tr").first
        expect(row).to_contain_text("block")
        assert "token" not in page.url
        expect(page.locator(".painted").first).to_contain_text('request.path == "/.env"')
        editor = page.get_by_role("textbox", name="Definitions")
        editor.get_by_text("request.path").click()
        page.keyboard.press("End")
        for _ in range(len('"/.env"\', mitigation: refuse}') - 2):
            page.keyboard.press("ArrowLeft")
        page.keyboard.type("other")
        expect(row).to_contain_text("allow")
        page.keyboard.press("ControlOrMeta+Home")
        page.keyboard.type("[")
        expect(page.get_by_text("The definitions are refused.")).to_be_visible()
        watched.require_silence()
        page.context.close()


def test_a_link_of_one_server_opens_on_another(
    browser: Browser, files: list[str], tmp_path: Path
) -> None:
    """The link has the definitions and the events; the other server's samples aren't shown."""
    with playing(tmp_path, *files) as first, playing(tmp_path) as second:
        watched = opened(browser, first, permissions=["clipboard-read", "clipboard-write"])
        page = watched.page
        expect(page.get_by_role("region", name="Decisions")).to_contain_text("/.env")
        page.get_by_role("button", name="Copy link").click()
        expect(page.get_by_text("Copied")).to_be_visible()
        link = page.evaluate("navigator.clipboard.readText()")
        other = opened(browser, second)
        expect(other.page.get_by_role("region", name="Decisions")).to_contain_text("/products/")
        other.page.goto(second.partition("#")[0] + "#" + link.partition("#")[2])
        row = other.page.get_by_role("region", name="Decisions").locator("tbody tr")
        expect(row).to_have_count(1)
        expect(row).to_contain_text("block")
        expect(other.page.get_by_role("textbox", name="Definitions")).to_contain_text("Secrets")
        other.require_silence()
        for each in (watched, other):
            each.page.context.close()


@pytest.mark.parametrize("fragment", ["0abc", "1!!", "1abc", "1" + "A" * 70_000])
def test_a_hostile_link_is_refused(
    browser: Browser, files: list[str], tmp_path: Path, fragment: str
) -> None:
    """A link that is damaged or too long has a message, and loads nothing."""
    with playing(tmp_path, *files) as address:
        watched = opened(browser, f"{address}&play={fragment}")
        expect(watched.page.get_by_role("alert")).to_have_text(re.compile("link"))
        expect(watched.page.get_by_role("textbox")).to_have_count(0)
        watched.require_silence()
        watched.page.context.close()


def test_a_link_that_unpacks_to_much_is_refused(
    browser: Browser, files: list[str], tmp_path: Path
) -> None:
    """Eight megabytes in a short link aren't unpacked."""
    bomb = """async () => {
      const packed = new Blob([JSON.stringify(["a".repeat(8e6), ""])]).stream()
        .pipeThrough(new CompressionStream("deflate-raw"));
      const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
      const text = btoa(String.fromCharCode(...bytes));
      return "1" + text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    }"""
    with playing(tmp_path, *files) as address:
        watched = opened(browser, address)
        fragment = watched.page.evaluate(bomb)
        watched.page.goto(address.partition("#")[0] + f"#play={fragment}")
        expect(watched.page.get_by_role("alert")).to_contain_text("too long")
        watched.page.context.close()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", [1440, 375])
def test_the_page_is_accessible(
    browser: Browser, tmp_path: Path, theme: Theme, width: int, process: None
) -> None:
    """axe-core finds nothing, and nothing is cut off, with the samples."""
    with playing(tmp_path) as address:
        size = {"width": width, "height": 1_000}
        watched = opened(browser, address, color_scheme=theme, viewport=size)
        page = watched.page
        expect(page.get_by_role("heading", name="Decisions over time")).to_be_visible()
        page.locator("canvas").first.wait_for()
        page.screenshot(path=tmp_path / f"play-{width}-{theme}.png", full_page=True)
        require_accessible(page)
        watched.require_silence()
        page.context.close()
