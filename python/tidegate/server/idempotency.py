"""One effect a key: which answer an idempotency key already has.

A key is unique for a tenant and an endpoint for 24 hours.  A key is first looked for among the
decisions that are under way or not yet indexed, then in a filter that knows what was never
seen, and only then in the database.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from tidegate.server.key_filter import KeyFilter

if TYPE_CHECKING:
    from uuid import UUID

KEPT = 24 * 3600 * 1_000_000_000
"""Nanoseconds a key is remembered."""
MAX_KEY_LENGTH = 255


@attrs.frozen
class Recorded:
    """The first answer a key has, and the fingerprint of the body it was given to."""

    fingerprint: bytes
    answer: bytes


@attrs.define
class _Running:
    fingerprint: bytes
    done: asyncio.Future[bytes | None]
    sequence: int | None = None


class IdempotencyKeys:
    """The keys of all tenants.

    Args:
        hash_key: the key of the hashes, so that stored ones tell nothing of the texts.
        look_up: finds a hash in the database; called on a worker thread.
    """

    def __init__(self, hash_key: bytes, look_up: Callable[[bytes], Recorded | None]) -> None:
        self._hash_key = hash_key
        self._look_up = look_up
        self._running: dict[bytes, _Running] = {}
        self.filter: KeyFilter | None = None
        """None until it has been filled; then every key is looked up."""

    def identify(self, tenant_id: UUID, endpoint: bytes, key: str) -> bytes:
        """16 bytes that stand for a key of a tenant and an endpoint."""
        text = tenant_id.bytes + endpoint + b"\0" + key.encode()
        return hashlib.blake2b(text, digest_size=16, key=self._hash_key).digest()

    def fingerprint(self, body: bytes) -> bytes:
        """16 bytes that stand for a body."""
        return hashlib.blake2b(body, digest_size=16, key=self._hash_key).digest()

    def is_new(self, key: bytes) -> bool:
        """Whether a key was certainly never seen; on the event loop, without waiting."""
        return (
            key not in self._running and self.filter is not None and not self.filter.may_have(key)
        )

    def is_running(self, key: bytes) -> bool:
        """Whether a decision under this key is under way, or not yet indexed."""
        return key in self._running

    async def find(self, key: bytes) -> Recorded | None:
        """The answer of a key, waited for when its decision is under way."""
        running = self._running.get(key)
        if running is not None:
            answer = await asyncio.shield(running.done)
            return None if answer is None else Recorded(running.fingerprint, answer)
        return await asyncio.to_thread(self._look_up, key)

    def begin(self, key: bytes, fingerprint: bytes, now: int) -> None:
        """A decision under this key is under way."""
        done = asyncio.get_running_loop().create_future()
        self._running[key] = _Running(fingerprint, done)
        if self.filter is not None:
            self.filter.add(key, now)

    def finish(self, key: bytes, answer: bytes | None) -> None:
        """Its answer is durable; or None: it was not decided, and the key is free again."""
        running = self._running.get(key)
        if running is None:
            return
        if not running.done.done():
            running.done.set_result(answer)
        if answer is None:
            del self._running[key]

    def indexed(self, keys: list[bytes]) -> None:
        """The database now answers for these."""
        for key in keys:
            self._running.pop(key, None)
