"""The work of a pattern per character of any subject.

The native evaluator runs a pattern as an automaton over its positions, the places that
read a character, 64 of them in a word (``rust/regex/src/machine.rs``). This counts
what one step of it does, in units of about a fifth of a nanosecond:

- which positions may follow which is kept as pairs, by their distance: many copies of a
  counted part share them. A distance costs 4 for each word it leads from and to, or, where
  that is less, 28 and 2 for each word from the first it leads to up to the last;
- where more than 16 pairs arise at once they stay a product, which costs 8 and 3 for each
  word on either side of it;
- each word of all positions costs 2, and a step costs 80 by itself.
"""

from __future__ import annotations

from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

import attrs

from tidegate.regex.tree import (
    Alternation,
    Assertion,
    Characters,
    Concatenation,
    Empty,
    Group,
    Position,
    RegexNode,
    Repetition,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_STEP = 80
_WORD = 2
_PIECE = 4
_SHIFT, _SHIFT_WORD = 28, 2
_PRODUCT, _PRODUCT_WORD = 8, 3
_MOST_PAIRS = 16
_ENOUGH = 10_000
"""Beyond this bound the exact number does not matter."""

_Needs: TypeAlias = frozenset[Position]
_Ends: TypeAlias = dict[_Needs, int]
"""Sets of positions as bits, by the assertions that must hold there."""
_FREE: _Needs = frozenset()


def step_work(root: RegexNode) -> int:
    """The units of one step; beyond ten thousand, any larger number."""
    builder = _Builder()
    try:
        builder.part(root)
        return builder.total()
    except _EnoughError:
        return _ENOUGH


class _EnoughError(Exception):
    """The work exceeds every bound."""


@attrs.frozen
class _Part:
    """The positions that may come first and last in a part, and the assertions under which it may
    be empty."""

    first: _Ends
    last: _Ends
    empty: frozenset[_Needs] = frozenset()


_NOTHING = _Part({}, {}, frozenset({_FREE}))


class _Builder:
    """The positions of a pattern (Glushkov, 1961), counted but not stored."""

    def __init__(self) -> None:
        self._positions = 0
        self._products = 0
        self._near: dict[tuple[_Needs, int], int] = {}

    def total(self) -> int:
        words = -(-self._positions // 64)
        near = sum(_near_work(distance, to) for (_, distance), to in self._near.items())
        return _STEP + _WORD * words + self._products + near

    def part(self, node: RegexNode) -> _Part:
        match node:
            case Empty():
                return _NOTHING
            case Assertion(position=position):
                return _Part({}, {}, frozenset({frozenset({position})}))
            case Characters():
                return self._run(1, 1)
            case Group(item=item):
                return self.part(item)
            case Concatenation(items=items):
                return reduce(self._join, map(self._grouped, _runs(items)))
            case Alternation(items=items):
                parts = [self.part(item) for item in items]
                return _Part(
                    _united((part.first, _FREE) for part in parts),
                    _united((part.last, _FREE) for part in parts),
                    _least(needs for part in parts for needs in part.empty),
                )
            case Repetition():
                return self._repetition(node)

    def _grouped(self, items: list[RegexNode]) -> _Part:
        return self.part(items[0]) if len(items) == 1 else self._run(len(items), len(items))

    def _run(self, length: int, least: int) -> _Part:
        """A run of ``length`` characters, of which the last may be omitted as long as ``least``
        remain."""
        first = 1 << self._positions
        every = ((1 << length) - 1) << self._positions
        self._positions += length
        if self._positions > 64 * _ENOUGH // _WORD:
            raise _EnoughError
        if length > 1:
            self._near[_FREE, 1] = self._near.get((_FREE, 1), 0) | every ^ first
        kept = max(1, least) - 1
        last = {_FREE: every >> self._positions - length + kept << self._positions - length + kept}
        return _Part({_FREE: first}, last, _NOTHING.empty if least == 0 else frozenset())

    def _join(self, before: _Part, after: _Part) -> _Part:
        self._follow(before.last, after.first)
        return _Part(
            _united([(before.first, _FREE), *((after.first, needs) for needs in before.empty)]),
            _united([(after.last, _FREE), *((before.last, needs) for needs in after.empty)]),
            _least(one | other for one in before.empty for other in after.empty),
        )

    def _repetition(self, node: Repetition) -> _Part:
        """The copies of a repeated part.

        Copies of a part that may be empty are chained like copies that may be omitted.
        """
        copies = max(1, node.minimum) if node.maximum is None else node.maximum
        if isinstance(node.item, Characters) and node.maximum:
            return self._run(copies, node.minimum)
        needed, further = _NOTHING, _Part({}, {}, _NOTHING.empty)
        before: _Ends = {}
        for number in range(copies):
            part = self.part(node.item)
            if node.maximum is None and number == copies - 1:
                self._follow(part.last, part.first)
            if number < node.minimum and _FREE not in part.empty:
                needed = self._join(needed, part)
                continue
            self._follow(before, part.first)
            first = further.first or part.first
            last = _united([(further.last, _FREE), (part.last, _FREE)])
            further, before = _Part(first, last, _NOTHING.empty), part.last
        return self._join(needed, further)

    def _follow(self, before: _Ends, after: _Ends) -> None:
        for needs_before, sources in before.items():
            for needs_after, targets in after.items():
                self._pair(needs_before | needs_after, sources, targets)

    def _pair(self, needs: _Needs, sources: int, targets: int) -> None:
        if sources.bit_count() * targets.bit_count() > _MOST_PAIRS:
            self._products += _PRODUCT + _PRODUCT_WORD * (_words(sources) + _words(targets))
            if self._products > _ENOUGH:
                raise _EnoughError
            return
        for source in _bits(sources):
            for target in _bits(targets):
                key = needs, target - source
                self._near[key] = self._near.get(key, 0) | 1 << target


def _runs(items: tuple[RegexNode, ...]) -> Iterator[list[RegexNode]]:
    """The items, with consecutive characters grouped."""
    for are_characters, run in groupby(items, lambda item: isinstance(item, Characters)):
        if are_characters:
            yield list(run)
        else:
            yield from ([item] for item in run)


def _near_work(distance: int, targets: int) -> int:
    first, last = _lowest(targets) // 64, (targets.bit_length() - 1) // 64
    # In each word the low bits come from the previous word, the others from the same word.
    early = (1 << distance % 64) - 1
    all_early = sum(early << 64 * word for word in range(first, last + 1))
    pieces = _words(targets & all_early) + _words(targets & ~all_early)
    return min(_PIECE * pieces, _SHIFT + _SHIFT_WORD * (last - first + 1))


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _bits(bits: int) -> Iterator[int]:
    base = _lowest(bits) if bits else 0
    bits >>= base
    while bits:
        step = _lowest(bits)
        base += step
        yield base
        bits >>= step + 1
        base += 1


def _words(bits: int) -> int:
    """How many words of 64 have a bit."""
    whole = bits.to_bytes(-(-bits.bit_length() // 64) * 8, "little")
    return sum(any(whole[at : at + 8]) for at in range(0, len(whole), 8))


def _united(parts: Iterable[tuple[_Ends, _Needs]]) -> _Ends:
    united: _Ends = {}
    for ends, more in parts:
        for needs, positions in ends.items():
            united[needs | more] = united.get(needs | more, 0) | positions
    return united


def _least(every: Iterable[_Needs]) -> frozenset[_Needs]:
    """The sets, without those that contain another set."""
    found = set(every)
    return frozenset(one for one in found if not any(other < one for other in found))
