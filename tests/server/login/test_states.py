"""The pages of a login in a real browser: everybody can use them."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser
from tests.browser import HEIGHT, THEMES, Theme, browser, require_accessible
from tests.server.login.conftest import Place
from tests.server.login.states import STATES

__all__ = ["browser"]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("state", STATES)
def test_every_state_can_be_used_by_everybody(
    browser: Browser, place: Place, state: str, theme: Theme
) -> None:
    """axe-core finds nothing (WCAG 2.2 AA), and 320 pixels are wide enough."""
    size = {"width": 320, "height": HEIGHT}
    context = browser.new_context(color_scheme=theme, viewport=size, bypass_csp=True)
    page = context.new_page()
    STATES[state](page, place.served)
    require_accessible(page)
    context.close()
