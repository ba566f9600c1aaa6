"""Conversions between kinds, and the texts of numbers."""

from __future__ import annotations

import math
import re
from typing import Any

from tidegate.functions import failures
from tidegate.functions.operators import checked_int, checked_timestamp, checked_uint
from tidegate.functions.registry import overload
from tidegate.functions.time import (
    duration_text,
    parse_duration,
    parse_timestamp,
    timestamp_text,
)
from tidegate.values import (
    INT_MIN,
    NANOSECONDS,
    Address,
    Duration,
    Network,
    Timestamp,
    TypeName,
    UInt,
    type_of,
)

_TRUE = ("1", "t", "T", "true", "TRUE", "True")
_FALSE = ("0", "f", "F", "false", "FALSE", "False")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NATURAL = re.compile(r"[0-9]+")
_DOUBLE = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INFINITY = re.compile(r"(?ai:[+-]?inf(inity)?)")
# More digits than the largest uint has; a longer number is out of range without parsing it.
_MAX_DIGITS = 20


@overload("dyn(A) -> dyn")
def dyn(value: Any) -> Any:
    """The value itself; for the checker alone its type is known later."""
    return value


@overload("type(A) -> type(A)")
def type_of_value(value: Any) -> TypeName:
    """``type(1) == int``."""
    return type_of(value)


# --- bool ---------------------------------------------------------------------------------


@overload("bool(bool) -> bool")
def bool_from_bool(value: bool) -> bool:
    """The value itself."""
    return value


@overload("bool(string) -> bool")
def bool_from_string(text: str) -> bool:
    """``1 t T true TRUE True`` and ``0 f F false FALSE False``; else ``invalid_argument``."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise failures.invalid_argument("the text is no bool")


# --- int and uint -------------------------------------------------------------------------


@overload("int(int) -> int")
def int_from_int(value: int) -> int:
    """The value itself."""
    return value


@overload("int(uint) -> int")
def int_from_uint(value: UInt) -> int:
    """``int(42u) == 42``; ``overflow`` past the greatest int."""
    return checked_int(int(value))


@overload("int(double) -> int")
def int_from_double(value: float) -> int:
    """``int(-7.9) == -7``: rounded toward zero.

    ``overflow`` for NaN, infinities, and outside -2**63 < value < 2**63; -2**63 itself is
    refused, since the double may stand for a number below it.
    """
    if not math.isfinite(value) or not INT_MIN < value < -INT_MIN:
        raise failures.overflow("int")
    return math.trunc(value)


@overload("int(string) -> int")
def int_from_string(text: str) -> int:
    """``int("-42") == -42``: a sign and decimal digits.

    ``invalid_argument`` for any other text, ``overflow`` for a number out of range.
    """
    if not _INTEGER.fullmatch(text):
        raise failures.invalid_argument("the text is no integer")
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _MAX_DIGITS:
        raise failures.overflow("int")
    return checked_int(-int(digits) if text.startswith("-") else int(digits))


@overload("int(timestamp) -> int")
def int_from_timestamp(moment: Timestamp) -> int:
    """Seconds since 1970-01-01T00:00:00Z, rounded down."""
    return moment.nanoseconds // NANOSECONDS


@overload("uint(uint) -> uint")
def uint_from_uint(value: UInt) -> UInt:
    """The value itself."""
    return value


@overload("uint(int) -> uint")
def uint_from_int(value: int) -> UInt:
    """``uint(42) == 42u``; ``overflow`` below zero."""
    return checked_uint(value)


@overload("uint(double) -> uint")
def uint_from_double(value: float) -> UInt:
    """``uint(3.9) == 3u``: rounded toward zero; ``overflow`` for NaN, infinities, anything below
    zero (also -0.5) and from 2**64 on."""
    if not math.isfinite(value) or value < 0:
        raise failures.overflow("uint")
    return checked_uint(math.trunc(value))


@overload("uint(string) -> uint")
def uint_from_string(text: str) -> UInt:
    """``uint("42") == 42u``: decimal digits without a sign, else as ``int(string)``."""
    if not _NATURAL.fullmatch(text):
        raise failures.invalid_argument("the text is no unsigned integer")
    digits = text.lstrip("0") or "0"
    if len(digits) > _MAX_DIGITS:
        raise failures.overflow("uint")
    return checked_uint(int(digits))


# --- double -------------------------------------------------------------------------------


@overload("double(double) -> double")
def double_from_double(value: float) -> float:
    """The value itself."""
    return value


@overload("double(int) -> double", "double(uint) -> double")
def double_from_integer(value: int) -> float:
    """``double(1) == 1.0``: the nearest double, ties to even."""
    return float(int(value))


@overload("double(string) -> double")
def double_from_string(text: str) -> float:
    """``double("-1.5e3") == -1500.0``: the nearest double, ties to even.

    A sign, decimal digits with or without a point (which may come first or last), an
    exponent; or ``NaN`` without a sign, ``Inf`` or ``Infinity`` with or without one, in
    any case of letters.  ``invalid_argument`` for any other text; ``overflow`` for a
    number that rounds to an infinity.
    """
    if text.lower() == "nan":
        return math.nan
    if _INFINITY.fullmatch(text):
        return -math.inf if text.startswith("-") else math.inf
    if not _DOUBLE.fullmatch(text):
        raise failures.invalid_argument("the text is no number")
    value = float(text)
    if math.isinf(value):
        raise failures.overflow("double")
    return value


def positional_text(value: float) -> str:
    """The shortest decimal that reads back to the same double, without an exponent.

    ``1.0`` is ``1``, ``1e21`` has 22 digits; ``NaN``, ``Infinity``, ``-Infinity``, ``-0``.
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    sign, digits, point = _shortest(value)
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    return f"{sign}{digits[:point]}.{digits[point:]}"


def _shortest(value: float) -> tuple[str, str, int]:
    """Sign, shortest digits without outer zeros, and the position of the decimal point in them."""
    mantissa, _, exponent = f"{value!r}".lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    return (sign, digits.rstrip("0"), point) if digits.strip("0") else (sign, "0", 1)


def double_text(value: float) -> str:
    """The text of a double: the digits of ``positional_text``, laid out as ECMAScript does.

    From 1e-6 up to below 1e21 without an exponent (``0.000001``, ``123456789``), else as
    ``1e+21``, ``1.5e-7``: one digit before the point, a sign and no leading zeros in the
    exponent.
    """
    if not math.isfinite(value) or value == 0 or 1e-6 <= abs(value) < 1e21:
        return positional_text(value)
    sign, digits, point = _shortest(value)
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"


# --- string and bytes ---------------------------------------------------------------------


@overload("string(string) -> string")
def string_from_string(value: str) -> str:
    """The value itself."""
    return value


@overload("string(bool) -> string")
def string_from_bool(value: bool) -> str:
    """``true`` or ``false``."""
    return "true" if value else "false"


@overload("string(int) -> string", "string(uint) -> string")
def string_from_integer(value: int) -> str:
    """The decimal digits; no ``u`` for a uint."""
    return str(int(value))


@overload("string(double) -> string")
def string_from_double(value: float) -> str:
    """``string(-4.5e-3) == "-0.0045"``, ``string(1e21) == "1e+21"``; see ``double_text``."""
    return double_text(value)


@overload("string(bytes) -> string")
def string_from_bytes(data: bytes) -> str:
    """``string(b"abc") == "abc"``; ``invalid_utf8`` for bytes that are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise failures.invalid_utf8() from error


@overload("string(timestamp) -> string")
def string_from_timestamp(moment: Timestamp) -> str:
    """RFC 3339 in UTC: ``2009-02-13T23:31:30.5Z``, without trailing zeros in the fraction."""
    return timestamp_text(moment)


@overload("string(duration) -> string")
def string_from_duration(length: Duration) -> str:
    """Seconds: ``string(duration("1m30s500ms")) == "90.5s"``, exact, without trailing zeros."""
    return duration_text(length)


@overload("string(net.IP) -> string", "string(net.CIDR) -> string")
def string_from_address(value: Address | Network) -> str:
    """The canonical text of RFC 5952; of a network with its host bits and prefix length."""
    return str(value)


@overload("bytes(bytes) -> bytes")
def bytes_from_bytes(value: bytes) -> bytes:
    """The value itself."""
    return value


@overload("bytes(string) -> bytes")
def bytes_from_string(text: str) -> bytes:
    """The UTF-8 of the text."""
    return text.encode()


# --- timestamp and duration ---------------------------------------------------------------


@overload("timestamp(timestamp) -> timestamp")
def timestamp_from_timestamp(moment: Timestamp) -> Timestamp:
    """The value itself."""
    return moment


@overload("timestamp(string) -> timestamp")
def timestamp_from_string(text: str) -> Timestamp:
    """RFC 3339 text: see ``time.parse_timestamp``."""
    return parse_timestamp(text)


@overload("timestamp(int) -> timestamp")
def timestamp_from_int(seconds: int) -> Timestamp:
    """Seconds since 1970-01-01T00:00:00Z; ``overflow`` outside the years 1 to 9999."""
    return checked_timestamp(seconds * NANOSECONDS)


@overload("duration(duration) -> duration")
def duration_from_duration(length: Duration) -> Duration:
    """The value itself."""
    return length


@overload("duration(string) -> duration")
def duration_from_string(text: str) -> Duration:
    """``duration("1h30m")``: see ``time.parse_duration``."""
    return parse_duration(text)
