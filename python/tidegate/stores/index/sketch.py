"""Estimates the number of different values seen, in 256 bytes: HyperLogLog.

Flajolet, Fusy, Gandouet, Meunier, "HyperLogLog: the analysis of a near-optimal cardinality
estimation algorithm", 2007, with its correction for small numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

REGISTERS = 256
"""The typical error is 1.04 / sqrt(256), which is 6.5 %."""
EMPTY = bytes(REGISTERS)
_BITS = 8
_ALPHA = 0.7213 / (1 + 1.079 / REGISTERS)


def add(registers: bytes, hashes: Iterable[int]) -> bytes:
    """The registers after more values.

    Args:
        registers: 256 of them.
        hashes: 64 well mixed bits of each value.
    """
    changed = bytearray(registers)
    for value in hashes:
        place = value & (REGISTERS - 1)
        rank = 64 - _BITS - (value >> _BITS).bit_length() + 1
        if rank > changed[place]:
            changed[place] = rank
    return bytes(changed)


def estimate(registers: bytes) -> int:
    """An estimate of the number of different values."""
    raw = _ALPHA * REGISTERS**2 / sum(2.0**-rank for rank in registers)
    empty = registers.count(0)
    if raw <= 2.5 * REGISTERS and empty:
        return round(REGISTERS * math.log(REGISTERS / empty))
    return round(raw)
