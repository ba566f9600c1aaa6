"""API keys: their text, the stored hash, and the ring in which the hot path finds them.

A key reads ``tg_PREFIX_SECRET``.  The prefix is public and finds the record; of the secret only a
keyed BLAKE2b hash (RFC 7693) is stored.  The secret has 256 random bits, so a slow password hash
would protect nothing.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from uuid import UUID

PREFIX_BYTES = 10
SECRET_BYTES = 32
_PREFIX = slice(3, 19)
MAX_TEXT_BYTES = 128
"""Longer header values aren't our keys and are not hashed."""


@attrs.frozen(repr=False)
class NewKey:
    """A new key: the text to show once, and its stored part."""

    text: str
    prefix: str
    secret_hash: bytes


@attrs.frozen
class ApiKey:
    """The facts about a key that the hot path needs.  Times are nanoseconds since 1970."""

    api_key_id: UUID
    tenant_id: UUID
    prefix: str
    rate_limit_per_minute: int
    secret_hashes: tuple[tuple[bytes, int | None], ...] = attrs.field(repr=False)
    """The hash of each valid secret, and when it expires; two during a rotation."""
    expires_at: int | None = None
    can_sync: bool = False
    """Whether it reads definitions and forwards decisions, like a daemon's."""
    id_text: str = attrs.field(init=False)
    """The id as written in records: formatting it costs more than the key lookup."""
    tenant_text: str = attrs.field(init=False)
    """The tenant's id as text too: comparing it is faster than comparing the id itself."""

    @id_text.default
    def _write_id(self) -> str:
        return str(self.api_key_id)

    @tenant_text.default
    def _write_tenant(self) -> str:
        return str(self.tenant_id)


def make_key(random: bytes, pepper: bytes) -> NewKey:
    """A key from random bytes.

    Args:
        random: ``PREFIX_BYTES + SECRET_BYTES`` bytes from the system's random generator.
        pepper: the key of the hash, which is not in the database.
    """
    if len(random) != PREFIX_BYTES + SECRET_BYTES:
        raise ValueError("a key is made from 42 random bytes")
    prefix = base64.b32encode(random[:PREFIX_BYTES]).decode().lower()
    secret = base64.b32encode(random[PREFIX_BYTES:]).decode().lower().rstrip("=")
    text = f"tg_{prefix}_{secret}"
    return NewKey(text, prefix, hash_key(text.encode(), pepper))


def hash_key(text: bytes, pepper: bytes) -> bytes:
    """The stored hash of a key: 32 bytes."""
    hashing = keyed_hash(pepper)
    hashing.update(text)
    return hashing.digest()


def keyed_hash(pepper: bytes) -> hashlib.blake2b:
    """A keyed hash with no input yet."""
    return hashlib.blake2b(digest_size=32, key=pepper)


def prefix_of(text: bytes) -> bytes:
    """The position of the public prefix in a key's text."""
    return text[_PREFIX]


class KeyRing:
    """Every key that is not revoked, by prefix; replaced as a whole when one changes."""

    def __init__(self, pepper: bytes) -> None:
        # Copying it per hash avoids hashing the block with the pepper.
        self._hash = keyed_hash(pepper)
        self._keys: dict[bytes, ApiKey] = {}
        self._proven: dict[bytes, tuple[ApiKey, int | None]] = {}
        """Texts verified since the last replacement, and until when they are valid: nearly every
        call uses one of them.  The time of this lookup reveals nothing about a secret: a text is
        compared only with one of the same 64-bit hash, which is keyed per process."""

    def replace(self, keys: Iterable[ApiKey]) -> None:
        """Replace all keys by these."""
        self._keys = {key.prefix.encode(): key for key in keys}
        self._proven = {}

    def find(self, text: bytes, now: int) -> ApiKey | None:
        """The key for a header value; None if no key is valid now.

        Args:
            text: the header's value as received.
            now: nanoseconds since 1970.
        """
        proven = self._proven.get(text)
        if proven is None:
            proven = self._prove(text)
            if proven is None:
                return None
        key, until = proven
        if until is not None and until <= now:
            return None
        return key

    def _prove(self, text: bytes) -> tuple[ApiKey, int | None] | None:
        """The key with a text, and until when the text is valid; None if no key has this text."""
        if len(text) > MAX_TEXT_BYTES:
            return None
        # Where our keys have the prefix; the hash covers the whole text.
        key = self._keys.get(text[_PREFIX])
        if key is None:
            return None
        hashing = self._hash.copy()
        hashing.update(text)
        digest = hashing.digest()
        for known, until in key.secret_hashes:
            if hmac.compare_digest(known, digest):
                ends = [end for end in (key.expires_at, until) if end is not None]
                # Each secret of a key is here at most once, so this has as many entries as there
                # are keys.
                proven = self._proven[text] = (key, min(ends, default=None))
                return proven
        return None

    def __len__(self) -> int:
        return len(self._keys)
