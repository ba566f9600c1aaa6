"""Optional values."""

from __future__ import annotations

from typing import Any

from tidegate.functions import failures
from tidegate.functions.registry import overload
from tidegate.values import TIMESTAMP_MIN, Duration, Map, OptionalValue, Timestamp


@overload("optional.of(A) -> optional_type(A)")
def of(value: Any) -> OptionalValue:
    """``optional.of(1).value() == 1``; null is a value like any other."""
    return OptionalValue(value)


@overload("optional.none() -> optional_type(A)")
def none() -> OptionalValue:
    """``optional.none().hasValue() == false``."""
    return OptionalValue()


@overload("optional.ofNonZeroValue(A) -> optional_type(A)")
def of_non_zero_value(value: Any) -> OptionalValue:
    """``optional.ofNonZeroValue("").hasValue() == false``.

    These values are zero: null, false, 0 of any kind, empty strings, bytes, lists and maps, the
    duration 0s and the timestamp 0001-01-01T00:00:00Z.
    """
    return OptionalValue() if _is_zero(value) else OptionalValue(value)


def _is_zero(value: Any) -> bool:
    if isinstance(value, Duration):
        return value.nanoseconds == 0
    if isinstance(value, Timestamp):
        return value.nanoseconds == TIMESTAMP_MIN
    if value is None or isinstance(value, (bool, int, float, str, bytes, list, Map)):
        return not value
    return False


@overload("optional_type(A).hasValue() -> bool")
def has_value(optional: OptionalValue) -> bool:
    """``optional.of(1).hasValue()``."""
    return optional.is_present


@overload("optional_type(A).value() -> A")
def value(optional: OptionalValue) -> Any:
    """``optional.of(1).value() == 1``; ``invalid_argument`` when it is empty."""
    if not optional.is_present:
        raise failures.invalid_argument("the optional is empty")
    return optional.content


@overload("optional_type(A).or(optional_type(A)) -> optional_type(A)")
def otherwise(optional: OptionalValue, other: OptionalValue) -> OptionalValue:
    """``optional.none().or(optional.of(2)).value() == 2``; both sides are evaluated."""
    return optional if optional.is_present else other


@overload("optional_type(A).orValue(A) -> A")
def or_value(optional: OptionalValue, other: Any) -> Any:
    """``optional.none().orValue(2) == 2``; both sides are evaluated."""
    return optional.content if optional.is_present else other


@overload("optional.unwrap(list(optional_type(A))) -> list(A)",
          "list(optional_type(A)).unwrapOpt() -> list(A)")  # fmt: skip
def unwrap(optionals: list[Any]) -> list[Any]:
    """``[optional.of(1), optional.none()].unwrapOpt() == [1]``.

    ``no_such_overload`` when an element isn't an optional.
    """
    if not all(isinstance(element, OptionalValue) for element in optionals):
        raise failures.no_such_overload("every element must be an optional")
    return [element.content for element in optionals if element.is_present]
