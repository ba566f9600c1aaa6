"""Cookies whose content only this service can read and make."""

from __future__ import annotations

import base64
import secrets
from typing import Generic, TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

T = TypeVar("T")

MAX_COOKIE = 4_096
_NONCE_BYTES = 12


class InvalidCookieError(ValueError):
    """A browser sent no such cookie, several of them, or one that was not made here."""


class SealedCookie(Generic[T]):
    """Makes and reads one kind of cookie.

    Args:
        secret: of the key material of the data directory.
        purpose: of the key that is derived from it; a cookie of another purpose is invalid.
        name: of the cookie.
        content: the class of its content.
    """

    def __init__(self, secret: bytes, purpose: bytes, name: str, content: type[T]) -> None:
        made = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret)
        self._seal = AESGCM(made)
        self._purpose = purpose
        self._name = name
        self._form = msgspec.json.Decoder(content)

    def set(self, content: T, base_url: str, seconds: int, attributes: str) -> str:
        """The header that sets the cookie."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = nonce + self._seal.encrypt(nonce, msgspec.json.encode(content), self._purpose)
        text = base64.urlsafe_b64encode(sealed).decode().rstrip("=")
        return set_cookie(self._name, base_url, text, seconds, attributes)

    def open(self, header: str | None, base_url: str) -> T:
        """The content of the cookie.

        Args:
            header: the cookies of the browser.
            base_url: of the server.

        Raises:
            InvalidCookieError: there isn't exactly one, or it was not made here.
        """
        values = _values(header, full_name(self._name, base_url))
        if len(values) != 1:
            raise InvalidCookieError("the browser has no such cookie, or two")
        try:
            sealed = base64.b64decode(values[0] + "=" * (-len(values[0]) % 4), b"-_", validate=True)
            nonce, content = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
            return self._form.decode(self._seal.decrypt(nonce, content, self._purpose))
        except (InvalidTag, ValueError, msgspec.DecodeError):
            raise InvalidCookieError("the cookie was not made here") from None


def full_name(name: str, base_url: str) -> str:
    """With TLS the browser holds the name to this host (RFC 6265bis, section 4.1.3.2)."""
    return f"__Host-{name}" if base_url.startswith("https:") else name


def set_cookie(name: str, base_url: str, value: str, seconds: int, attributes: str) -> str:
    """The header that sets a cookie of the whole host."""
    secure = "; Secure" if base_url.startswith("https:") else ""
    full = full_name(name, base_url)
    return f"{full}={value}; Path=/; Max-Age={seconds}; {attributes}{secure}"


def _values(header: str | None, name: str) -> list[str]:
    if header is None or len(header) > 4 * MAX_COOKIE:
        return []
    pairs = (each.strip().partition("=") for each in header.split(";"))
    return [value for found, _, value in pairs if found == name]
