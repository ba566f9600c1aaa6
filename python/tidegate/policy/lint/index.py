"""Finds the earlier clauses whose tests another clause's tests may imply, without trying all."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.policy.lint.atoms import Alternative
    from tidegate.policy.lint.clauses import PlacedClause
    from tidegate.policy.lint.facts import Facts

MAX_OPTIONS = 50


@attrs.define
class Index:
    """Clauses by one part of the event that each of their alternatives tests.

    A test for a value is implied only by a test for the same value, and another test only by one of
    the same part of the event.
    """

    _by_value: dict[tuple[str, Any], list[int]] = attrs.field(factory=lambda: defaultdict(list))
    _by_part: dict[str, list[int]] = attrs.field(factory=lambda: defaultdict(list))
    _all: list[int] = attrs.field(factory=list)

    def add(self, at: int, clause: PlacedClause) -> None:
        """Add a clause by its place."""
        for alternative in clause.needs:
            self._add(at, alternative.atoms)

    def find(self, clause: PlacedClause) -> list[int]:
        """The places of the clauses that may hold whenever another one, which can, does."""
        return sorted({*self._all, *self._find(clause.cases[0])})

    def _add(self, at: int, alternative: Alternative) -> None:
        if not alternative:
            self._all.append(at)
            return
        for atom in sorted(alternative, key=lambda each: each.key):
            test = atom.constraint
            is_value = test is not None and test.kind == "value" and test.wanted
            if test is not None and is_value and len(test.options) <= MAX_OPTIONS:
                for option in test.options:
                    self._by_value[test.key, option].append(at)
                return
        self._by_part[min(each.about for each in alternative)].append(at)

    def _find(self, case: Facts) -> Iterator[int]:
        for part in case.about:
            yield from self._by_part.get(part, ())
            tests = case.constraints.get(part)
            values = case.values(tests[0].subject) if tests else None
            if values:
                yield from self._by_value.get((part, values[0]), ())
