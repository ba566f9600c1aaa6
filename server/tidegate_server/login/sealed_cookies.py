"""Cookies with content that only this service can read and create."""

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
    """The cookie is missing, occurs more than once, or wasn't created here."""


class SealedCookie(Generic[T]):
    """Creates and reads one kind of cookie.

    Args:
        secret: the secret of the data directory's key material.
        purpose: the purpose of the derived key; a cookie for another purpose is invalid.
        name: the cookie's name.
        content: the class of its content.
    """

    def __init__(self, secret: bytes, purpose: bytes, name: str, content: type[T]) -> None:
        made = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret)
        self._seal = AESGCM(made)
        self._purpose = purpose
        self._name = name
        self._form = msgspec.json.Decoder(content)

    def set(self, content: T, base_url: str, seconds: int, attributes: str) -> str:
        """Return the header that sets the cookie."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = nonce + self._seal.encrypt(nonce, msgspec.json.encode(content), self._purpose)
        text = base64.urlsafe_b64encode(sealed).decode().rstrip("=")
        return set_cookie(self._name, base_url, text, seconds, attributes)

    def open(self, header: str | None, base_url: str) -> T:
        """Return the content of the cookie.

        Args:
            header: the browser's cookies.
            base_url: the server's.

        Raises:
            InvalidCookieError: there isn't exactly one, or it wasn't created here.
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
    """Return the cookie's name; TLS binds it to this host (RFC 6265bis, section 4.1.3.2)."""
    return f"__Host-{name}" if base_url.startswith("https:") else name


def set_cookie(name: str, base_url: str, value: str, seconds: int, attributes: str) -> str:
    """Return the header that sets a cookie for the whole host."""
    secure = "; Secure" if base_url.startswith("https:") else ""
    full = full_name(name, base_url)
    return f"{full}={value}; Path=/; Max-Age={seconds}; {attributes}{secure}"


def _values(header: str | None, name: str) -> list[str]:
    if header is None or len(header) > 4 * MAX_COOKIE:
        return []
    pairs = (each.strip().partition("=") for each in header.split(";"))
    return [value for found, _, value in pairs if found == name]
