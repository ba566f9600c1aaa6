"""Messages from a service to daemons, and how each side checks them (docs/hybrid.md).

Every answer is one JSON document that ends with ``"end":true``, with an Ed25519 signature (RFC
8032) in a header. Changes are chained: the hash after an item covers the hash before it and the
item's bytes, so nothing can be left out, repeated or moved unnoticed.
"""

from __future__ import annotations

import hashlib
from uuid import UUID

import msgspec

VERSION = 1
SIGNATURE = "x-tidegate-signature"
HASH_BYTES = 32
MAX_SNAPSHOT_BYTES = 64 * 1024 * 1024
"""Bytes of an uncompressed answer.

100,000 mitigations take some 11 MB, as many addresses 3.
"""
MAX_EVENTS = 200
"""Decisions in one forwarded batch."""
_SIGNED = b"tidegate-sync-v1\0"


def signed(body: bytes) -> bytes:
    """Return the bytes that an answer's signature covers."""
    return _SIGNED + body


def chained(before: bytes, item: bytes) -> bytes:
    """Return the hash after an item, 32 bytes.

    Args:
        before: the hash before it.
        item: its bytes, as they are sent.
    """
    return hashlib.blake2b(before + item, digest_size=HASH_BYTES).digest()


class Secrets(msgspec.Struct, forbid_unknown_fields=True):
    """The tenant's keys that its daemons need, in hexadecimal."""

    redaction: str
    proofs: str
    sealing: str


class Snapshot(msgspec.Struct, forbid_unknown_fields=True):
    """Everything that a daemon needs to decide."""

    version: int
    tenant_id: UUID
    sequence: int
    hash: str
    created_at: int
    """Nanoseconds since 1970, by the clock of the service."""
    public_key: str
    """The Ed25519 key that verifies this answer, in hexadecimal."""
    base_url: str
    """The URL that browsers reach the service by."""
    secrets: Secrets
    revision: int
    document: msgspec.Raw
    """The definitions document of this revision."""
    effects: msgspec.Raw
    """The active mitigations, as effects (docs/decision.md)."""
    end: bool


class Changes(msgspec.Struct, forbid_unknown_fields=True):
    """Changes after a number."""

    version: int
    tenant_id: UUID
    after: int
    previous_hash: str
    items: list[msgspec.Raw]
    sequence: int
    hash: str
    created_at: int
    end: bool


class DefinitionsItem(msgspec.Struct, tag_field="kind", tag="definitions"):
    """A change that activated definitions."""

    number: int
    revision: int
    document: msgspec.Raw


class MitigationsItem(msgspec.Struct, tag_field="kind", tag="mitigations"):
    """A change that set or lifted mitigations."""

    number: int
    effects: msgspec.Raw


class Ack(msgspec.Struct, forbid_unknown_fields=True):
    """A daemon's report of itself."""

    daemon_id: UUID
    name: str
    version: str
    mode: str
    sequence: int
    hash: str
    revision: int
    spooled: int = 0
    dropped: int = 0
