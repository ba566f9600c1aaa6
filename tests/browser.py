"""A real browser for tests: Chromium from the distribution, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import attrs
import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import (
    Browser,
    BrowserContext,
    FloatRect,
    Locator,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

ARGUMENTS = (
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
Theme: TypeAlias = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
WIDTHS = (1_000, 320)
HEIGHT = 640
"""Themes and screens in which pages are looked at."""
WCAG = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa")
_FINDINGS = """async (tags) => {
  // Asking for them begins what a change of the theme has to do.
  const changing = document.getAnimations().filter((each) => each instanceof CSSTransition);
  await Promise.allSettled(changing.map((each) => each.finished));
  const runOnly = { type: 'tag', values: tags };
  const { violations } = await axe.run({ runOnly, resultTypes: ['violations'] });
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}"""


def launched(playwright: Playwright) -> Browser:
    """Chromium of this machine."""
    program = shutil.which("chromium")
    assert program is not None, "chromium is not on this machine: install chromium"
    return playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for the tests of a module; each test opens windows of its own.

    It ends with the module: while it lives, Playwright's loop runs in the main thread, where other
    tests run loops of theirs.
    """
    with sync_playwright() as playwright:
        found = launched(playwright)
        yield found
        found.close()


expect.set_options(timeout=30_000)


@attrs.frozen
class Watched:
    """A page, and what went wrong in it that nobody would see.

    Attributes:
        page: to be driven.
        said: console messages, exceptions, violations of the page's policy, dialogs.
        elsewhere: addresses that were asked for outside of the origin.
    """

    page: Page
    said: list[str] = attrs.field(factory=list)
    elsewhere: list[str] = attrs.field(factory=list)

    @classmethod
    def of(cls, context: BrowserContext, origin: str) -> Watched:
        """A new page of a context that belongs at an origin."""
        watched = cls(context.new_page())
        page, said = watched.page, watched.said
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on(
            "dialog", lambda dialog: (said.append(f"dialog: {dialog.message}"), dialog.dismiss())
        )

        def asked(url: str) -> None:
            if not url.startswith((f"{origin}/", "blob:", "about:")):
                watched.elsewhere.append(url)

        page.on("request", lambda request: asked(request.url))
        return watched

    def require_silence(self) -> None:
        """Nothing went wrong, and nothing was asked for elsewhere."""
        assert self.said == []
        assert self.elsewhere == []


def violations(page: Page, tags: Sequence[str] = WCAG) -> list[str]:
    """The findings of axe-core on a page, with the elements.

    Args:
        page: to be looked at; it keeps axe-core as long as its document lives.
        tags: of the rules.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found: list[str] = page.evaluate(_FINDINGS, list(tags))
    return found


def require_accessible(page: Page) -> None:
    """axe-core finds nothing by WCAG 2.2 AA, the page has a title, and nothing is cut off."""
    assert violations(page, (*WCAG, "best-practice")) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.title()


def box_of(over: Locator) -> FloatRect:
    """Return where a plot is on the page, once it is in view."""
    # Playwright's own scrolling fails when new figures replace the plot while it waits.
    over.evaluate("plot => plot.scrollIntoView({ block: 'center' })")
    box = over.bounding_box()
    assert box is not None
    return box
