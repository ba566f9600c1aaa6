"""Pictures of the console.

``python -m tests.console.commands.pictures DIR`` takes every page, at each width, in each theme.
``python -m tests.console.commands.pictures --documented`` makes those of the documentation anew.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Container
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, sync_playwright
from tests.browser import THEMES, launched
from tests.console.conftest import started
from tests.console.places import HOME, open_place, places, prepare
from tests.service.service_process import stop

WIDTHS = (375, 1024, 1440)
HEIGHT = 900
PAINTED = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
DOCUMENTED = ("overview", "traffic", "decision", "entity", "policies", "policy", "catalog")
"""Pages that the documentation shows."""
SMALL: ViewportSize = {"width": 1_280, "height": 800}
PICTURES = Path(__file__).parents[3] / "docs" / "pictures"


def take(page: Page, name: str, directory: Path) -> None:
    """The pictures of the page that is shown."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            # A plot follows the theme in the frame after it.
            page.evaluate(PAINTED)
            page.screenshot(path=directory / f"{name}-{width}-{theme}.png", full_page=True)


def take_small(page: Page, name: str, directory: Path) -> None:
    """The one picture of a page that the documentation has."""
    page.set_viewport_size(SMALL)
    page.emulate_media(color_scheme="light")
    address = page.url
    page.goto("about:blank")
    page.goto(f"{address}#range=15m")
    page.wait_for_load_state("networkidle")
    page.get_by_text("Loading …").wait_for(state="detached")
    page.screenshot(path=directory / f"{name}.png")


def main(directory: Path, wanted: Container[str], taken: Callable[[Page, str, Path], None]) -> None:
    """Start a demonstration, and take pictures of its pages.

    Args:
        directory: where they go.
        wanted: names of pages; all when it is empty.
        taken: takes the pictures of the page that is shown, under a name, into the directory.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        sync_playwright() as playwright,
        launched(playwright) as browser,
    ):
        service = started(Path(scratch) / "log")
        prepare(service)
        # No picture of a colour on its way from one theme to the other.
        page = browser.new_page(base_url=service.base_url, reduced_motion="reduce")
        page.goto(f"/console/#access_token={service.owner_token}")
        page.wait_for_url(f"**{HOME}/")
        for name, path in places(service).items():
            if not wanted or name in wanted:
                open_place(page, path)
                taken(page, name, directory)
        stop(service.process)


if __name__ == "__main__":
    if sys.argv[1] == "--documented":
        main(PICTURES, DOCUMENTED, take_small)
    else:
        main(Path(sys.argv[1]), sys.argv[2:], take)
