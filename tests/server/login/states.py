"""Every state of the pages of a login, as a browser gets there; screenshots of all of them.

``python -m tests.server.login.states DIRECTORY`` writes the screenshots: each state, in both
themes, on a wide screen and on one of 320 pixels.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import TypeAlias

from playwright.sync_api import Page, sync_playwright
from tests.browser import HEIGHT, THEMES, WIDTHS, launched
from tests.server.serving import PASSWORD, Served, serving

from tidegate_server.login.logins import Logins
from tidegate_server.operators.providers import Provider

State: TypeAlias = Callable[[Page, Served], None]


def choice(page: Page, served: Served) -> None:
    page.goto(f"{served.base_url}/login")
    page.wait_for_selector("#providers a")


def password(page: Page, served: Served) -> None:
    page.goto(f"{served.base_url}/auth/local/login")


def wrong_password(page: Page, served: Served) -> None:
    password(page, served)
    _type(page, "nobody@example.test", "wrong")
    page.wait_for_selector("#message:not(:empty)")


def logged_in(page: Page, served: Served) -> None:
    owner = served.operator("The owner")
    owner.post("tenants", {"name": f"Shop of {owner.operator_id}"})
    password(page, served)
    _type(page, owner.email, PASSWORD)
    page.wait_for_selector("#out:not([hidden])")


def logged_out(page: Page, served: Served) -> None:
    logged_in(page, served)
    page.click("#out")
    page.wait_for_selector("#again:not([hidden])")


def refused(page: Page, served: Served) -> None:
    page.goto(f"{served.base_url}/login/callback#error=not-invited")
    page.wait_for_selector("#again:not([hidden])")


def nobody(page: Page, served: Served) -> None:
    page.goto(f"{served.base_url}/login/callback")
    page.wait_for_selector("#again:not([hidden])")


def _type(page: Page, email: str, text: str) -> None:
    page.fill("#email", email)
    page.fill("#password", text)
    page.press("#password", "Enter")


STATES: Mapping[str, State] = {
    each.__name__: each
    for each in (choice, password, wrong_password, logged_in, logged_out, refused, nobody)
}


def main() -> None:
    """Write the screenshots."""
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    provider = Provider(
        name="company",
        issuer="https://login.example.com",
        client_id="a client",
        client_secret="a secret",
        display_name="Company",
    )
    with (
        tempfile.TemporaryDirectory() as data,
        serving(Path(data), Logins([provider])) as served,
        sync_playwright() as playwright,
    ):
        browser = launched(playwright)
        for name, theme, width in product(STATES, THEMES, WIDTHS):
            size = {"width": width, "height": HEIGHT}
            context = browser.new_context(color_scheme=theme, viewport=size)
            page = context.new_page()
            STATES[name](page, served)
            page.screenshot(path=directory / f"{name}-{theme}-{width}.png")
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
