"""Bloom filters, one per period, that say which idempotency keys may have been seen.

Nearly every key is new, and asking the database about each would cost more than the decision. The
filter's "never seen" is certain; "perhaps" needs a lookup.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rbloom import Bloom

CAPACITY = 1 << 20
"""Keys per generation in a service with few keys: 2 MiB."""
LARGE_CAPACITY = 1 << 25
"""Keys per generation in a service with more, which soon uses all of it: 64 MiB.

A growing filter would become many filters, and each is asked about every key.
"""
WRONG_SHARE = 0.0005
"""The share of new keys that are looked up in vain, per generation."""


class _Generation:
    __slots__ = ("capacity", "count", "keys", "newest", "oldest")

    def __init__(self, capacity: int) -> None:
        self.keys = Bloom(capacity, WRONG_SHARE)
        self.capacity = capacity
        self.count = 0
        self.oldest = self.newest = 0


class KeyFilter:
    """Hashes seen within a period.

    Args:
        kept: nanoseconds after which a hash may be forgotten.
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._generations = [_Generation(CAPACITY)]

    def add(self, keys: Collection[bytes], now: int) -> None:
        """Remember hashes, seen at ``now`` (nanoseconds since 1970)."""
        generation = self._generations[-1]
        if generation.count >= generation.capacity:
            generation = self._follow(generation, now)
        generation.keys.update(keys)
        if not generation.count:
            generation.oldest = now
        generation.count += len(keys)
        if now > generation.newest:
            generation.newest = now

    def add_new(self, keys: Sequence[bytes], now: int) -> set[int]:
        """Remember the hashes that were certainly never added.

        Returns:
            The indexes of the others: hashes that were perhaps added within the period, or that
            occur twice here.
        """
        others: set[int] = set()
        for generation in self._generations:
            seen = generation.keys
            others.update([place for place, key in enumerate(keys) if key in seen])
        new = set(keys)
        if others or len(new) < len(keys):
            new = set()
            for place, key in enumerate(keys):
                if key in new:
                    others.add(place)
                elif place not in others:
                    new.add(key)
        if new:
            self.add(new, now)
        return others

    def _follow(self, last: _Generation, now: int) -> _Generation:
        self._generations = [
            generation for generation in self._generations if generation.newest > now - self._kept
        ]
        is_busy = now - last.oldest < self._kept
        made = _Generation(LARGE_CAPACITY if is_busy else CAPACITY)
        self._generations.append(made)
        return made
