"""Observed evaluation: the value, cost and place of every evaluated node.

The reference evaluator is wrapped, not changed: this one hooks into entering and leaving a node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from tidegate.errors import EvaluationError
from tidegate.evaluation.outcome import Failure, Outcome
from tidegate.evaluation.reference import Evaluator, Scope
from tidegate.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.language.tree import checked
    from tidegate.types import NamedList


@attrs.frozen
class Step:
    """One node, evaluated once.

    ``cost`` includes the nodes below it, ``depth`` counts those above it.  Nodes inside a macro
    have a step for each element they were evaluated for.
    """

    node: checked.Checked
    depth: int
    value: Any
    failure: Failure | None
    cost: int


@attrs.frozen
class Trace:
    """An outcome and its steps, in the order in which nodes were entered."""

    outcome: Outcome
    steps: tuple[Step, ...]


def trace(
    root: checked.Checked,
    record: Mapping[str, Any],
    *,
    lists: Mapping[str, NamedList] | None = None,
    limits: Limits = DEFAULT,
) -> Trace:
    """Evaluate like ``reference.evaluate`` and record every step."""
    evaluator = _Observed(record, lists or {}, limits)
    outcome = evaluator.run(root)
    return Trace(outcome, tuple(step for step in evaluator.steps if step is not None))


class _Observed(Evaluator):
    """The reference evaluator with a record of each node."""

    def __init__(
        self, record: Mapping[str, Any], lists: Mapping[str, NamedList], limits: Limits
    ) -> None:
        super().__init__(record, lists, limits)
        self.steps: list[Step | None] = []
        self._depth = 0

    def value(self, node: checked.Checked, scope: Scope) -> Any:
        place, before = len(self.steps), self.spent
        self.steps.append(None)  # added when the node is entered, filled in when it is left
        self._depth += 1
        value, failure = None, None
        try:
            value = super().value(node, scope)
        except EvaluationError as error:
            failure = Failure(error.code, error.message, error.span)
            raise
        finally:
            self._depth -= 1
            cost = self.spent - before
            self.steps[place] = Step(node, self._depth, value, failure, cost)
        return value
