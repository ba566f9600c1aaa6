"""Why an expression failed for an event: the place and the values."""

from __future__ import annotations

from functools import lru_cache

from tidegate.errors import EvaluationError, ExpressionError
from tidegate.language.tree import checked
from tidegate.language.tree.diagnostics import Source, quote
from tidegate.language.tree.walk import walk
from tidegate.program import Program, compile

_SHOWN = 60


def failure_of(text: str, event: bytes, error: EvaluationError) -> str:
    """The message of an error, with its place and the values of the call.

    The reference evaluator provides it: the native one knows neither.

    Args:
        text: the expression.
        event: the event it failed for.
        error: the evaluator's error.
    """
    program = _reference(text)
    try:
        program.evaluate(event)
    except EvaluationError as found:
        error = found
    if error.span is None:
        return error.message
    place = Source(text).position(error.span.start)
    part = quote(text[error.span.start : error.span.end], _SHOWN)
    values = _values(program, event, error)
    where = f"in {part} at {place.line}:{place.column}"
    return f"{error.message} {where}" + (f" where {', '.join(values)}" if values else "")


@lru_cache(maxsize=64)
def _reference(text: str) -> Program:
    """An expression for the reference evaluator; the same one fails on many lines."""
    return compile(text, evaluator="reference")


def _values(program: Program, event: bytes, error: EvaluationError) -> list[str]:
    """The values of the arguments that aren't constants, each with its text."""
    failed = next((node for node in walk(program.checked.root) if node.span == error.span), None)
    if not isinstance(failed, checked.Call):
        return []
    found = []
    for each in failed.arguments:
        text = program.text[each.span.start : each.span.end]
        if isinstance(each, checked.Literal):
            continue
        try:
            value = _reference(text).evaluate(event)
        except (EvaluationError, ExpressionError):
            # A macro's variable has no value outside it.
            continue
        found.append(f"{quote(text, _SHOWN)} is {quote(_written(value), _SHOWN)}")
    return found


def _written(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
