"""Conversions, and the texts of numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_checks import code, value
from tidegate.functions.conversions import double_from_string, double_text, positional_text


@pytest.mark.parametrize(
    ("number", "text", "positional"),
    [
        (0.0, "0", "0"),
        (-0.0, "-0", "-0"),
        (1.0, "1", "1"),
        (123456789.0, "123456789", "123456789"),
        (0.1, "0.1", "0.1"),
        (1e-6, "0.000001", "0.000001"),
        (1.5e-7, "1.5e-7", "0.00000015"),
        (1e20, "100000000000000000000", "100000000000000000000"),
        (1e21, "1e+21", "1000000000000000000000"),
        (-1.25e300, "-1.25e+300", "-125" + "0" * 298),
        (5e-324, "5e-324", "0." + "0" * 323 + "5"),
        (2098645499556942.25, "2098645499556942.2", "2098645499556942.2"),
        (-2098645499556942.75, "-2098645499556942.8", "-2098645499556942.8"),
        (math.nan, "NaN", "NaN"),
        (-math.inf, "-Infinity", "-Infinity"),
    ],
)
def test_doubles_have_one_text(number: float, text: str, positional: str) -> None:
    """The shortest digits, laid out as ECMAScript does; without an exponent for formats."""
    assert double_text(number) == text
    assert positional_text(number) == positional


@given(st.floats(allow_nan=False))
def test_the_text_of_a_double_reads_back(number: float) -> None:
    """Both layouts name the same double, its sign included."""
    for text in (double_text(number), positional_text(number)):
        back = double_from_string(text)
        assert back == number
        assert math.copysign(1, back) == math.copysign(1, number)


@pytest.mark.parametrize(
    "claim",
    [
        "int('-42') == -42 && int('+7') == 7 && int('007') == 7 && uint('42') == 42u",
        "int(3.99) == 3 && int(-3.99) == -3 && uint(3.99) == 3u && uint(-0.0) == 0u",
        "int('-9223372036854775808') == -9223372036854775807 - 1",
        "int(timestamp('1969-12-31T23:59:59.5Z')) == -1",
        "double('1.') == 1.0 && double('.5') == 0.5 && double('-1e3') == -1000.0",
        "double('inf') > 1e308 && double('-Infinity') < -1e308 && math.isNaN(double('nan'))",
        "bool('t') && bool('TRUE') && !bool('0') && !bool('False')",
        "string(true) == 'true' && string(-5) == '-5' && string(5u) == '5'",
        "string(b'\\xc3\\xa9') == 'é' && bytes('é') == b'\\xc3\\xa9'",
        "string(timestamp('2009-02-13T23:31:30.500+01:00')) == '2009-02-13T22:31:30.5Z'",
        "string(duration('-1m30s500ms')) == '-90.5s'",
        "string(ip('2001:DB8::0')) == '2001:db8::' && string(cidr('10.1.2.3/8')) == '10.1.2.3/8'",
        "timestamp(1) == timestamp('1970-01-01T00:00:01Z')",
        "type(1) == int && type(1u) == uint && type('') == string && type(type(1)) == type",
        "type(dyn(ip('10.0.0.1'))) == net.IP && type(null) == null_type",
    ],
)
def test_conversions_keep_the_meaning(claim: str) -> None:
    """Numbers go toward zero, texts are read whole, times are written in UTC."""
    assert value(claim) is True


@pytest.mark.parametrize(
    ("function", "argument", "expected"),
    [
        ("int", "4.0", "invalid_argument"),
        ("int", "", "invalid_argument"),
        ("int", " 1", "invalid_argument"),
        ("int", "1_0", "invalid_argument"),
        ("int", "١", "invalid_argument"),
        ("int", "9223372036854775808", "overflow"),
        ("int", "9" * 5000, "overflow"),
        ("int", -(2.0**63), "overflow"),
        ("int", math.nan, "overflow"),
        ("uint", "-1", "invalid_argument"),
        ("uint", "18446744073709551616", "overflow"),
        ("uint", -0.5, "overflow"),
        ("uint", -1, "overflow"),
        ("uint", 2.0**64, "overflow"),
        ("double", "1e999", "overflow"),
        ("double", "0x1p3", "invalid_argument"),
        ("double", "1e", "invalid_argument"),
        ("double", "-nan", "invalid_argument"),
        ("bool", "yes", "invalid_argument"),
        ("string", b"\xff", "invalid_utf8"),
        ("timestamp", 2**62, "overflow"),
        ("timestamp", "yesterday", "invalid_argument"),
        ("duration", "1 hour", "invalid_argument"),
        ("int", None, "no_such_overload"),
        ("string", [], "no_such_overload"),
    ],
)
def test_what_does_not_convert_is_an_error(function: str, argument: object, expected: str) -> None:
    """A text of the right form that is out of range overflows; any other isn't an argument."""
    assert code(f"{function}(x)", x=argument) == expected
