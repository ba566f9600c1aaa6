"""How large a regex tree becomes when compiled: the one measure of acceptance.

The estimate is an upper bound, taken over the forward and the reverse program,
of what the Rust crate counts against ``size_limit`` (regex 1.13).  A pattern
accepted here compiles there with these settings of ``RegexBuilder``, and the
native evaluator uses them:

- ``size_limit``: ``RUST_SIZE_LIMIT``;
- ``nest_limit``: ``RUST_NEST_LIMIT``, since each of our 64 levels of groups can be four
  of the crate's (group, alternation, concatenation, repetition);
- ``dfa_size_limit``: the crate's default of 2 MiB.
"""

from __future__ import annotations

from functools import lru_cache

from tidegate.language.regex.tree import (
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

RUST_SIZE_LIMIT = 4 * 1024 * 1024
RUST_NEST_LIMIT = 400

_STATE = 24
"""Bytes of one state of the crate's program."""
_EDGE = 8
"""Bytes of one edge out of a state with several."""
_GROUP = 2 * _STATE + 64
"""A group's two states and its slots and name."""


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
        return _STATE + _EDGE * len(ranges)
    sequences = [length for low, high in ranges for length in _sequences(low, high)]
    return _STATE + sum(_STATE * length + _EDGE for length in sequences)


_LENGTHS = ((0x7F, 1), (0x7FF, 2), (0xFFFF, 3), (0x10FFFF, 4))


def _sequences(low: int, high: int) -> list[int]:
    """Lengths of the byte-range sequences that spell a range in UTF-8 (at most)."""
    found: list[int] = []
    start = 0
    for last, length in _LENGTHS:
        first, final = max(low, start), min(high, last)
        if first <= final:
            found += [length] * _split(first, final, length)
        start = last + 1
    return found


def _split(first: int, last: int, length: int) -> int:
    """How many sequences of ``length`` byte ranges cover ``first`` to ``last``."""
    if length == 1 or first >> 6 == last >> 6:
        return 1
    count = 1
    if first & 0x3F:
        first = (first | 0x3F) + 1
        count += 1
    if last & 0x3F != 0x3F:
        last = (last & ~0x3F) - 1
        count += 1
    if first > last:
        return count - 1
    return count - 1 + _split(first >> 6, last >> 6, length - 1)
