"""The size of a compiled regex tree: one measure for accepting a pattern.

The estimate follows the size of a byte automaton (the Rust crate ``regex`` 1.13 with its
``size_limit``, the larger of its forward and reverse programs: measured over some 60,000 patterns
it is at least 0.95 of that wherever it exceeds 64 KiB). It limits the time and memory for
compiling; ``work.py`` limits how long a match takes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from tidegate.regex.tree import (
    Alternation,
    Assertion,
    Characters,
    Concatenation,
    Empty,
    Group,
    Ranges,
    RegexNode,
    Repetition,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_STATE = 32
"""Bytes of one state of the crate's program."""
_EDGE = 8
"""Bytes of one edge out of a state with several."""
_GROUP = 2 * _STATE + 64
"""A group's two states with its slots and name."""


def program_size(root: RegexNode) -> int:
    """The estimate in bytes for a whole pattern."""
    return 10 * _STATE + _size(root)


def _size(node: RegexNode) -> int:
    match node:
        case Empty() | Assertion():
            return _STATE
        case Characters(ranges=ranges):
            return _class_size(ranges)
        case Group(item=item):
            return _GROUP + _size(item)
        case Repetition():
            return _repetition_size(node)
        case Concatenation(items=items):
            return sum(map(_size, items))
        case Alternation(items=items):
            return 2 * _STATE + sum(_size(item) + _EDGE for item in items)


def _repetition_size(node: Repetition) -> int:
    item = _size(node.item)
    alternative = 2 * _STATE + 2 * _EDGE
    if node.maximum is None:
        return max(1, node.minimum) * item + 2 * alternative
    optional = node.maximum - node.minimum
    return node.maximum * item + optional * alternative + _STATE


@lru_cache(maxsize=1024)
def _class_size(ranges: Ranges) -> int:
    if not ranges or ranges[-1][1] < 0x80:
        return 2 * _STATE + _EDGE * len(ranges)
    sequences = [sequence for low, high in ranges for sequence in _utf8_sequences(low, high)]
    prefixes = {sequence[:end] for sequence in sequences for end in range(len(sequence))}
    suffixes = {sequence[end:] for sequence in sequences for end in range(1, len(sequence) + 1)}
    shared = _STATE * max(len(prefixes), len(suffixes)) + _EDGE * len(sequences)
    return 2 * _STATE + shared * 4 // 3


_LENGTH_BOUNDS = (0x7F, 0x7FF, 0xFFFF, 0x10FFFF)
_Sequence: TypeAlias = tuple[tuple[int, int], ...]


def _utf8_sequences(low: int, high: int) -> Iterator[_Sequence]:
    """The sequences of byte ranges that encode the code points from ``low`` to ``high`` in UTF-8.

    The algorithm is that of RE2's ``compile.cc``.
    """
    stack = [(low, high)]
    while stack:
        low, high = stack.pop()
        split = _split(low, high)
        if split is None:
            yield tuple(zip(chr(low).encode(), chr(high).encode(), strict=True))
        else:
            stack += [(split + 1, high), (low, split)]


def _split(low: int, high: int) -> int | None:
    """Where to divide a range that is not yet one sequence: the last of the first part."""
    for bound in _LENGTH_BOUNDS:
        if low <= bound < high:
            return bound
    for bits in (6, 12, 18):
        mask = (1 << bits) - 1
        if high > 0x7F and low & ~mask != high & ~mask:
            if low & mask:
                return low | mask
            if high & mask != mask:
                return (high & ~mask) - 1
    return None
