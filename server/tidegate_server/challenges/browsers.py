"""A browser's mark, which lets its rounds be counted apart from those of its neighbours.

Only browsers that keep cookies have one. The mark grants nothing and identifies nobody; it lives as
long as rounds are counted.
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
    """Return the browser's mark; None if it keeps no cookies.

    Args:
        cookies: the cookie header.
    """
    if cookies is None or len(cookies) > _MAX_HEADER:
        return None
    pairs = (each.strip().partition("=") for each in cookies.split(";"))
    values = (value for name, _, value in pairs if name == NAME and _FORM.fullmatch(value))
    return next(values, None)


def set_cookie(mark: str | None, seconds: int, *, is_secure: bool) -> str:
    """Return the header that sets the browser's mark, or a new one.

    It names no path, so the browser sends it only to challenges (RFC 6265, section 5.1.4).

    Args:
        seconds: its lifetime.
        is_secure: whether the page uses TLS.
    """
    secure = "; Secure" if is_secure else ""
    value = mark or secrets.token_urlsafe(16)
    return f"{NAME}={value}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"


def actor_of(tenant_id: UUID, mark: str) -> bytes:
    """Return the browser's id for counting rounds, 16 bytes."""
    return hashlib.blake2b(
        tenant_id.bytes + mark.encode(), digest_size=16, person=b"browser"
    ).digest()
