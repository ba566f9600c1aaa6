"""Count the values of expressions over events."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from tidegate.errors import EvaluationError, EventError
from tidegate.language.printer import to_text
from tidegate.language.tree import ast
from tidegate.policy.definitions.expressions import Use
from tidegate_server.wire import traffic as wire_traffic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.policy.traffic.programs import Programs
    from tidegate_server.traffic.selection import TenantExpressions

MAX_TEXT = 200
"""The most characters of a value that are counted and shown."""
_HASH = "hmac:"
"""The prefix of a redacted value (docs/fields.md)."""
Value: TypeAlias = "tuple[str, str | int | bool]"
"""A value with the name of its kind: in Python ``True`` equals 1."""


@attrs.define
class _Counted:
    """The counts of one expression's values."""

    text: str
    values: Counter[Value] = attrs.field(factory=Counter)
    failed: int = 0


class Facets:
    """The values of some expressions.

    Args:
        known: the names that expressions can use.
        texts: the expressions.
        member: the member of the body, for findings.

    Raises:
        Problem: ``invalid-request``; one isn't an expression whose value can be a key.
    """

    def __init__(self, known: TenantExpressions, texts: Sequence[str], member: str) -> None:
        self._counted = [_Counted(text) for text in texts]
        checked = {
            str(at): known.check(text, Use.KEY, f"/{member}/{at}") for at, text in enumerate(texts)
        }
        self._programs: Programs | None = known.compile(checked) if checked else None

    def add(self, events: Sequence[bytes]) -> None:
        """Count the values in events."""
        if self._programs is None:
            return
        rules = self._programs.rules
        for event in self._programs.with_actions(events):
            try:
                prepared = rules.prepare(event)
            except EventError:
                for counted in self._counted:
                    counted.failed += 1
                continue
            for at, counted in enumerate(self._counted):
                try:
                    counted.values[_value(rules.evaluate(at, prepared))] += 1
                except EvaluationError:
                    counted.failed += 1

    def found(self, top: int) -> tuple[wire_traffic.Facet, ...]:
        """Return the most frequent values of each expression."""
        return tuple(
            wire_traffic.Facet(
                expression=each.text,
                distinct=len(each.values),
                failed=each.failed,
                present=sum(each.values.values()) - each.values["string", ""],
                values=tuple(_shown(*counted) for counted in _most(each.values, top)),
            )
            for each in self._counted
        )


def _most(values: Counter[Value], top: int) -> Sequence[tuple[Value, int]]:
    return sorted(values.items(), key=lambda each: (-each[1], str(each[0])))[:top]


def _value(found: Any) -> Value:
    if isinstance(found, bool):
        return "bool", found
    if isinstance(found, int):
        return "int", int(found)
    return "string", str(found)[: MAX_TEXT + 1]


def literal_of(text: str) -> str | None:
    """Return a text as an expression has it; None if it is redacted, or too long to be shown."""
    if len(text) > MAX_TEXT or _HASH in text:
        return None
    return to_text(ast.StringLiteral(text))


def _shown(value: Value, count: int) -> wire_traffic.FacetValue:
    kind, found = value
    if isinstance(found, str):
        return wire_traffic.FacetValue(
            value=found[:MAX_TEXT], literal=literal_of(found), count=count
        )
    literal = str(found).lower() if kind == "bool" else str(found)
    return wire_traffic.FacetValue(value=found, literal=literal, count=count)
