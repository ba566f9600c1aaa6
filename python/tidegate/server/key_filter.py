"""Which idempotency keys may have been seen: Bloom filters that follow each other in time.

Nearly every key is new, and asking the database about each would cost more than the decision.
The filter answers "never seen" for certain; "perhaps" is then looked up.
"""

from __future__ import annotations

from rbloom import Bloom

CAPACITY = 1 << 20
"""Keys a generation takes: 1.8 MiB."""
WRONG_SHARE = 0.001
"""Of new keys this many are looked up in vain, for each generation."""


class _Generation:
    __slots__ = ("count", "keys", "newest")

    def __init__(self) -> None:
        self.keys = Bloom(CAPACITY, WRONG_SHARE)
        self.count = 0
        self.newest = 0


class KeyFilter:
    """Hashes seen within a time.

    Args:
        kept: nanoseconds after which a hash may be forgotten.
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._generations = [_Generation()]

    def add(self, key: bytes, now: int) -> None:
        """Remember a hash, seen at ``now`` (nanoseconds since 1970)."""
        generation = self._generations[-1]
        if generation.count >= CAPACITY:
            self._forget(now)
            generation = _Generation()
            self._generations.append(generation)
        generation.keys.add(key)
        generation.count += 1
        if now > generation.newest:
            generation.newest = now

    def may_have(self, key: bytes) -> bool:
        """False when the hash has certainly not been added within the time."""
        return any(key in generation.keys for generation in self._generations)

    def _forget(self, now: int) -> None:
        self._generations = [
            generation for generation in self._generations if generation.newest > now - self._kept
        ]
