"""API keys: their text, the hash that is kept, and the ring in which the hot path finds them.

A key reads ``tg_PREFIX_SECRET``.  The prefix is public and finds the record; of the secret
only a keyed BLAKE2b hash (RFC 7693) is kept.  The secret has 256 random bits, so a slow
password hash would protect nothing.
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
"""Longer header values are not keys of ours and are not hashed."""


@attrs.frozen(repr=False)
class NewKey:
    """A key that was just made: the text to show once, and what is kept of it."""

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
    """The hash of each secret that counts, and when it ends to; two while a key is rotated."""
    expires_at: int | None = None
    can_sync: bool = False
    """Whether it reads definitions and forwards decisions, as daemons do."""
    id_text: str = attrs.field(init=False)
    """The id as it stands in records: writing it out costs more than the look-up of the key."""
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
        random: ``PREFIX_BYTES + SECRET_BYTES`` bytes from the system's generator.
        pepper: the key of the hash, which the database does not hold.
    """
    if len(random) != PREFIX_BYTES + SECRET_BYTES:
        raise ValueError("a key is made from 42 random bytes")
    prefix = base64.b32encode(random[:PREFIX_BYTES]).decode().lower()
    secret = base64.b32encode(random[PREFIX_BYTES:]).decode().lower().rstrip("=")
    text = f"tg_{prefix}_{secret}"
    return NewKey(text, prefix, hash_key(text.encode(), pepper))


def hash_key(text: bytes, pepper: bytes) -> bytes:
    """The hash a key is kept as: 32 bytes."""
    hashing = keyed_hash(pepper)
    hashing.update(text)
    return hashing.digest()


def keyed_hash(pepper: bytes) -> hashlib.blake2b:
    """A hash that has taken no text yet."""
    return hashlib.blake2b(digest_size=32, key=pepper)


def prefix_of(text: bytes) -> bytes:
    """Where the public prefix stands in the text of a key."""
    return text[_PREFIX]


class KeyRing:
    """Every key that is not revoked, by its prefix; swapped whole when one changes."""

    def __init__(self, pepper: bytes) -> None:
        # A copy for each hash spares hashing the block with the pepper.
        self._hash = keyed_hash(pepper)
        self._keys: dict[bytes, ApiKey] = {}
        self._proven: dict[bytes, tuple[ApiKey, int | None]] = {}
        """Texts whose hash was compared since the last swap, and until when they count: nearly
        every call brings one of them.  How long a look into this takes tells nothing of a secret:
        a text is compared only with one of the same 64-bit hash, which is keyed by the process."""

    def replace(self, keys: Iterable[ApiKey]) -> None:
        """Replace all keys by these."""
        self._keys = {key.prefix.encode(): key for key in keys}
        self._proven = {}

    def find(self, text: bytes, now: int) -> ApiKey | None:
        """The key of a header value, or None when there is none that counts now.

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
        """The key of a text, and until when the text counts; None when no key has this text."""
        if len(text) > MAX_TEXT_BYTES:
            return None
        # Where a prefix stands in our keys; the hash is of the whole text.
        key = self._keys.get(text[_PREFIX])
        if key is None:
            return None
        hashing = self._hash.copy()
        hashing.update(text)
        digest = hashing.digest()
        for known, until in key.secret_hashes:
            if hmac.compare_digest(known, digest):
                ends = [end for end in (key.expires_at, until) if end is not None]
                # Each secret of a key is here once at most: as many as there are keys.
                proven = self._proven[text] = (key, min(ends, default=None))
                return proven
        return None

    def __len__(self) -> int:
        return len(self._keys)
