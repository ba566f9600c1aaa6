"""One compiled expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tidegate.notebook as notebook
from tidegate.evaluation.envelope import PreparedContext
from tidegate.evaluation.rules import Evaluator, compile_rules
from tidegate.language.check.checker import CheckedExpression, check
from tidegate.language.tree.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.evaluation.envelope import Strictness
    from tidegate.event_form import Event
    from tidegate.language.check.checker import References
    from tidegate.language.check.estimate import CostEstimate
    from tidegate.types import Type


class Program:
    """A parsed, checked and compiled expression; created by :func:`compile`."""

    def __init__(self, checked: CheckedExpression, schema: Schema, evaluator: Evaluator) -> None:
        self.checked = checked
        self.evaluator = evaluator
        self._schema = schema
        self._rules = compile_rules({"": checked}, schema, evaluator)

    @property
    def text(self) -> str:
        return self.checked.text

    @property
    def result_type(self) -> Type:
        return self.checked.type

    @property
    def references(self) -> References:
        """The fields, header names, lists and functions the expression reads."""
        return self.checked.references

    @property
    def cost_estimate(self) -> CostEstimate:
        return self.checked.cost_estimate

    def evaluate(self, context: Event | Mapping[str, Any] | bytes | PreparedContext) -> Any:
        """The value of the expression for one event.

        Args:
            context: the event in the shape of a runtime request, with a member
                for each declared variable; a dict, JSON bytes, or the result of :meth:`prepare`.

        Raises:
            EvaluationError: the expression fails for this event.
            EventError: the event itself is rejected.
        """
        return self._rules.evaluate(0, context)

    def prepare(
        self, context: Event | Mapping[str, Any] | bytes, *, events: Strictness = "any"
    ) -> PreparedContext:
        """Encode an event once, to evaluate this program on it repeatedly.

        Args:
            context: the event, as for :meth:`evaluate`.
            events: which events are accepted: ``strict`` rejects unknown members and empty events.

        Raises:
            EventError: the event is rejected.
        """
        return self._rules.prepare(context, events)

    def __reduce__(self) -> tuple[type[Program], tuple[CheckedExpression, Schema, Evaluator]]:
        return Program, (self.checked, self._schema, self.evaluator)

    def _repr_html_(self) -> str:
        estimate = self.cost_estimate.total
        rows = [
            ("type", self.result_type),
            ("reads", ", ".join(sorted(self.references.fields))),
            ("costs at most", f"{estimate:,} units"),
            *(("warning", each.message) for each in self.checked.warnings),
        ]
        return notebook.text(self.text) + notebook.table((), rows)

    def __repr__(self) -> str:
        return f"<Program {self.text!r} -> {self.result_type}, {self.evaluator}>"


def compile(text: str, *, schema: Schema | None = None, evaluator: Evaluator = "native") -> Program:
    """Parse, check and compile one expression.

    Raises:
        ExpressionError: the text does not parse or does not check;
            ``diagnostics`` has every finding.
    """
    schema = schema if schema is not None else Schema.default()
    return Program(check(text, schema), schema, evaluator)
