"""Counts the parts of definitions that events have exercised.

Each decision is made by the reference evaluator under observation. An atom is a smallest part of an
expression that is a bool and isn't made of others by ``&&``, ``||``, ``!`` and ``?:``. It decides
an evaluation if the result follows from it: with another value of this atom alone, the result would
be another, as far as the evaluation went.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.evaluation.envelope import admit
from tidegate.evaluation.trace import trace
from tidegate.language.tree import checked
from tidegate.policy.decide import decide
from tidegate.policy.state.state import State

if TYPE_CHECKING:
    from tidegate.evaluation.envelope import Strictness
    from tidegate.evaluation.outcome import Outcome
    from tidegate.evaluation.trace import Trace
    from tidegate.language.check.checker import CheckedExpression
    from tidegate.policy.decide import TriedClause
    from tidegate.policy.definitions.compiled import CompiledDefinitions


@attrs.define
class AtomCoverage:
    """An atom of an expression.

    Attributes:
        start: its first code point in the expression's text.
        end: the code point after its last.
        text: its text.
        true: evaluations in which it was true.
        false: evaluations in which it was false.
        decided_true: evaluations whose result was true because of it.
        decided_false: evaluations whose result was false because of it.
    """

    start: int
    end: int
    text: str
    true: int = 0
    false: int = 0
    decided_true: int = 0
    decided_false: int = 0


@attrs.define
class ExpressionCoverage:
    """An expression.

    Attributes:
        place: its place in the definitions.
        text: its text.
        evaluated: how often it was evaluated.
        errors: how often it failed, by code.
        atoms: its atoms, in the order of the text; none of a part of a key or a window's field.
        cost: the units of work of all evaluations.
    """

    place: str
    text: str
    evaluated: int = 0
    errors: Counter[str] = attrs.field(factory=Counter)
    atoms: list[AtomCoverage] = attrs.field(factory=list)
    cost: int = 0


@attrs.define
class ClauseCoverage:
    """A clause, and the events that got so far: each count is part of the one before.

    Attributes:
        place: its place in the definitions.
        policy: slug of its policy.
        clause: its name.
        in_scope: events in the scope of its policy.
        actions: events that matched its actions.
        entity: events to which its entity applies.
        condition: events for which its condition was true.
        counted: the greatest count of its window; None if nothing was counted.
        threshold: of its window; None if it has none.
        fired: events for which it fired by itself.
        active: events for which only its mitigation of an earlier event was active.
        atoms: the atoms of its condition.
    """

    place: str
    policy: str
    clause: str
    threshold: int | None
    atoms: list[AtomCoverage]
    in_scope: int = 0
    actions: int = 0
    entity: int = 0
    condition: int = 0
    counted: int | None = None
    fired: int = 0
    active: int = 0

    @property
    def is_covered(self) -> bool:
        """Whether it fired, and its condition was true because of each of its atoms once."""
        return self.fired > 0 and all(each.decided_true for each in self.atoms)


class Coverage:
    """Decides on events, and counts what they exercise.

    Args:
        compiled: the definitions.
        events: which events it decides on.
    """

    def __init__(self, compiled: CompiledDefinitions, events: Strictness = "strict") -> None:
        self._compiled = compiled
        self._admitted: Strictness = events
        self._state = State(compiled.max_keys)
        self.events = 0
        self.expressions: dict[str, ExpressionCoverage] = {}
        """Every expression that a decision may evaluate, by its place."""
        self._atoms: dict[str, dict[int, AtomCoverage]] = {}
        for place, expression in _placed(compiled):
            found = _atoms(expression) if place.endswith("expression") else {}
            self._atoms[place] = found
            self.expressions[place] = ExpressionCoverage(
                place, expression.text, atoms=list(found.values())
            )
        self.clauses = {
            place: ClauseCoverage(
                place=place,
                policy=policy.slug,
                clause=clause.name,
                threshold=clause.window.threshold if clause.window else None,
                atoms=list(self._atoms.get(f"{place}.expression", {}).values()),
            )
            for policy in compiled.policies
            for number, clause in enumerate(policy.clauses)
            if clause.enabled
            for place in [f"policies.{policy.slug}.clauses[{number}]"]
        }
        """Every clause that may fire, by its place."""

    @property
    def percent(self) -> float:
        """The share of clauses that are covered; 100 if there aren't any."""
        covered = sum(each.is_covered for each in self.clauses.values())
        return 100 * covered / len(self.clauses) if self.clauses else 100.0

    def begin(self) -> None:
        """Forget the events so far, but not what they exercised."""
        self._state = State(self._compiled.max_keys)

    def decide(self, event: Mapping[str, Any] | bytes, received_at: int) -> None:
        """Decide on an event, and count.

        Args:
            event: a dict, or JSON bytes.
            received_at: when it arrived, in nanoseconds since 1970.

        Raises:
            EventError: the event is rejected.
        """
        admit(event, self._admitted)
        decided = decide(self._compiled, self._state, event, received_at, evaluate_at=self._observe)
        self._state.apply(decided.changes)
        self.events += 1
        for tried in decided.tried:
            _count(self.clauses[tried.place], tried)

    def _observe(
        self, place: str, expression: CheckedExpression, record: Mapping[str, Any]
    ) -> Outcome:
        compiled = self._compiled
        traced = trace(expression.root, record, lists=compiled.lists, limits=compiled.limits)
        outcome = traced.outcome
        counted = self.expressions[place]
        counted.evaluated += 1
        counted.cost += outcome.cost
        if outcome.failure is not None:
            counted.errors[outcome.failure.code] += 1
        atoms = self._atoms[place]
        if atoms:
            _count_atoms(expression.root, atoms, traced)
        return outcome


def _count(counted: ClauseCoverage, tried: TriedClause) -> None:
    counted.active += tried.active
    counted.fired += tried.fired and not tried.active
    if not tried.in_scope:
        return
    counted.in_scope += 1
    if tried.missing_actions:
        return
    counted.actions += 1
    if tried.clause.entity is not None and tried.entity is None:
        return
    counted.entity += 1
    counted.condition += bool(tried.condition)
    if tried.window is not None:
        counted.counted = max(counted.counted or 0, tried.window)


def _count_atoms(root: checked.Checked, atoms: Mapping[int, AtomCoverage], traced: Trace) -> None:
    seen = {id(each.node): each.value for each in traced.steps if each.failure is None}
    for node, atom in atoms.items():
        value = seen.get(node)
        atom.true += value is True
        atom.false += value is False
    result = seen.get(id(root))
    for decisive in _deciding(root, seen):
        found = atoms.get(id(decisive))
        if found is not None:
            found.decided_true += result is True
            found.decided_false += result is False


def _deciding(node: checked.Checked, seen: Mapping[int, Any]) -> Iterator[checked.Checked]:
    """The atoms that the value of a node follows from."""
    value = seen.get(id(node))
    if not isinstance(value, bool):
        return
    match node:
        case checked.And(operands) | checked.Or(operands):
            # The value that one operand is enough for.
            enough = isinstance(node, checked.Or)
            inner = [each for each in operands if seen.get(id(each)) is value]
            if value is enough and len(inner) > 1:
                return
        case checked.Call(function="!", arguments=arguments):
            inner = list(arguments)
        case checked.Conditional(condition, then, otherwise):
            inner = [condition, then if seen.get(id(condition)) else otherwise]
        case checked.Bind(body=body) | checked.Slot(body=body):
            inner = [body]
        case _:
            yield node
            return
    for each in inner:
        yield from _deciding(each, seen)


def _atoms(expression: CheckedExpression) -> dict[int, AtomCoverage]:
    """The atoms of an expression by the identity of their nodes, in the order of the text."""
    found: dict[int, AtomCoverage] = {}
    for node in _smallest(expression.root):
        span = node.span
        found[id(node)] = AtomCoverage(span.start, span.end, expression.text[span.start : span.end])
    return dict(sorted(found.items(), key=lambda item: item[1].start))


def _smallest(node: checked.Checked) -> Iterator[checked.Checked]:
    match node:
        case checked.And(operands) | checked.Or(operands):
            inner: tuple[checked.Checked, ...] = operands
        case checked.Call(function="!", arguments=arguments):
            inner = arguments
        case checked.Conditional(condition, then, otherwise):
            inner = (condition, then, otherwise)
        case checked.Bind(body=body) | checked.Slot(body=body):
            inner = (body,)
        case checked.Literal():
            return
        case _:
            yield node
            return
    for each in inner:
        yield from _smallest(each)


def _placed(compiled: CompiledDefinitions) -> Iterator[tuple[str, CheckedExpression]]:
    """Every expression that a decision may evaluate, with its place."""
    for action in compiled.actions:
        yield f"actions.{action.slug}.expression", action.expression
    for entity in compiled.entities:
        if entity.match is not None:
            yield f"entities.{entity.slug}.match_expression", entity.match
        for number, field in enumerate(entity.key_fields):
            yield f"entities.{entity.slug}.key_fields[{number}]", field
    yield from ((each.place, each.expression) for each in compiled.headers())
    for policy in compiled.policies:
        yield from policy.placed
