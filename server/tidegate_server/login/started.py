"""A login in progress at a provider: its sealed state in a cookie of the browser.

The server stores nothing until the login ends. The state in the URL and the cookie belong together,
so a login started in one browser can't end in another.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

import attrs

from tidegate_server.login.profile import LoginRefusedError
from tidegate_server.login.sealed_cookies import InvalidCookieError, SealedCookie, set_cookie

LIFETIME_SECONDS = 600
"""The time from the start of a login to its end, with a password and a second factor in between."""
ARRIVAL_SECONDS = 60
"""The time for the page to take the token that the browser brings."""
_PURPOSE = b"tidegate-login-v1"
_NAME = "tidegate_login"


@attrs.frozen(kw_only=True)
class Started:
    """A login that was started.

    Attributes:
        provider: its name.
        verifier: the code verifier (RFC 7636).
        next: the path that the browser is sent to at the end; may be empty.
        expires_at: seconds since 1970.
    """

    provider: str
    state: str = attrs.field(repr=False)
    nonce: str = attrs.field(repr=False)
    verifier: str = attrs.field(repr=False)
    next: str
    expires_at: int

    @classmethod
    def new(cls, provider: str, following: str, now: int) -> Started:
        """Start a login now.

        Args:
            following: the path that comes next; see :func:`own_path`.
            now: seconds since 1970.
        """
        return cls(
            provider=provider,
            state=secrets.token_urlsafe(32),
            nonce=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            next=following,
            expires_at=now + LIFETIME_SECONDS,
        )

    @property
    def mark(self) -> str:
        """Return the id under which its end is recorded."""
        return "login-" + hashlib.sha256(self.state.encode()).hexdigest()


class LoginCookie:
    """Creates and reads the cookie of a login.

    Args:
        secret: the secret of the data directory's key material.
    """

    def __init__(self, secret: bytes) -> None:
        self._cookie = SealedCookie(secret, _PURPOSE, _NAME, Started)

    def set(self, started: Started, base_url: str) -> str:
        """Return the header that sets the cookie of a login that starts."""
        return self._cookie.set(started, base_url, LIFETIME_SECONDS, "HttpOnly; SameSite=Lax")

    def open(self, header: str | None, state: str, base_url: str, now: int) -> Started:
        """Return the login that a browser returns from.

        Args:
            header: the browser's cookies.
            state: from the URL.
            base_url: the server's.
            now: seconds since 1970.

        Raises:
            LoginRefusedError: this browser didn't start it, or too long ago.
        """
        try:
            found = self._cookie.open(header, base_url)
        except InvalidCookieError as error:
            raise LoginRefusedError(str(error), "expired") from None
        if not hmac.compare_digest(found.state.encode(), state.encode()):
            raise LoginRefusedError("the state is of another login")
        if found.expires_at <= now:
            raise LoginRefusedError("the login took too long", "expired")
        return found


def arrived(base_url: str) -> tuple[str, str]:
    """Return a word for a browser's URL and cookie to share, and the header that sets it.

    The page takes a token only with it: otherwise a link could log somebody in as somebody else.
    """
    word = secrets.token_urlsafe(16)
    return word, set_cookie(_NAME, base_url, word, ARRIVAL_SECONDS, "SameSite=Strict")


def ended(base_url: str) -> str:
    """Return the header that removes the cookie."""
    return set_cookie(_NAME, base_url, "", 0, "HttpOnly; SameSite=Lax")


def own_path(text: str) -> str:
    """Return a path of this server as it was given; empty for anything else.

    Browsers read a backslash as a slash, and skip control characters.
    """
    is_own = text.startswith("/") and not text.startswith("//") and len(text) <= 1_024
    return text if is_own and text.isascii() and text.isprintable() and "\\" not in text else ""
