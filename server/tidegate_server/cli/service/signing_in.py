"""The console's address, and how operators log in there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate_server.console.files import built
from tidegate_server.console.pages import HOME

if TYPE_CHECKING:
    from tidegate_server.settings.whole import Settings


def console_of(settings: Settings, base_url: str) -> str | None:
    """Return the console's address; None if it is off, not built, or out of a browser's reach.

    Args:
        settings: of the service.
        base_url: the address that the service is reached by.
    """
    is_socket = settings.server.unix_socket and not settings.server.public_url
    if not settings.console.enabled or is_socket or not (built() / "index.html").exists():
        return None
    return base_url + HOME


def console_lines(settings: Settings, base_url: str) -> list[str]:
    """Return the lines that name the console and the ways to log in.

    Args:
        settings: of the service.
        base_url: the address that the service is reached by.
    """
    found = console_of(settings, base_url)
    if found is None:
        return [f"console  {_why_not(settings)}"]
    ways = []
    if settings.login.local:
        ways.append(
            "with an operator's e-mail address and password"
            " (`tidegate operator password EMAIL` sets one)"
        )
    if settings.login.providers:
        ways.append("at an identity provider")
    return [f"console  {found}", f"log in   {', or '.join(ways) or 'turned off in the settings'}"]


def _why_not(settings: Settings) -> str:
    if not settings.console.enabled:
        return "turned off (console.enabled)"
    if not (built() / "index.html").exists():
        return "not built; in a checkout, run: make console"
    return "not reachable at a Unix socket; set server.public_url to the proxy's address"
