"""Matches a regex tree in linear time: the reference's own automaton.

The tree becomes a Thompson program (Thompson, "Regular Expression Search
Algorithm", 1968) that runs on a Pike machine (Cox, "Regular Expression Matching:
the Virtual Machine Approach", 2009): all alternatives advance over the subject
together, in order of preference, so the work is at most the length of the program
times the length of the subject.  The first alternative in that order wins
(leftmost-first, as in Perl, RE2 and Rust).
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import attrs

from tidegate.limits import REGEX_SUBJECT_BYTES
from tidegate.regex import (
    Alternation,
    Assertion,
    Characters,
    Concatenation,
    Empty,
    Group,
    Position,
    Ranges,
    Regex,
    RegexNode,
    Repetition,
    parse,
    sets,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

Span: TypeAlias = tuple[int, int]


@attrs.frozen
class Match:
    """The place of a match: the whole match in ``span``, then each group.

    A group that took no part is ``None``.  Offsets count characters.
    """

    span: Span
    groups: tuple[Span | None, ...]


def clip(subject: str, limit: int = REGEX_SUBJECT_BYTES) -> str:
    """The part of ``subject`` that a match may read.

    It has at most ``limit`` bytes of UTF-8, cut between characters.
    """
    if len(subject) * 4 <= limit:
        return subject
    return subject.encode()[:limit].decode(errors="ignore")


@lru_cache(maxsize=256)
def automaton(pattern: str) -> Automaton:
    """The automaton for an accepted pattern.

    Raises:
        RegexError: the pattern is outside the subset.
    """
    return Automaton(parse(pattern))


# The program: each instruction refers to possible successors by index.


@attrs.frozen
class _Read:
    """Read one character of a set, then continue."""

    ranges: Ranges
    then: int


@attrs.frozen
class _Require:
    """Continue if the position is as required."""

    position: Position
    then: int


@attrs.frozen
class _Mark:
    """Store the position in a slot, then continue."""

    slot: int
    then: int


@attrs.mutable
class _Fork:
    """Continue at each of these instructions, the first preferred; mutable, to close loops."""

    then: list[int]


@attrs.frozen
class _Accept:
    """The pattern has matched."""


_Instruction: TypeAlias = _Read | _Require | _Mark | _Fork | _Accept


class _Compiler:
    """Builds the program from its end, so that each part knows the next one."""

    def __init__(self) -> None:
        self.program: list[_Instruction] = []

    def add(self, instruction: _Instruction) -> int:
        self.program.append(instruction)
        return len(self.program) - 1

    def build(self, node: RegexNode, then: int) -> int:
        """Add ``node`` before ``then``; return its entry point."""
        match node:
            case Empty():
                return then
            case Characters(ranges=ranges):
                return self.add(_Read(ranges, then))
            case Assertion(position=position):
                return self.add(_Require(position, then))
            case Group(index=index, item=item):
                close = self.add(_Mark(2 * index + 1, then))
                return self.add(_Mark(2 * index, self.build(item, close)))
            case Concatenation(items=items):
                for item in reversed(items):
                    then = self.build(item, then)
                return then
            case Alternation(items=items):
                return self.add(_Fork([self.build(item, then) for item in items]))
            case Repetition():
                if node.maximum is None:
                    return self._unbounded(node, then)
                return self._bounded(node, node.maximum, then)

    def _unbounded(self, node: Repetition, then: int) -> int:
        loop = _Fork([])
        place = self.add(loop)
        entry = self.build(node.item, place)
        loop.then = _preferred(entry, then, greedy=node.greedy)
        if node.minimum > 0:
            return self._copies(node.item, node.minimum - 1, entry)
        if _can_be_empty(node.item):
            # `(x+)?` instead of `x*`: an `x` with an empty match would return to the loop it
            # entered by, find it taken, and lose its preference.
            return self.add(_Fork(_preferred(entry, then, greedy=node.greedy)))
        return place

    def _bounded(self, node: Repetition, maximum: int, then: int) -> int:
        entry = then
        for _ in range(maximum - node.minimum):
            entry = self.add(
                _Fork(_preferred(self.build(node.item, entry), then, greedy=node.greedy))
            )
        return self._copies(node.item, node.minimum, entry)

    def _copies(self, item: RegexNode, count: int, then: int) -> int:
        for _ in range(count):
            then = self.build(item, then)
        return then


def _can_be_empty(node: RegexNode) -> bool:
    match node:
        case Empty() | Assertion():
            return True
        case Characters():
            return False
        case Group(item=item):
            return _can_be_empty(item)
        case Repetition(item=item, minimum=minimum):
            return minimum == 0 or _can_be_empty(item)
        case Concatenation(items=items):
            return all(map(_can_be_empty, items))
        case Alternation(items=items):
            return any(map(_can_be_empty, items))


def _preferred(enter: int, leave: int, *, greedy: bool) -> list[int]:
    return [enter, leave] if greedy else [leave, enter]


_Slots: TypeAlias = tuple[int, ...]
_Threads: TypeAlias = list[tuple[int, _Slots]]
"""The position of each thread and its slots, most preferred first."""


_EDGE = -1
"""The class of the positions before and after the subject."""
_MAX_REMEMBERED = 500_000
"""Most thread positions in all cached states together: some tens of megabytes."""


@attrs.frozen(eq=False)
class _State:
    """The threads' positions, and the cached next steps by the classes of the characters around.

    A step leads to None if the pattern has matched.
    """

    places: tuple[int, ...]
    steps: dict[tuple[int, int], _State | None]


class Automaton:
    """A regex ready to match: built once, used for any number of subjects."""

    def __init__(self, regex: Regex) -> None:
        compiler = _Compiler()
        accept = compiler.add(_Accept())
        self._start = compiler.build(Group(0, None, regex.root), accept)
        self._program = compiler.program
        self._states: dict[tuple[int, ...], _State] = {}
        self._remembered = 0
        self._unset: _Slots = (-1,) * (2 * len(regex.group_names) + 2)
        self._bounds = _class_bounds(self._program)
        self._classes = [
            _classes_within(instruction.ranges, self._bounds)
            if isinstance(instruction, _Read)
            else frozenset()
            for instruction in self._program
        ]

    def is_match(self, subject: str) -> bool:
        """Whether the pattern matches anywhere in ``subject``.

        Only the threads' positions matter here, so the steps between them are cached: a lazy
        automaton of sets (as in RE2 and Rust), which is dropped when it exceeds a limit.
        """
        state = self._state(())
        before = _EDGE
        for at in range(len(subject) + 1):
            after = self._class(subject, at)
            if (before, after) in state.steps:
                following = state.steps[before, after]
            else:
                following = self._step(state.places, subject, at, after)
                state.steps[before, after] = following
            if following is None:
                return True
            state, before = following, after
        return False

    def search(self, subject: str, start: int = 0) -> Match | None:
        """The leftmost match that begins at or after ``start``.

        The text before ``start`` still counts for anchors and word boundaries.
        """
        slots = self._run(subject, start)
        if slots is None:
            return None
        spans = list(zip(slots[::2], slots[1::2], strict=True))
        return Match(spans[0], tuple(None if -1 in span else span for span in spans[1:]))

    def find_all(self, subject: str) -> Iterator[Match]:
        """Every match from left to right, without overlaps.

        An empty match right after the previous one does not count.
        """
        start, last_end = 0, -1
        while start <= len(subject) and (match := self.search(subject, start)):
            if match.span == (last_end, last_end):
                start = last_end + 1
                continue
            yield match
            start = last_end = match.span[1]

    def _class(self, subject: str, at: int) -> int:
        return bisect_right(self._bounds, ord(subject[at])) if at < len(subject) else _EDGE

    def _state(self, places: tuple[int, ...]) -> _State:
        if places in self._states:
            return self._states[places]
        self._remembered += len(places) + 1
        if self._remembered > _MAX_REMEMBERED:
            self._states.clear()
            self._remembered = len(places) + 1
        return self._states.setdefault(places, _State(places, {}))

    def _step(self, places: tuple[int, ...], subject: str, at: int, after: int) -> _State | None:
        """The threads' positions after reading one character; None if one accepts."""
        threads: _Threads = [(place, ()) for place in (*places, self._start)]
        following = []
        for place, _ in self._settle(threads, subject, at, marks=False):
            instruction = self._program[place]
            if not isinstance(instruction, _Read):
                return None
            if after in self._classes[place]:
                following.append(instruction.then)
        return self._state(tuple(following))

    def _run(self, subject: str, start: int) -> _Slots | None:
        """Advance all threads over the subject; return the slots of the preferred match."""
        best: _Slots | None = None
        threads: _Threads = []
        for at in range(start, len(subject) + 1):
            if best is None:
                threads.append((self._start, self._unset))
            elif not threads:
                return best
            following = self._class(subject, at)
            waiting, threads = self._settle(threads, subject, at), []
            for place, slots in waiting:
                instruction = self._program[place]
                if not isinstance(instruction, _Read):
                    best = slots
                    break  # the threads after this one are less preferred
                if following in self._classes[place]:
                    threads.append((instruction.then, slots))
        return best

    def _settle(self, threads: _Threads, subject: str, at: int, *, marks: bool = True) -> _Threads:
        """Advance each thread until it would read or accept; if several meet, the most preferred
        stays.

        Without ``marks`` the positions of groups are not recorded.
        """
        waiting: _Threads = []
        seen: set[int] = set()
        stack = threads[::-1]
        while stack:
            place, slots = stack.pop()
            if place in seen:
                continue
            seen.add(place)
            instruction = self._program[place]
            # `match` would be as clear, but doubles the time of a search.
            if isinstance(instruction, _Fork):
                stack += [(branch, slots) for branch in reversed(instruction.then)]
            elif isinstance(instruction, _Mark):
                slot = instruction.slot
                noted = (*slots[:slot], at, *slots[slot + 1 :]) if marks else slots
                stack.append((instruction.then, noted))
            elif not isinstance(instruction, _Require):
                waiting.append((place, slots))
            elif _holds(instruction.position, subject, at):
                stack.append((instruction.then, slots))
        return waiting


_LOOKED_AT: Ranges = (*sets.NEWLINE, *sets.WORD)
"""Properties of a character that assertions distinguish."""


def _holds(position: Position, subject: str, at: int) -> bool:
    match position:
        case Position.TEXT_START:
            return at == 0
        case Position.TEXT_END:
            return at == len(subject)
        case Position.LINE_START:
            return at == 0 or subject[at - 1] == "\n"
        case Position.LINE_END:
            return at == len(subject) or subject[at] == "\n"
        case Position.WORD_BOUNDARY:
            return _is_word(subject, at - 1) != _is_word(subject, at)
        case Position.NOT_WORD_BOUNDARY:
            return _is_word(subject, at - 1) == _is_word(subject, at)


def _is_word(subject: str, at: int) -> bool:
    if not 0 <= at < len(subject):
        return False
    character = subject[at]
    return character.isascii() and (character.isalnum() or character == "_")


def _class_bounds(program: list[_Instruction]) -> list[int]:
    """The limits of classes of code points that every set and assertion treats alike."""
    bounds: set[int] = set()
    for instruction in program:
        if isinstance(instruction, _Read):
            ranges = instruction.ranges
        elif isinstance(instruction, _Require):
            ranges = _LOOKED_AT
        else:
            continue
        bounds.update(bound for low, high in ranges for bound in (low, high + 1))
    return sorted(bounds)


def _classes_within(ranges: Ranges, bounds: list[int]) -> frozenset[int]:
    """The numbers of the classes in a set."""
    return frozenset(
        number
        for low, high in ranges
        for number in range(bisect_right(bounds, low), bisect_right(bounds, high) + 1)
    )
