"""Arithmetic, comparison and membership."""

# ruff: noqa: E501  (one claim a line)
from __future__ import annotations

import math

import pytest

from reference_checks import code, total, value
from tidegate.values import UInt

INT_MIN = "(-9223372036854775807 - 1)"


@pytest.mark.parametrize(
    "claim",
    [
        "7 / 2 == 3 && -7 / 2 == -3 && 7 / -2 == -3",
        "7 % 2 == 1 && -7 % 2 == -1 && 7 % -2 == 1",
        "7u / 2u == 3u && 7u % 2u == 1u",
        "-(5) == -5 && 2 - 3 == -1 && 2.5 * 2.0 == 5.0",
        "'a' + 'b' == 'ab' && b'a' + b'b' == b'ab' && [1] + [2] == [1, 2]",
        "1.0 / 0.0 > 1.0e308 && -1.0 / 0.0 < -1.0e308 && 1.0 / -0.0 < -1.0e308",
        "!(0.0 / 0.0 == 0.0 / 0.0) && 0.0 / 0.0 != 0.0 / 0.0",
        "!(0.0 / 0.0 < 1.0) && !(0.0 / 0.0 >= 1.0)",
        "1 < 1.5 && 2u > 1 && 1.0 <= 1u && dyn(1) == 1.0 && dyn(1u) == 1",
        "dyn(9007199254740993) != 9007199254740992.0",
        "false < true && b'a' < b'ab' && 'Z' < 'a'",
        "dyn(1) != dyn('1') && dyn([]) != dyn({}) && dyn(null) != dyn(0)",
        "2 in [1, 2] && !(3 in [1, 2]) && !('a' in []) && dyn(2) in [1.0, 2.0]",
        "1 in {1: 'a'} && dyn(1u) in {1: 'a'} && !(dyn(1.5) in {1: 'a'}) && !(dyn(null) in {1: 'a'})",
        "timestamp(0) + duration('1s') - timestamp(1) == duration('0s')",
        "duration('1s') + timestamp(0) == timestamp(1) && duration('1s') - duration('2s') < duration('0')",
    ],
)  # fmt: skip
def test_operators_mean_what_they_say(claim: str) -> None:
    """Integers divide toward zero, doubles follow IEEE 754, kinds of numbers compare."""
    assert value(claim) is True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x / 0", "divide_by_zero"),
        ("x % 0", "divide_by_zero"),
        ("y / 0u", "divide_by_zero"),
        ("x + 9223372036854775807", "overflow"),
        (f"{INT_MIN} - x", "overflow"),
        (f"-({INT_MIN} + x - 1)", "overflow"),
        (f"({INT_MIN} + x - 1) / -1", "overflow"),
        (f"({INT_MIN} + x - 1) % -1", "overflow"),
        ("x * 9223372036854775807 * 2", "overflow"),
        ("y - 2u", "overflow"),
        ("y + 18446744073709551615u", "overflow"),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1s') * x", "no_such_overload"),
        ("timestamp('9999-12-31T23:59:59.999999999Z') + duration(s)", "overflow"),
        ("timestamp('0001-01-01T00:00:00Z') - duration(s)", "overflow"),
        ("timestamp('9999-12-31T23:59:59Z') - timestamp(t)", "overflow"),
        ("x + 1.0", "no_such_overload"),
        ("x < s", "no_such_overload"),
        ("s in s", "no_such_overload"),
        ("-s", "no_such_overload"),
        ("!x", "no_such_overload"),
    ],
)
def test_what_has_no_result_is_an_error(text: str, expected: str) -> None:
    """Nothing wraps, and no operator takes what it is not declared for."""
    assert code(text, x=1, y=UInt(1), s="1s", t="0001-01-01T00:00:00Z") == expected


def test_membership_of_a_total_map_tells_what_is_there() -> None:
    """An absent header reads as "" but is not in the map."""
    assert value("h['a'] == '' && !('a' in h) && 'b' in h", h=total(b="1")) is True


def test_doubles_overflow_to_infinity() -> None:
    """A double past its range becomes an infinity, as in IEEE 754."""
    assert value("x * 10.0", x=1e308) == math.inf
