"""The math extension."""

# ruff: noqa: E501  (one claim a line)
from __future__ import annotations

import math

import pytest

from reference_checks import code, value


@pytest.mark.parametrize(
    "claim",
    [
        "math.greatest(1, 2.5, 2u) == 2.5 && math.least([3, 1, 2]) == 1 && math.greatest(5) == 5",
        "type(dyn(math.greatest(1.0, 1))) == double && type(dyn(math.greatest(1, 1.0))) == int",
        "math.ceil(-1.5) == -1.0 && math.floor(-1.5) == -2.0 && math.trunc(-1.5) == -1.0",
        "math.round(2.5) == 3.0 && math.round(-2.5) == -3.0 && math.round(0.49999999999999994) == 0.0",
        "math.abs(-1) == 1 && math.sign(-2.5) == -1.0 && math.sign(0u) == 0u",
        "math.isNaN(math.sign(0.0 / 0.0)) && math.isInf(1.0 / 0.0) && math.isFinite(1.0)",
        "math.sqrt(81) == 9.0 && math.isNaN(math.sqrt(-1.0)) && math.sqrt(4u) == 2.0",
        "math.bitAnd(12, 10) == 8 && math.bitOr(12u, 10u) == 14u && math.bitXor(-1, 1) == -2",
        "math.bitNot(0) == -1 && math.bitNot(0u) == 18446744073709551615u",
        "math.bitShiftLeft(1, 63) < 0 && math.bitShiftLeft(3, 64) == 0",
        "math.bitShiftRight(-1, 63) == 1 && math.bitShiftRight(-1, 0) == -1",
        "math.bitShiftRight(8u, 2) == 2u",
    ],
)
def test_numbers_are_computed(claim: str) -> None:
    """Halves go away from zero, shifts lose bits, of equal extremes the first stays."""
    assert value(claim) is True


@pytest.mark.parametrize("function", ["ceil", "floor", "round", "trunc"])
def test_rounding_keeps_what_has_no_fraction(function: str) -> None:
    """Infinities and NaN stay, and so does the sign of zero."""
    assert value(f"math.{function}(x)", x=-math.inf) == -math.inf
    assert math.isnan(value(f"math.{function}(x)", x=math.nan))
    assert math.copysign(1, value(f"math.{function}(x)", x=-0.0)) == -1


@pytest.mark.parametrize(
    ("text", "argument", "expected"),
    [
        ("math.abs(x)", -(2**63), "overflow"),
        ("math.greatest(x)", [], "invalid_argument"),
        ("math.least(1.0, x)", math.nan, "invalid_argument"),
        ("math.greatest(x)", ["a"], "no_such_overload"),
        ("math.greatest(x, 1)", "a", "no_such_overload"),
        ("math.bitShiftLeft(1, x)", -1, "invalid_argument"),
        ("math.bitShiftRight(1u, x)", -1, "invalid_argument"),
        ("math.ceil(x)", 1, "no_such_overload"),
    ],
)
def test_what_has_no_number_is_an_error(text: str, argument: object, expected: str) -> None:
    """A math function without a number is an error, not a guess."""
    assert code(text, x=argument) == expected
