"""Create the destination that the settings name."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tidegate_server.publishing.jetstream import JetStream
from tidegate_server.publishing.json_lines import JsonLines
from tidegate_server.publishing.webhook import Webhook, key_of

if TYPE_CHECKING:
    from tidegate_server.publishing.base import Destination

KINDS = "a file:///PATH, an https:// address, or a nats:// or tls:// address"


def destination_of(url: str, secret: str, subject: str, clock: Callable[[], int]) -> Destination:
    """Create the destination that the settings name.

    Args:
        url: the destination of the messages.
        secret: signs messages to a webhook: ``whsec_`` and base64, or any text.
        subject: the NATS subject, before the tenant.
        clock: seconds since 1970.

    Raises:
        ValueError: the kind is unknown, or the destination can't be used.
    """
    parts = urlsplit(url)
    match parts.scheme:
        case "file" if parts.path and not parts.netloc:
            return JsonLines(Path(parts.path))
        case "https" | "http" if parts.hostname:
            if parts.scheme == "http" and not _is_loopback(parts.hostname):
                raise ValueError("plain http would show decisions to the network; use https")
            if not secret:
                raise ValueError("a webhook needs `publish.secret`, which signs what it gets")
            return Webhook(url, key_of(secret), clock)
        case "nats" | "tls" if parts.hostname:
            return JetStream(url, subject)
        case _:
            raise ValueError(f"decisions can go to {KINDS}")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
