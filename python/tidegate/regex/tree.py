"""The regex tree: flags resolved, classes expanded, nothing left to a library's defaults.

Every node is immutable and says exactly what it matches: ``(?i)k`` is already the set of ``k``,
``K`` and the Kelvin sign, ``\\d`` is already ``0`` to ``9``.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

import attrs

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""A set of code points: inclusive ranges in order, neither touching nor overlapping."""


class Position(Enum):
    """A place in the subject that an assertion requires; words are ASCII words."""

    TEXT_START = "text start"
    TEXT_END = "text end"
    LINE_START = "line start"
    LINE_END = "line end"
    WORD_BOUNDARY = "word boundary"
    NOT_WORD_BOUNDARY = "no word boundary"


@attrs.frozen
class Empty:
    """Matches the empty string."""


@attrs.frozen
class Characters:
    """One character from a set; an empty set matches nothing."""

    ranges: Ranges


@attrs.frozen
class Assertion:
    position: Position


@attrs.frozen
class Group:
    """A capturing group; other groups have no node."""

    index: int
    name: str | None
    item: RegexNode


@attrs.frozen
class Repetition:
    """``item`` from ``minimum`` to ``maximum`` times (``None``: unlimited)."""

    item: RegexNode
    minimum: int
    maximum: int | None
    greedy: bool


@attrs.frozen
class Concatenation:
    items: tuple[RegexNode, ...]


@attrs.frozen
class Alternation:
    """The first of ``items`` that leads to a match is preferred."""

    items: tuple[RegexNode, ...]


RegexNode: TypeAlias = (
    Empty | Characters | Assertion | Group | Repetition | Concatenation | Alternation
)


@attrs.frozen
class Regex:
    """An accepted pattern.

    ``group_names`` has an entry for each capturing group, starting with the first; ``size`` is the
    estimate of ``size.program_size`` in bytes, ``work`` the estimate of ``work.step_work`` per
    character of a subject.
    """

    pattern: str
    root: RegexNode
    group_names: tuple[str | None, ...]
    size: int
    work: int
