"""Everybody can read it: the rules of WCAG 2.2, level AA, on every page in both themes."""

from __future__ import annotations

from playwright.sync_api import Page
from tests.browser import THEMES, Watched, violations
from tests.console.places import open_place, places, prepare
from tests.service.service_process import Service

WIDTHS = (320, 640)


def width_of(page: Page, width: int) -> int:
    """How wide a page is on a screen of some width, in pixels."""
    page.set_viewport_size({"width": width, "height": 800})
    return int(page.evaluate("document.documentElement.scrollWidth"))


def test_every_page_can_be_read_by_everybody(owner: Watched, service: Service) -> None:
    """No rule is violated in either theme; at 320 pixels, and at 1,280 with a zoom of 200 %, only
    tables scroll sideways."""
    page, found = owner.page, {}
    prepare(service)
    page.emulate_media(reduced_motion="reduce")
    for name, path in places(service).items():
        # So high that the bar with the button to save, which stays in view, covers no control.
        page.set_viewport_size({"width": 1280, "height": 900})
        open_place(page, path)
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            if said := violations(page):
                found[name, theme] = said
        if wide := [width for width in WIDTHS if width_of(page, width) > width]:
            found[name, "wide"] = wide
    assert found == {}
