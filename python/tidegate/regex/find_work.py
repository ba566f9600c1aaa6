"""The extra work of finding matches and groups, compared with testing for a match.

The native evaluator runs its automaton over the subject twice; then one thread executes the pattern
as a program and takes the preferred of the paths that lead to a match
(``rust/core/src/regex/captures.rs``). The instructions it may pass from one character to the next
are limited here. Among many alternatives it finds the right one by its bits; those that may be
empty or begin with an assertion have to be tried.
"""

from __future__ import annotations

from functools import reduce

import attrs

from tidegate.regex.tree import (
    Alternation,
    Assertion,
    Characters,
    Concatenation,
    Empty,
    Group,
    RegexNode,
    Repetition,
)

_PASSES = 2
_CHARACTER, _INSTRUCTION = 100, 25


def find_work(root: RegexNode, step: int) -> int:
    """The units of ``work.step_work`` per character; one step takes ``step``."""
    way = _way(root)
    instructions = max(way.enter, way.leave) + way.deepest
    return _PASSES * step + _CHARACTER + _INSTRUCTION * instructions


@attrs.frozen
class _Way:
    """The most instructions passed between two characters.

    ``enter`` counts from where a part is entered and ``leave`` from inside it, both to where it is
    left; ``deepest`` counts those of the one part that is entered because its bits say that it
    reads the next character. ``passable`` marks a part that may be empty, ``tried`` one for which
    the bits do not say.
    """

    enter: int
    leave: int
    deepest: int
    passable: bool
    tried: bool


_EMPTY = _Way(0, 0, 0, passable=True, tried=True)


def _way(node: RegexNode) -> _Way:
    match node:
        case Empty():
            return _EMPTY
        case Assertion():
            return attrs.evolve(_EMPTY, enter=1)
        case Characters():
            return _Way(1, 0, 0, passable=False, tried=False)
        case Group(item=item):
            way = _way(item)
            return attrs.evolve(way, enter=way.enter + 2, leave=way.leave + 1)
        case Concatenation(items=items):
            return reduce(_joined, map(_way, reversed(items)), _EMPTY)
        case Alternation(items=items):
            return _alternation([_way(item) for item in items])
        case Repetition():
            return _repetition(node)


def _joined(after: _Way, way: _Way) -> _Way:
    return _Way(
        way.enter + (after.enter if way.passable else 0),
        max(way.leave + after.enter, after.leave),
        max(way.deepest, after.deepest),
        way.passable and after.passable,
        way.tried and (after.tried or not way.passable),
    )


def _alternation(ways: list[_Way]) -> _Way:
    return _Way(
        1 + sum(way.enter for way in ways if way.tried),
        max(way.leave for way in ways),
        max(way.deepest + (0 if way.tried else way.enter) for way in ways),
        any(way.passable for way in ways),
        any(way.tried for way in ways),
    )


def _repetition(node: Repetition) -> _Way:
    item = _way(node.item)
    optional = node.maximum is None or node.maximum > node.minimum
    again = (2 + item.enter if item.tried else 2) if optional else 0
    needed = item.enter * (node.minimum if item.passable else min(node.minimum, 1))
    return _Way(
        needed + (again if item.passable or node.minimum == 0 else 0),
        item.leave + needed + again,
        item.deepest + (0 if item.tried else item.enter),
        item.passable or node.minimum == 0,
        item.tried or node.minimum == 0,
    )
