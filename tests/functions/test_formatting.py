"""``string.format``."""

from __future__ import annotations

from typing import Any

import pytest

from reference_checks import code, value
from tidegate.values import Duration, Map, Timestamp, TypeName, UInt


@pytest.mark.parametrize(
    ("template", "argument", "expected"),
    [
        ("%s", None, "null"),
        ("%s", True, "true"),
        ("%s", 1e21, "1000000000000000000000"),
        ("%s", b"caf\xc3\xa9", "café"),
        ("%s", [1, ["a"], {}], "[1, [a], {}]"),
        ("%s", Map([("b", 1), (2, 2), ("a", 3), (True, 4)]), "{2: 2, a: 3, b: 1, true: 4}"),
        ("%s", Timestamp(1_500_000_000), "1970-01-01T00:00:01.5Z"),
        ("%s", Duration(-500_000_000), "-0.5s"),
        ("%s", TypeName("net.IP"), "net.IP"),
        ("%d", -0.0, "-0"),
        ("%d", UInt(7), "7"),
        ("%.0f", 2.5, "2"),
        ("%.3f", 1.2345, "1.234"),
        ("%.25f", 0.1, "0.1000000000000000055511151"),
        ("%f", 7, "7.000000"),
        ("%e", 0.0, "0.000000e+00"),
        ("%.0e", 2.5e100, "2e+100"),
        ("%.2s", "abc", "abc"),
        ("%b", -5, "-101"),
        ("%b", False, "0"),
        ("%o", 8, "10"),
        ("%x", -255, "-ff"),
        ("%X", "é", "C3A9"),
        ("%x", b"", ""),
        ("100%%: %s", "x", "100%: x"),
    ],
)
def test_clauses_write_values(template: str, argument: Any, expected: str) -> None:
    """Each clause has one way to write each kind it takes."""
    assert value("template.format([x])", template=template, x=argument) == expected


@pytest.mark.parametrize(
    ("template", "argument", "expected"),
    [
        ("%", 1, "invalid_argument"),
        ("%5d", 1, "invalid_argument"),
        ("%q", 1, "invalid_argument"),
        ("%.f", 1.0, "invalid_argument"),
        ("%.1001f", 1.0, "invalid_argument"),
        ("%." + "9" * 5000 + "f", 1.0, "invalid_argument"),
        ("%d", "1", "invalid_argument"),
        ("%b", 1.0, "invalid_argument"),
        ("%x", 1.0, "invalid_argument"),
        ("%e", None, "invalid_argument"),
        ("%s%s", 1, "index_out_of_range"),
        ("%s", b"\xff", "invalid_utf8"),
    ],
)
def test_wrong_formats_are_errors(template: str, argument: Any, expected: str) -> None:
    """A clause takes only what it can write."""
    assert code("template.format([x])", template=template, x=argument) == expected


def test_arguments_left_over_are_ignored() -> None:
    """Arguments left over are ignored, as in published engines."""
    assert value("template.format([1, 2])", template="%d") == "1"


def test_a_value_that_writes_out_large_ends_in_time() -> None:
    """The bound holds while writing, not after it."""
    nested: Any = "x"
    for _ in range(18):
        nested = [nested, nested]
    assert code("'%s'.format([x])", x=nested) == "cost_exceeded"
