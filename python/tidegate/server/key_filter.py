"""Which idempotency keys may have been seen: a Bloom filter that grows and forgets.

Nearly every key is new, and asking the database about each would cost more than the decision.
The filter answers "never seen" for certain; "perhaps" is then looked up.  Bloom, Space/time
trade-offs in hash coding with allowable errors, CACM 13(7), 1970; the k positions come from two
halves of one hash (Kirsch and Mitzenmacher, 2006).
"""

from __future__ import annotations

CAPACITY = 1 << 20
"""Keys a generation takes: 2 MiB of 16 bits a key, wrong for about one key in 1,500."""
_BITS = CAPACITY * 16
_MASK = _BITS - 1
_PROBES = 6


class _Generation:
    __slots__ = ("bits", "count", "newest")

    def __init__(self) -> None:
        self.bits = bytearray(_BITS // 8)
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
        """Remember a hash of at least 16 bytes."""
        generation = self._generations[-1]
        if generation.count >= CAPACITY:
            self._forget(now)
            generation = _Generation()
            self._generations.append(generation)
        bits = generation.bits
        at = int.from_bytes(key[:8], "little")
        step = int.from_bytes(key[8:16], "little") | 1
        for _ in range(_PROBES):
            at &= _MASK
            bits[at >> 3] |= 1 << (at & 7)
            at += step
        generation.count += 1
        generation.newest = max(generation.newest, now)

    def may_have(self, key: bytes) -> bool:
        """False when the hash has certainly not been added within the time."""
        start = int.from_bytes(key[:8], "little")
        step = int.from_bytes(key[8:16], "little") | 1
        for generation in self._generations:
            bits = generation.bits
            at = start
            for _ in range(_PROBES):
                at &= _MASK
                if not bits[at >> 3] & (1 << (at & 7)):
                    break
                at += step
            else:
                return True
        return False

    def _forget(self, now: int) -> None:
        self._generations = [
            generation for generation in self._generations if generation.newest > now - self._kept
        ]
