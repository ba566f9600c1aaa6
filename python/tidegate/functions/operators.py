"""Operators: arithmetic, comparison, membership."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tidegate.functions import failures
from tidegate.functions.registry import overload
from tidegate.values import (
    INT_MAX,
    INT_MIN,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    UINT_MAX,
    Duration,
    Map,
    Timestamp,
    UInt,
    compare,
    equal,
    utf8_length,
)

if TYPE_CHECKING:
    from tidegate.values import Charge


def checked_int(value: int) -> int:
    """The value, or the failure ``overflow`` if it isn't a 64-bit integer."""
    if not INT_MIN <= value <= INT_MAX:
        raise failures.overflow("int")
    return value


def checked_uint(value: int) -> UInt:
    """The value as uint, or the failure ``overflow``."""
    if not 0 <= value <= UINT_MAX:
        raise failures.overflow("uint")
    return UInt(value)


def checked_timestamp(nanoseconds: int) -> Timestamp:
    """The timestamp, or the failure ``overflow`` outside the years 1 to 9999."""
    if not TIMESTAMP_MIN <= nanoseconds <= TIMESTAMP_MAX:
        raise failures.overflow("timestamp")
    return Timestamp(nanoseconds)


def checked_duration(nanoseconds: int) -> Duration:
    """The duration, or the failure ``overflow`` if it exceeds 64 bits of nanoseconds."""
    if not INT_MIN <= nanoseconds <= INT_MAX:
        raise failures.overflow("duration")
    return Duration(nanoseconds)


# --- addition -----------------------------------------------------------------------------


@overload("+(int, int) -> int")
def add_ints(left: int, right: int) -> int:
    """``1 + 2 == 3``; ``overflow`` past 64 bits."""
    return checked_int(left + right)


@overload("+(uint, uint) -> uint")
def add_uints(left: UInt, right: UInt) -> UInt:
    """``1u + 2u == 3u``; ``overflow`` past 64 bits."""
    return checked_uint(int(left) + int(right))


@overload("+(double, double) -> double")
def add_doubles(left: float, right: float) -> float:
    """``1.5 + 2.0 == 3.5``, as IEEE 754 has it."""
    return left + right


@overload("+(string, string) -> string")
def join_strings(left: str, right: str, *, limit: int) -> str:
    """``"a" + "b" == "ab"``."""
    if utf8_length(left) + utf8_length(right) > limit:
        raise failures.too_long(limit)
    return left + right


@overload("+(bytes, bytes) -> bytes")
def join_bytes(left: bytes, right: bytes, *, limit: int) -> bytes:
    """``b"a" + b"b" == b"ab"``."""
    if len(left) + len(right) > limit:
        raise failures.too_long(limit)
    return left + right


@overload("+(list(A), list(A)) -> list(A)")
def join_lists(left: list[Any], right: list[Any]) -> list[Any]:
    """``[1] + [2] == [1, 2]``."""
    return left + right


@overload("+(timestamp, duration) -> timestamp")
def later(moment: Timestamp, length: Duration) -> Timestamp:
    """The moment that much later; ``overflow`` outside the years 1 to 9999."""
    return checked_timestamp(moment.nanoseconds + length.nanoseconds)


@overload("+(duration, timestamp) -> timestamp")
def later_than(length: Duration, moment: Timestamp) -> Timestamp:
    """The same as ``timestamp + duration``."""
    return later(moment, length)


@overload("+(duration, duration) -> duration")
def add_durations(left: Duration, right: Duration) -> Duration:
    """The sum; ``overflow`` past 64 bits of nanoseconds."""
    return checked_duration(left.nanoseconds + right.nanoseconds)


# --- subtraction and negation -------------------------------------------------------------


@overload("-(int, int) -> int")
def subtract_ints(left: int, right: int) -> int:
    """``1 - 2 == -1``; ``overflow`` past 64 bits."""
    return checked_int(left - right)


@overload("-(uint, uint) -> uint")
def subtract_uints(left: UInt, right: UInt) -> UInt:
    """``2u - 1u == 1u``; ``overflow`` below zero."""
    return checked_uint(int(left) - int(right))


@overload("-(double, double) -> double")
def subtract_doubles(left: float, right: float) -> float:
    """``1.5 - 2.0 == -0.5``."""
    return left - right


@overload("-(timestamp, timestamp) -> duration")
def time_between(later: Timestamp, earlier: Timestamp) -> Duration:
    """The time from the second moment to the first; ``overflow`` past some 292 years."""
    return checked_duration(later.nanoseconds - earlier.nanoseconds)


@overload("-(timestamp, duration) -> timestamp")
def earlier(moment: Timestamp, length: Duration) -> Timestamp:
    """The moment that much earlier; ``overflow`` outside the years 1 to 9999."""
    return checked_timestamp(moment.nanoseconds - length.nanoseconds)


@overload("-(duration, duration) -> duration")
def subtract_durations(left: Duration, right: Duration) -> Duration:
    """The difference; ``overflow`` past 64 bits of nanoseconds."""
    return checked_duration(left.nanoseconds - right.nanoseconds)


@overload("-(int) -> int")
def negate_int(value: int) -> int:
    """``-(5)``; ``overflow`` for the least int."""
    return checked_int(-value)


@overload("-(double) -> double")
def negate_double(value: float) -> float:
    """``-(1.5)``; the sign of zero and of NaN changes too."""
    return -value


# --- multiplication and division ----------------------------------------------------------


@overload("*(int, int) -> int")
def multiply_ints(left: int, right: int) -> int:
    """``2 * 3 == 6``; ``overflow`` past 64 bits."""
    return checked_int(left * right)


@overload("*(uint, uint) -> uint")
def multiply_uints(left: UInt, right: UInt) -> UInt:
    """``2u * 3u == 6u``; ``overflow`` past 64 bits."""
    return checked_uint(int(left) * int(right))


@overload("*(double, double) -> double")
def multiply_doubles(left: float, right: float) -> float:
    """``1.5 * 2.0 == 3.0``."""
    return left * right


def _quotient(left: int, right: int) -> int:
    """The quotient, rounded toward zero."""
    if right == 0:
        raise failures.divide_by_zero()
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


@overload("/(int, int) -> int")
def divide_ints(left: int, right: int) -> int:
    """``-7 / 2 == -3``: toward zero; ``divide_by_zero``; ``overflow`` for the least int by -1."""
    return checked_int(_quotient(left, right))


@overload("/(uint, uint) -> uint")
def divide_uints(left: UInt, right: UInt) -> UInt:
    """``7u / 2u == 3u``; ``divide_by_zero``."""
    return UInt(_quotient(left, right))


@overload("/(double, double) -> double")
def divide_doubles(left: float, right: float) -> float:
    """``1.0 / 2.0 == 0.5``; by zero an infinity or NaN, as IEEE 754 has it."""
    if right != 0.0:
        return left / right
    if left == 0.0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


@overload("%(int, int) -> int")
def remainder_ints(left: int, right: int) -> int:
    """``-7 % 2 == -1``: the sign of the dividend; ``overflow`` for the least int by -1."""
    return left - checked_int(_quotient(left, right)) * right


@overload("%(uint, uint) -> uint")
def remainder_uints(left: UInt, right: UInt) -> UInt:
    """``7u % 2u == 1u``; ``divide_by_zero``."""
    return UInt(left - _quotient(left, right) * right)


# --- comparison ---------------------------------------------------------------------------

_MIXED = [
    (left, right)
    for left in ("int", "uint", "double")
    for right in ("int", "uint", "double")
    if left != right
]


def _comparisons(sign: str) -> list[str]:
    """Signatures of an ordering operator: each ordered kind, and numbers of any kinds."""
    ordered = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
    pairs = [(kind, kind) for kind in ordered] + _MIXED
    return [f"{sign}({left}, {right}) -> bool" for left, right in pairs]


def _equalities(sign: str) -> list[str]:
    mixed = [f"{sign}({left}, {right}) -> bool" for left, right in _MIXED]
    return [f"{sign}(A, A) -> bool", *mixed]


@overload(*_equalities("=="))
def is_equal(left: Any, right: Any, *, charge: Charge) -> bool:
    """``1 == 1.0``; see ``values.equal``.  Values of different kinds are unequal, no error."""
    return equal(left, right, charge)


@overload(*_equalities("!="))
def is_unequal(left: Any, right: Any, *, charge: Charge) -> bool:
    """The opposite of ``==``, for NaN too: ``NaN != NaN``."""
    return not equal(left, right, charge)


def _compare(left: Any, right: Any) -> int | None:
    try:
        return compare(left, right)
    except TypeError as error:
        raise failures.no_such_overload() from error


@overload(*_comparisons("<"))
def is_less(left: Any, right: Any) -> bool:
    """``1 < 1.5``; false when either is NaN; strings by code points, ``false < true``."""
    order = _compare(left, right)
    return order is not None and order < 0


@overload(*_comparisons("<="))
def is_at_most(left: Any, right: Any) -> bool:
    """``1 <= 1.0``; false when either is NaN."""
    order = _compare(left, right)
    return order is not None and order <= 0


@overload(*_comparisons(">"))
def is_greater(left: Any, right: Any) -> bool:
    """``2 > 1.5``; false when either is NaN."""
    order = _compare(left, right)
    return order is not None and order > 0


@overload(*_comparisons(">="))
def is_at_least(left: Any, right: Any) -> bool:
    """``1 >= 1.0``; false when either is NaN."""
    order = _compare(left, right)
    return order is not None and order >= 0


# --- logic and membership -----------------------------------------------------------------


@overload("!(bool) -> bool")
def negate_bool(value: bool) -> bool:
    """``!true == false``."""
    return not value


@overload("in(A, list(A)) -> bool")
def is_in_list(value: Any, elements: list[Any], *, charge: Charge) -> bool:
    """``2 in [1, 2]``: whether an element equals the value; the first equal one ends it."""
    for element in elements:
        charge(1)
        if equal(value, element, charge):
            return True
    return False


@overload("in(A, map(A, B)) -> bool")
def is_in_map(key: Any, entries: Map) -> bool:
    """``"a" in {"a": 1}``: whether the map has the key; for a total map too, only an entry that is
    there counts.

    A value that cannot be a key is in no map.
    """
    return key in entries
