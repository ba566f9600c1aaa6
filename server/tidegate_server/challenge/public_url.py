"""Whether any browser can reach the service's address, since challenges redirect there."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

_LOCAL_NAMES = (".local", ".internal", ".localhost", ".lan", ".home.arpa")


def unreachable(base_url: str) -> str | None:
    """Why a visitor's browser cannot be sent to an address; None if it can, judging by the address.

    Args:
        base_url: the service's address, as returned by ``server.public_url``.
    """
    parts = urlsplit(base_url)
    host = (parts.hostname or "").lower()
    if not host:
        return "it is no address"
    try:
        address = ip_address(host)
    except ValueError:
        if host == "localhost" or host.endswith(_LOCAL_NAMES) or "." not in host:
            return f"`{host}` is known on this machine or network alone"
    else:
        if not address.is_global:
            return f"`{host}` is reached from this machine or network alone"
    if parts.scheme != "https":
        return "it is plain http, and browsers show what is sent there to everybody on the way"
    return None
