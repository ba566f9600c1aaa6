"""The frame: navigation in a column or a drawer, a header of one line, the account menu."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import ViewportSize, expect
from tests.browser import THEMES, Watched, violations
from tests.console.places import HOME

from tidegate_server.login import pages

ROOT = Path(__file__).parents[3]
NARROW: ViewportSize = {"width": 375, "height": 812}
ONE_LINE = 56
"""Pixels that one row of controls takes at most, with what is around it."""


def test_the_header_is_one_line_on_a_narrow_screen(owner: Watched) -> None:
    """Tenant, search, range, refresh and account stand next to each other at 375 pixels."""
    page = owner.page
    page.set_viewport_size(NARROW)
    header = page.locator(".body > header").bounding_box()
    assert header is not None
    assert header["height"] <= ONE_LINE
    for name in ("Search", "Refresh", "Account", "Pages"):
        expect(page.get_by_role("button", name=name)).to_be_visible()
    expect(page.get_by_label("Time range")).to_be_visible()
    expect(page.get_by_label("Tenant")).to_be_visible()


def test_the_navigation_is_a_drawer_on_a_narrow_screen(owner: Watched) -> None:
    """A button opens it, Escape closes it, a link leads on and closes it, and all can read it."""
    page = owner.page
    page.set_viewport_size(NARROW)
    link = page.get_by_role("link", name="Policies", exact=True)
    expect(link).to_be_hidden()
    page.get_by_role("button", name="Pages").click()
    expect(link).to_be_visible()
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        assert violations(page) == []
    page.keyboard.press("Escape")
    expect(link).to_be_hidden()
    page.get_by_role("button", name="Pages").click()
    link.click()
    expect(page.get_by_role("heading", name="Policies", level=1)).to_be_visible()
    expect(link).to_be_hidden()
    owner.require_silence()


def test_every_page_of_the_routes_is_in_the_navigation_with_an_icon(owner: Watched) -> None:
    """A page that nothing leads to is a page that nobody finds."""
    routes = (ROOT / "console/src/routes.ts").read_text()
    # In the order of the file, a page of the navigation has its name after its path.
    paths = re.findall(r'path: "([^"]*)",[^{}]*?nav: "', routes)
    side = owner.page.get_by_role("navigation", name="Tidegate")
    listed = [
        each.get_attribute("href").removeprefix("/console/example-shop/")
        for each in side.locator("li a").all()
    ]
    assert sorted(listed) == sorted(paths)
    assert len(paths) > 15
    sheet = (ROOT / "console/src/style/icons.svg").read_text()
    drawn = set(re.findall(r'<symbol id="([^"]+)"', sheet))
    used = [each.get_attribute("href") for each in side.locator("use").all()]
    assert {each.partition("#")[2] for each in used} <= drawn


def test_the_navigation_folds_to_icons_and_stays_so(owner: Watched) -> None:
    """Links keep their names without their texts, after a reload too."""
    page = owner.page
    side = page.get_by_role("navigation", name="Tidegate")
    wide = side.bounding_box()
    side.get_by_role("button", name="Collapse navigation").click()
    page.reload()
    link = page.get_by_role("link", name="Audit", exact=True)
    expect(link).to_be_visible()
    folded = side.bounding_box()
    assert wide is not None
    assert folded is not None
    assert folded["width"] < wide["width"] / 2
    assert violations(page) == []
    link.click()
    expect(page.get_by_role("heading", name="Audit")).to_be_visible()
    owner.require_silence()


def test_the_account_menu_sets_the_theme(owner: Watched) -> None:
    """The chosen theme stays, whatever the system's is, and all can read the menu."""
    page = owner.page
    page.goto(f"{HOME}/actions")
    page.get_by_role("button", name="Account").click()
    page.get_by_label("Theme").select_option("dark")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    assert violations(page) == []
    page.reload()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    owner.require_silence()


def test_the_login_has_the_mark_of_the_console(visitor: Watched) -> None:
    """Both show the same mark, also as the icon of the page."""
    page = visitor.page
    page.goto("/login")
    icon = page.locator("link[rel=icon]").get_attribute("href")
    answer = page.request.get(icon or "")
    assert answer.headers["content-type"].startswith("image/svg+xml")
    console = Path(__file__).parents[3] / "console/src/style/mark.svg"
    assert answer.body() == console.read_bytes()
    assert (Path(pages.__file__).parent / "assets/mark.svg").read_bytes() == console.read_bytes()
    expect(page.get_by_text("Tidegate")).to_be_visible()
