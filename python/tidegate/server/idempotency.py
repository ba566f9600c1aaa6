"""One effect a key: which answer an idempotency key already has.

A key is unique for a tenant and an endpoint for 24 hours.  A key is first looked for among the
decisions that are under way or not yet indexed, then in a filter that knows what was never
seen, and only then in the database.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

import attrs

from tidegate.server.key_filter import KeyFilter

KEPT = 24 * 3600 * 1_000_000_000
"""Nanoseconds a key is remembered."""
MAX_KEY_LENGTH = 255


@attrs.frozen
class Recorded:
    """The first answer a key has, and the fingerprint of the body it was given to."""

    fingerprint: bytes
    answer: bytes


class _Running:
    """A decision that is under way, or not yet indexed."""

    __slots__ = ("answer", "ended", "fingerprint")

    def __init__(self, fingerprint: bytes) -> None:
        self.fingerprint = fingerprint
        self.answer: bytes | None = None
        self.ended: asyncio.Future[bytes | None] | None = None
        """There when somebody waits for the end."""


class IdempotencyKeys:
    """The keys of all tenants.

    Args:
        hash_key: the key of the hashes that stand for idempotency keys, so that stored ones tell
            nothing of the texts.
        look_up: finds a hash in the database; called on a worker thread.
    """

    def __init__(self, hash_key: bytes, look_up: Callable[[bytes], Recorded | None]) -> None:
        self.hash_key = hash_key
        self._look_up = look_up
        self._running: dict[bytes, _Running] = {}
        self._finished: deque[tuple[int, bytes]] = deque()
        self._filter: KeyFilter | None = None

    def use(self, known: KeyFilter, now: int) -> None:
        """Ask this filter first, from now on; until then every key is looked up."""
        for key in self._running:
            known.add(key, now)
        self._filter = known

    def is_new(self, key: bytes) -> bool:
        """Whether a key was certainly never seen; on the event loop, without waiting."""
        return (
            key not in self._running and self._filter is not None and not self._filter.may_have(key)
        )

    def is_running(self, key: bytes) -> bool:
        """Whether a decision under this key is under way, or not yet indexed."""
        return key in self._running

    async def find(self, key: bytes) -> Recorded | None:
        """The answer of a key, waited for when its decision is under way."""
        running = self._running.get(key)
        if running is None:
            return await asyncio.to_thread(self._look_up, key)
        answer = running.answer
        if answer is None:
            if running.ended is None:
                running.ended = asyncio.get_running_loop().create_future()
            answer = await asyncio.shield(running.ended)
        return None if answer is None else Recorded(running.fingerprint, answer)

    def begin(self, key: bytes, fingerprint: bytes, now: int) -> None:
        """A decision under this key is under way."""
        self._running[key] = _Running(fingerprint)
        if self._filter is not None:
            self._filter.add(key, now)

    def finish(self, key: bytes, answer: bytes | None, seq: int) -> None:
        """Its decision has ended.

        Args:
            key: the hash.
            answer: what was sent and is durable; None: nothing was decided, and the key is
                free again.
            seq: number of the last decision that is made; the key's own is not later.
        """
        running = self._running.get(key)
        if running is None:
            return
        running.answer = answer
        if running.ended is not None and not running.ended.done():
            running.ended.set_result(answer)
        if answer is None:
            del self._running[key]
        else:
            self._finished.append((seq, key))

    def forget(self, indexed_seq: int) -> None:
        """Let go of keys that the database now answers for: decisions up to this number."""
        while self._finished and self._finished[0][0] <= indexed_seq:
            self._running.pop(self._finished.popleft()[1], None)
