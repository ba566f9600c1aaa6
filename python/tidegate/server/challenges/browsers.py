"""The mark of a browser that keeps cookies: whoever gets through does not count for its neighbours.

The mark opens nothing and names nobody; it lives as long as rounds are counted.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from uuid import UUID

NAME = "tidegate_browser"
_FORM = re.compile(r"[A-Za-z0-9_-]{22}")
_MAX_HEADER = 16 * 1024


def mark_of(cookies: str | None) -> str | None:
    """The mark that a browser shows; None when it keeps none.

    Args:
        cookies: the header.
    """
    if cookies is None or len(cookies) > _MAX_HEADER:
        return None
    pairs = (each.strip().partition("=") for each in cookies.split(";"))
    values = (value for name, _, value in pairs if name == NAME and _FORM.fullmatch(value))
    return next(values, None)


def set_cookie(mark: str | None, seconds: int, *, is_secure: bool) -> str:
    """The header that has a browser keep its mark, or a new one.

    It names no path, so the browser sends it to challenges alone (RFC 6265, section 5.1.4).

    Args:
        seconds: how long.
        is_secure: whether the page has TLS.
    """
    secure = "; Secure" if is_secure else ""
    value = mark or secrets.token_urlsafe(16)
    return f"{NAME}={value}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"


def actor_of(tenant_id: UUID, mark: str) -> bytes:
    """Stands for a browser where rounds are counted, 16 bytes."""
    return hashlib.blake2b(
        tenant_id.bytes + mark.encode(), digest_size=16, person=b"browser"
    ).digest()
