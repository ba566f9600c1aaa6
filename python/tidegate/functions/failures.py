"""The failures of functions, with one constructor per code."""

from __future__ import annotations

from tidegate.errors import EvaluationError

CODES = (
    "no_such_key",
    "no_such_field",
    "no_such_overload",
    "divide_by_zero",
    "overflow",
    "index_out_of_range",
    "invalid_argument",
    "invalid_utf8",
    "cost_exceeded",
)
"""The stable codes of evaluation errors."""


def no_such_key() -> EvaluationError:
    return EvaluationError("no_such_key", "the map has no such key")


def no_such_field(name: str) -> EvaluationError:
    return EvaluationError("no_such_field", f"the event has no `{name}`")


def no_such_overload(message: str = "no overload takes values of these kinds") -> EvaluationError:
    return EvaluationError("no_such_overload", message)


def divide_by_zero() -> EvaluationError:
    return EvaluationError("divide_by_zero", "the divisor is zero")


def overflow(kind: str) -> EvaluationError:
    return EvaluationError("overflow", f"the result is out of the range of {kind}")


def index_out_of_range(index: int) -> EvaluationError:
    return EvaluationError("index_out_of_range", f"index {int(index)} is out of range")


def invalid_argument(message: str) -> EvaluationError:
    return EvaluationError("invalid_argument", message)


def invalid_utf8() -> EvaluationError:
    return EvaluationError("invalid_utf8", "the bytes are no valid UTF-8")


def cost_exceeded(message: str = "the evaluation costs more than its limit") -> EvaluationError:
    return EvaluationError("cost_exceeded", message)


def too_long(limit: int) -> EvaluationError:
    """The failure for a string or bytes value that would exceed ``limit`` bytes."""
    return cost_exceeded(f"the result is longer than {limit} bytes")
