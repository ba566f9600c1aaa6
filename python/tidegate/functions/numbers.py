"""The math extension."""

from __future__ import annotations

import math
from typing import Any

from tidegate.functions import failures
from tidegate.functions.operators import checked_int
from tidegate.functions.registry import overload
from tidegate.values import INT_MAX, UINT_MAX, UInt, compare, is_number


def _extreme_signatures(name: str) -> list[str]:
    kinds = [f"math.{name}({kind}...) -> {kind}" for kind in ("int", "uint", "double", "dyn")]
    lists = [f"math.{name}(list({kind})) -> {kind}" for kind in ("int", "uint", "double", "dyn")]
    # The lists come first: a single list is also a single value with a type known later.
    return lists + kinds


def _extreme(arguments: tuple[Any, ...], sign: int) -> Any:
    lone_list = len(arguments) == 1 and isinstance(arguments[0], list)
    values = arguments[0] if lone_list else list(arguments)
    if not all(is_number(value) for value in values):
        raise failures.no_such_overload("only numbers have a greatest and a least")
    if not values:
        raise failures.invalid_argument("an empty list has no greatest and no least")
    best = values[0]
    for value in values[1:]:
        order = compare(value, best)
        if order is None:
            raise failures.invalid_argument("NaN has no place in an order")
        if order * sign > 0:
            best = value
    return best


@overload(*_extreme_signatures("greatest"))
def greatest(*values: Any) -> Any:
    """``math.greatest(1, 2.5, 2u) == 2.5``; also of one list.

    Of equal ones the first is returned, in its own kind.  ``invalid_argument`` for an
    empty list and for NaN among several; ``no_such_overload`` for what isn't a number.
    """
    return _extreme(values, 1)


@overload(*_extreme_signatures("least"))
def least(*values: Any) -> Any:
    """``math.least(1, 2.5, 2u) == 1``; as ``math.greatest``."""
    return _extreme(values, -1)


def _integral(value: float, rounded: float) -> float:
    """``rounded`` with the sign of ``value``, so that -0.4 rounds to -0.0."""
    return math.copysign(rounded, value)


@overload("math.ceil(double) -> double")
def ceil(value: float) -> float:
    """``math.ceil(1.2) == 2.0``; NaN and infinities stay, ``math.ceil(-0.5)`` is -0.0."""
    return _integral(value, float(math.ceil(value))) if math.isfinite(value) else value


@overload("math.floor(double) -> double")
def floor(value: float) -> float:
    """``math.floor(-1.2) == -2.0``; NaN and infinities stay."""
    return _integral(value, float(math.floor(value))) if math.isfinite(value) else value


@overload("math.trunc(double) -> double")
def trunc(value: float) -> float:
    """``math.trunc(-1.8) == -1.0``; NaN and infinities stay."""
    return _integral(value, float(math.trunc(value))) if math.isfinite(value) else value


@overload("math.round(double) -> double")
def round_half_away(value: float) -> float:
    """``math.round(-1.5) == -2.0``: halves go away from zero; NaN and infinities stay."""
    if not math.isfinite(value):
        return value
    whole = math.trunc(value)
    # The difference is exact, unlike adding a half first.
    if abs(value - whole) >= 0.5:
        whole += 1 if value > 0 else -1
    return _integral(value, float(whole))


@overload("math.abs(int) -> int")
def abs_int(value: int) -> int:
    """``math.abs(-1) == 1``; ``overflow`` for the least int."""
    return checked_int(abs(value))


@overload("math.abs(uint) -> uint")
def abs_uint(value: UInt) -> UInt:
    """``math.abs(1u) == 1u``."""
    return value


@overload("math.abs(double) -> double")
def abs_double(value: float) -> float:
    """``math.abs(-1.5) == 1.5``; NaN stays."""
    return abs(value)


@overload("math.sign(int) -> int")
def sign_int(value: int) -> int:
    """-1, 0 or 1."""
    return (value > 0) - (value < 0)


@overload("math.sign(uint) -> uint")
def sign_uint(value: UInt) -> UInt:
    """0u or 1u."""
    return UInt(value > 0)


@overload("math.sign(double) -> double")
def sign_double(value: float) -> float:
    """-1.0, 0.0 or 1.0; 0.0 for -0.0; NaN stays."""
    return value if math.isnan(value) else float((value > 0) - (value < 0))


@overload("math.isNaN(double) -> bool")
def is_nan(value: float) -> bool:
    """``math.isNaN(0.0 / 0.0)``."""
    return math.isnan(value)


@overload("math.isInf(double) -> bool")
def is_inf(value: float) -> bool:
    """``math.isInf(-1.0 / 0.0)``."""
    return math.isinf(value)


@overload("math.isFinite(double) -> bool")
def is_finite(value: float) -> bool:
    """``math.isFinite(1.0)``."""
    return math.isfinite(value)


@overload("math.sqrt(double) -> double", "math.sqrt(int) -> double", "math.sqrt(uint) -> double")
def sqrt(value: float) -> float:
    """``math.sqrt(81) == 9.0``; NaN below zero; -0.0 stays."""
    number = float(value)
    return math.sqrt(number) if number >= 0 else math.nan


# --- bits ---------------------------------------------------------------------------------


def _signed(bits: int) -> int:
    """The int with these 64 bits."""
    bits &= UINT_MAX
    return bits if bits <= INT_MAX else bits - 2**64


@overload("math.bitAnd(int, int) -> int")
def bit_and_int(left: int, right: int) -> int:
    """``math.bitAnd(3, 5) == 1``, in two's complement."""
    return left & right


@overload("math.bitAnd(uint, uint) -> uint")
def bit_and_uint(left: UInt, right: UInt) -> UInt:
    """``math.bitAnd(3u, 5u) == 1u``."""
    return UInt(left & right)


@overload("math.bitOr(int, int) -> int")
def bit_or_int(left: int, right: int) -> int:
    """``math.bitOr(1, 2) == 3``, in two's complement."""
    return left | right


@overload("math.bitOr(uint, uint) -> uint")
def bit_or_uint(left: UInt, right: UInt) -> UInt:
    """``math.bitOr(1u, 2u) == 3u``."""
    return UInt(left | right)


@overload("math.bitXor(int, int) -> int")
def bit_xor_int(left: int, right: int) -> int:
    """``math.bitXor(3, 5) == 6``, in two's complement."""
    return left ^ right


@overload("math.bitXor(uint, uint) -> uint")
def bit_xor_uint(left: UInt, right: UInt) -> UInt:
    """``math.bitXor(3u, 5u) == 6u``."""
    return UInt(left ^ right)


@overload("math.bitNot(int) -> int")
def bit_not_int(value: int) -> int:
    """``math.bitNot(1) == -2``."""
    return ~value


@overload("math.bitNot(uint) -> uint")
def bit_not_uint(value: UInt) -> UInt:
    """``math.bitNot(0u) == 18446744073709551615u``."""
    return UInt(UINT_MAX - value)


def _shift(bits: int, places: int) -> int:
    """64 bits shifted up (or down, for negative places); bits shifted out are lost."""
    if abs(places) >= 64:
        return 0
    return (bits << places if places >= 0 else bits >> -places) & UINT_MAX


def _places(places: int) -> int:
    if places < 0:
        raise failures.invalid_argument("bits cannot be shifted by a negative number of places")
    return places


@overload("math.bitShiftLeft(int, int) -> int")
def shift_left_int(value: int, places: int) -> int:
    """``math.bitShiftLeft(1, 2) == 4``: bits leave at the top without an error; 0 from 64 places
    on; ``invalid_argument`` for negative places."""
    return _signed(_shift(value & UINT_MAX, _places(places)))


@overload("math.bitShiftLeft(uint, int) -> uint")
def shift_left_uint(value: UInt, places: int) -> UInt:
    """The same as for int."""
    return UInt(_shift(int(value), _places(places)))


@overload("math.bitShiftRight(int, int) -> int")
def shift_right_int(value: int, places: int) -> int:
    """``math.bitShiftRight(-1024, 3) == 2305843009213693824``: zeros enter at the top, so a
    negative number becomes a positive one (0 places leave it as it is)."""
    return _signed(_shift(value & UINT_MAX, -_places(places)))


@overload("math.bitShiftRight(uint, int) -> uint")
def shift_right_uint(value: UInt, places: int) -> UInt:
    """``math.bitShiftRight(1024u, 2) == 256u``."""
    return UInt(_shift(int(value), -_places(places)))
