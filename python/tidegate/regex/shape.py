"""Facts about a pattern for warnings and prefilters."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from tidegate.regex.tree import (
    Alternation,
    Assertion,
    Characters,
    Concatenation,
    Empty,
    Group,
    Position,
    Regex,
    RegexNode,
    Repetition,
)

LiteralTest: TypeAlias = Literal["equal", "prefix", "suffix", "contains"]


@attrs.frozen
class Shape:
    """Facts about a pattern.

    ``literal_test`` is the plain string test on ``literal`` that the whole pattern is equivalent
    to, or ``None``.  ``anchored_start`` (``anchored_end``) is true if every match begins at the
    start (ends at the end) of the text.
    """

    literal_test: LiteralTest | None
    literal: str
    anchored_start: bool
    anchored_end: bool


def shape(regex: Regex) -> Shape:
    """The facts about ``regex``."""
    start = _is_anchored(regex.root, Position.TEXT_START, first=True)
    end = _is_anchored(regex.root, Position.TEXT_END, first=False)
    literal = _literal(regex.root)
    if literal is None:
        return Shape(None, "", start, end)
    return Shape(_TESTS[start, end], literal, start, end)


_TESTS: dict[tuple[bool, bool], LiteralTest] = {
    (True, True): "equal",
    (True, False): "prefix",
    (False, True): "suffix",
    (False, False): "contains",
}


def _literal(root: RegexNode) -> str | None:
    """The text between optional anchors, if the pattern contains nothing else."""
    items = _flatten(root)
    if items and items[0] == Assertion(Position.TEXT_START):
        items = items[1:]
    if items and items[-1] == Assertion(Position.TEXT_END):
        items = items[:-1]
    text = ""
    for item in items:
        match item:
            case Characters(ranges=((low, high),)) if low == high:
                text += chr(low)
            case _:
                return None
    return text


def _flatten(node: RegexNode) -> list[RegexNode]:
    match node:
        case Concatenation(items=items):
            return [part for item in items for part in _flatten(item)]
        case Group(item=item):
            return _flatten(item)
        case Empty():
            return []
        case _:
            return [node]


def _is_anchored(node: RegexNode, position: Position, *, first: bool) -> bool:
    match node:
        case Assertion():
            return node.position is position
        case Group(item=item):
            return _is_anchored(item, position, first=first)
        case Concatenation(items=items):
            return _is_anchored(items[0 if first else -1], position, first=first)
        case Alternation(items=items):
            return all(_is_anchored(item, position, first=first) for item in items)
        case Repetition(item=item, minimum=minimum):
            return minimum > 0 and _is_anchored(item, position, first=first)
        case _:
            return False
