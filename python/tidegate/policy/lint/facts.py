"""Whether the tests of an alternative can hold together, and what follows from them.

Every answer is certain: what can't be shown counts as possible, and as not implied. A part of the
event that must have one of a few values is tried: the reference evaluates each test with it.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.evaluation.reference import evaluate
from tidegate.language.check.references import references_of
from tidegate.language.tree.checked import Has, HasField, Literal
from tidegate.language.tree.walk import walk
from tidegate.policy.lint.atoms import Atom, rewritten
from tidegate.policy.lint.constraints import (
    Constraint,
    Range,
    covers,
    excludes,
    is_whole,
    reads_lists,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.language.tree.checked import Checked
    from tidegate.policy.lint.atoms import Alternative

MAX_VALUES = 200
"""The most values of a part that are tried."""
MAX_TRIED = 20
"""The most tests that are tried with them."""
MAX_PAIRS = 10_000
"""The most pairs of constants of two tests that are compared."""
_BOUNDS = frozenset(("cost_exceeded", "too_long"))
"""Failures that depend on the limits of an engine."""


@attrs.frozen(eq=False)
class Facts:
    """An alternative, read."""

    atoms: Alternative
    _values: dict[str, list[Any] | None] = attrs.field(factory=dict, init=False)

    @cached_property
    def constraints(self) -> dict[str, list[Constraint]]:
        """The tests with constants, by the part that they test."""
        found: dict[str, list[Constraint]] = defaultdict(list)
        for atom in sorted(self.atoms, key=lambda each: (each.key, each.wanted)):
            if atom.constraint is not None:
                found[atom.about].append(atom.constraint)
        return found

    @cached_property
    def about(self) -> frozenset[str]:
        """The parts of the event that its tests are about."""
        return frozenset(each.about for each in self.atoms)

    @cached_property
    def is_possible(self) -> bool:
        """Whether its tests may all hold."""
        return (
            not any(each.opposite in self.atoms for each in self.atoms)
            and all(_constant(each) is not (not each.wanted) for each in self.atoms)
            and all(_may_meet(each) for each in self.constraints.values())
            and all(self.values(each[0].subject) != [] for each in self.constraints.values())
        )

    def values(self, subject: Checked) -> list[Any] | None:
        """The values that a part can have; None if they aren't known."""
        key = repr(subject)
        if key not in self._values:
            self._values[key] = self._tried_values(subject)
        return self._values[key]

    def _tried_values(self, subject: Checked) -> list[Any] | None:
        known = self._named_values(subject)
        if known is None or len(known) > MAX_VALUES:
            return None
        about = [each for each in self.atoms if repr(subject) in each.key][:MAX_TRIED]
        return [each for each in known if all(_agrees(atom, subject, each) for atom in about)]

    def implies_all(self, needed: Facts) -> bool:
        """Whether all tests of another alternative certainly hold, too."""
        return needed.about <= self.about and all(map(self.implies, needed.atoms))

    def implies(self, atom: Atom) -> bool:
        """Whether a test certainly holds, too, with its result."""
        if atom in self.atoms:
            return True
        test = atom.constraint
        if test is None or test.key not in self.constraints:
            return False
        values = self.values(test.subject)
        if values:
            return all(_tried(atom, test.subject, each) is atom.wanted for each in values)
        return any(_follows(test, each) for each in self.constraints[test.key])

    def _named_values(self, subject: Checked) -> list[Any] | None:
        named = [
            each.options
            for each in self.constraints.get(repr(subject), ())
            if each.kind == "value" and each.wanted
        ]
        if not named:
            return None
        fewest = min(named, key=len)
        return list(fewest)


def is_certain(atom: Atom) -> bool:
    """Whether a test has its result for every event."""
    return _constant(atom) is atom.wanted


def _constant(atom: Atom) -> bool | None:
    """The result of a test that reads nothing of the event; None for others and errors."""
    return _result(atom.node)


def _agrees(atom: Atom, subject: Checked, value: Any) -> bool:
    """Whether a test may have its result with a value."""
    test = rewritten(atom.node, lambda node: _put(node, subject, value))
    if test is atom.node or not _is_closed(test):
        return True
    outcome = evaluate(test, {})
    if outcome.failure is not None:
        return outcome.failure.code in _BOUNDS
    return outcome.value is atom.wanted


def _tried(atom: Atom, subject: Checked, value: Any) -> bool | None:
    return _result(rewritten(atom.node, lambda node: _put(node, subject, value)))


def _put(node: Any, subject: Checked, value: Any) -> Any:
    return Literal(value, span=node.span) if _is_same(node, subject) else node


def _is_same(node: Any, subject: Checked) -> bool:
    return type(node) is type(subject) and node == subject


def _is_closed(node: Checked) -> bool:
    """Whether a test reads only constants."""
    if any(isinstance(each, (Has, HasField)) for each in walk(node)):
        return False
    return not references_of(node).fields and not reads_lists(node)


def _result(node: Checked) -> bool | None:
    if not _is_closed(node):
        return None
    outcome = evaluate(node, {})
    if outcome.failure is not None or not isinstance(outcome.value, bool):
        return None
    return outcome.value


def _may_meet(tests: Iterable[Constraint]) -> bool:
    """Whether one value may pass all tests of a part."""
    by_kind: dict[str, list[Constraint]] = defaultdict(list)
    for each in tests:
        by_kind[each.kind].append(each)
    return all(_kind_may_meet(each) for each in by_kind.values()) and _texts_may_meet(by_kind)


def _kind_may_meet(tests: list[Constraint]) -> bool:
    positive = [each for each in tests if each.wanted]
    negative = [option for each in tests if not each.wanted for option in each.options]
    left = [
        [
            option
            for option in each.options
            if not any(covers(each.kind, other, option) for other in negative)
            and all(
                any(not excludes(each.kind, option, other) for other in one.options)
                for one in positive
            )
        ]
        for each in positive
    ]
    return all(left) and (not tests or tests[0].kind != "number" or _numbers_may_meet(positive))


def _numbers_may_meet(tests: list[Constraint]) -> bool:
    """Whether some number is in a range of each test."""
    found = [Range()]
    for test in tests:
        if len(found) * len(test.options) > MAX_VALUES:
            return True
        ranges = [each for each in test.options if isinstance(each, Range)]
        found = [one.meet(other) for one in found for other in ranges]
    whole = bool(tests) and is_whole(tests[0].subject)
    return any(not each.is_empty(whole=whole) for each in found)


def _texts_may_meet(by_kind: dict[str, list[Constraint]]) -> bool:
    """Whether a text that begins or ends in a way can lack the parts that it must lack."""
    absent = [
        option
        for each in by_kind.get("part", ())
        if not each.wanted
        for option in each.options
        if isinstance(option, str)
    ]
    for kind in ("prefix", "suffix"):
        for test in by_kind.get(kind, ()):
            texts = [each for each in test.options if isinstance(each, str)]
            if test.wanted and all(any(each in text for each in absent) for text in texts):
                return False
    return True


_GIVES = {"prefix": ("prefix", "part"), "suffix": ("suffix", "part")}
"""The kinds of tests that also hold for a text with a known beginning or end."""


def _follows(wanted: Constraint, known: Constraint) -> bool:
    """Whether a test follows from one that holds."""
    if len(wanted.options) * len(known.options) > MAX_PAIRS:
        return False
    if wanted.wanted and known.wanted:
        kinds = _GIVES.get(known.kind, (known.kind,))
        return wanted.kind in kinds and all(
            any(covers(wanted.kind, outer, inner) for outer in wanted.options)
            for inner in known.options
        )
    if not wanted.wanted and known.wanted and wanted.kind == known.kind:
        return all(
            excludes(wanted.kind, one, other) for one in wanted.options for other in known.options
        )
    if not wanted.wanted and not known.wanted and wanted.kind == known.kind:
        return all(
            any(covers(wanted.kind, outer, inner) for outer in known.options)
            for inner in wanted.options
        )
    return False
