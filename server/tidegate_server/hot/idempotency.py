"""Idempotency keys and the answers they already have: each key takes effect once.

A key is unique for a tenant and an endpoint for 24 hours. A key is searched first among decisions
that are running or not yet indexed, then in a filter that knows which keys were never seen, and
only then in the database.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

import attrs

from tidegate_server.hot.seen_keys import KeyFilter

KEPT = 24 * 3600 * 1_000_000_000
"""How long a key is remembered, in nanoseconds."""
GENERATION = 4_096
"""Keys that are dropped together: dropping one by one would cost as much as remembering them."""


@attrs.frozen
class Recorded:
    """The first answer of a key, and the fingerprint of the body that it answered."""

    fingerprint: bytes
    answer: bytes


class Running:
    """Decisions made together under their own keys, until they are indexed."""

    __slots__ = ("answers", "ended", "fingerprints", "generation", "keys")

    def __init__(
        self, keys: Sequence[bytes], fingerprints: Sequence[bytes], generation: _Generation
    ) -> None:
        self.keys = keys
        self.fingerprints = fingerprints
        self.generation = generation
        self.answers: Sequence[bytes | None] | None = None
        """The answer for each key, once the decisions have ended; None if nothing was decided."""
        self.ended: asyncio.Future[None] | None = None
        """Exists while somebody waits for the end."""

    def end(self, answers: Sequence[bytes | None]) -> None:
        """Wake the waiting calls."""
        self.answers = answers
        if self.ended is not None and not self.ended.done():
            self.ended.set_result(None)

    def find(self, key: bytes) -> Recorded | None:
        """Return the answer for a key, after the end."""
        place = self.keys.index(key)
        answer = None if self.answers is None else self.answers[place]
        return None if answer is None else Recorded(self.fingerprints[place], answer)


class _Generation:
    """Keys started one after another."""

    __slots__ = ("last_seq", "running", "under_way")

    def __init__(self) -> None:
        self.running: dict[bytes, Running] = {}
        self.under_way = 0
        """How many of its decisions have not ended."""
        self.last_seq = 0
        """An upper bound of the numbers of its ended decisions."""


class IdempotencyKeys:
    """The keys of all tenants.

    Args:
        hash_key: the key to hash idempotency keys with, so that stored hashes reveal nothing of the
            texts.
        look_up: finds a hash in the database; called on a worker thread.
    """

    def __init__(self, hash_key: bytes, look_up: Callable[[bytes], Recorded | None]) -> None:
        self.hash_key = hash_key
        self._look_up = look_up
        self._generations = deque([_Generation()])
        self._filter: KeyFilter | None = None
        self._absent: set[bytes] = set()
        """Keys that were looked up and not found since keys were last forgotten."""
        self._forgotten = 0
        """How often keys were dropped. A lookup that began before that may have missed them."""

    def use(self, known: KeyFilter, now: int) -> None:
        """Ask this filter first, from now on; until then every key is looked up."""
        for generation in self._generations:
            known.add(generation.running, now)
        self._filter = known

    def take(self, keys: Sequence[bytes], now: int) -> set[int]:
        """Take the keys that were certainly never seen, and remember them as seen.

        Runs on the event loop, without waiting.

        Returns:
            The indexes of all other keys, including keys that were taken and not started.
        """
        if self._filter is None:
            return set(range(len(keys)))
        return self._filter.add_new(keys, now)

    def take_again(self, keys: Sequence[bytes], now: int) -> set[int]:
        """Take keys that were looked up and not found, without waiting, like :meth:`take`.

        Returns:
            The indexes of keys that other calls have taken since, or that need another lookup.
        """
        others, taken = set(), []
        for place, key in enumerate(keys):
            if key not in self._absent or self.is_running(key):
                others.add(place)
            else:
                taken.append(key)
            self._absent.discard(key)
        if self._filter is not None:
            # It may be newer than the lookup, and would answer that the key was never seen.
            self._filter.add(taken, now)
        return others

    def is_running(self, key: bytes) -> bool:
        """Tell whether a decision under this key is running, or not yet indexed."""
        return self._find(key) is not None

    async def find(self, key: bytes) -> Recorded | None:
        """Return the answer of a key, after waiting for its decision if that is running."""
        running, forgotten = self._find(key), self._forgotten
        if running is None:
            found = await asyncio.to_thread(self._look_up, key)
        else:
            if running.answers is None:
                if running.ended is None:
                    running.ended = asyncio.get_running_loop().create_future()
                await asyncio.shield(running.ended)
            found = running.find(key)
        if found is None and forgotten == self._forgotten:
            self._absent.add(key)
        return found

    def begin(self, keys: Sequence[bytes], fingerprints: Sequence[bytes]) -> Running:
        """Mark keys as running that were taken, or looked up and not found.

        Args:
            keys: the hashes, each once.
            fingerprints: of the bodies, in the same order.
        """
        generation = self._generations[-1]
        if len(generation.running) >= GENERATION:
            generation = _Generation()
            self._generations.append(generation)
        running = Running(keys, fingerprints, generation)
        generation.running.update(dict.fromkeys(keys, running))
        generation.under_way += 1
        return running

    def finish(self, running: Running, answers: Sequence[bytes | None], seq: int) -> None:
        """Record the end of these decisions.

        Args:
            running: the result of :meth:`begin`.
            answers: for each key the durable answer that was sent; None if nothing was decided,
            which frees the key.
            seq: number of the last decision made; theirs are not later.
        """
        generation = running.generation
        for key, answer in zip(running.keys, answers, strict=True):
            if answer is None:
                del generation.running[key]
        running.end(answers)
        generation.under_way -= 1
        generation.last_seq = max(generation.last_seq, seq)

    def forget(self, indexed_seq: int) -> None:
        """Drop the keys that the database now has: those of decisions up to this number.

        Drops nothing while the filter is being filled: it may have read the database before they
        were in it, and :meth:`use` adds the keys held here.
        """
        if self._filter is None:
            return
        self._forgotten += 1
        self._absent.clear()
        generations = self._generations
        while not generations[0].under_way and generations[0].last_seq <= indexed_seq:
            # Emptied, since its contents refer to it.
            generations[0].running.clear()
            if len(generations) == 1:
                return
            generations.popleft()

    def _find(self, key: bytes) -> Running | None:
        for generation in self._generations:
            running = generation.running.get(key)
            if running is not None:
                return running
        return None
