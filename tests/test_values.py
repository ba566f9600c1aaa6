"""Values: kinds, equality, order, and the border to Python."""

from __future__ import annotations

import ipaddress
import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from tidegate.values import (
    INT_MAX,
    TIMESTAMP_MAX,
    UINT_MAX,
    Duration,
    Map,
    OptionalValue,
    Timestamp,
    TypeName,
    UInt,
    compare,
    equal,
    from_python,
    kind_of,
    map_key,
    to_python,
    type_of,
)
from tidegate.wire_values import from_wire, to_wire

VALUES = [
    (None, "null"),
    (True, "bool"),
    (-5, "int"),
    (UInt(5), "uint"),
    (1.5, "double"),
    ("é", "string"),
    (b"\xff", "bytes"),
    ([1, "a"], "list"),
    (Map([("a", 1), (True, 2), (UInt(7), 3)]), "map"),
    (Timestamp(-1), "timestamp"),
    (Duration(-1_500_000_000), "duration"),
    (TypeName("int"), "type"),
    (OptionalValue(), "optional"),
    (OptionalValue(None), "optional"),
    (ipaddress.ip_address("192.0.2.1"), "ip"),
    (ipaddress.ip_interface("2001:db8::1/32"), "cidr"),
]


@pytest.mark.parametrize(("value", "kind"), VALUES, ids=lambda part: str(part))
def test_every_value_has_its_kind_and_survives_both_borders(value: Any, kind: str) -> None:
    """A value keeps its kind and its equality through the wire and through Python."""
    assert kind_of(value) == kind
    assert kind_of(from_wire(to_wire(value))) == kind
    assert equal(from_wire(to_wire(value)), value)
    assert equal(from_python(to_python(value)), value)


@pytest.mark.parametrize("value", [{1, 2}, object(), 1j, range(3)])
def test_other_objects_are_no_values(value: object) -> None:
    """An object without a place in the language is refused by its type."""
    with pytest.raises(TypeError):
        kind_of(value)
    with pytest.raises(TypeError):
        from_python(value)


def test_type_names_are_those_of_the_specification() -> None:
    """Messages of the type system go by their full names."""
    assert type_of(None) == TypeName("null_type")
    assert type_of(Timestamp(0)) == TypeName("google.protobuf.Timestamp")
    assert type_of(OptionalValue()) == TypeName("optional_type")
    assert type_of(1) == TypeName("int")


def test_numbers_are_equal_when_they_are_the_same_real_number() -> None:
    """No kind of number is rounded to another before comparing."""
    assert equal(1, UInt(1))
    assert equal(1, 1.0)
    assert equal(0.0, -0.0)
    assert not equal(2**53 + 1, float(2**53))
    assert not equal(INT_MAX, float(2**63))
    assert not equal(math.nan, math.nan)


def test_kinds_do_not_mix_in_equality() -> None:
    """Values of different kinds are unequal, also where Python would call them equal."""
    assert not equal(True, 1)
    assert not equal("a", b"a")
    assert not equal([], Map())
    assert not equal(Timestamp(0), Duration(0))
    assert not equal(ipaddress.ip_address("10.0.0.1"), ipaddress.ip_interface("10.0.0.1/32"))
    assert not equal(OptionalValue(), OptionalValue(None))


def test_lists_and_maps_are_equal_part_by_part() -> None:
    """Order counts in lists and not in maps; kinds of numbers count in neither."""
    assert equal([1, [2.0]], [1.0, [2]])
    assert not equal([1, 2], [2, 1])
    assert equal(Map([("a", 1), (2, "b")]), Map([(UInt(2), "b"), ("a", 1.0)]))
    assert not equal(Map([("a", 1)]), Map([("a", 2)]))
    assert not equal(Map([(1, 1)]), Map([(True, 1)]))


def test_comparisons_are_charged_before_they_are_made() -> None:
    """Strings cost a unit for sixteen bytes of the shorter, parts of lists and maps one each."""
    spent: list[int] = []
    assert equal("é" * 8, "é" * 8, spent.append)
    assert not equal([1, 2, 3], [1, 5, 3], spent.append)
    assert not equal([1], [1, 2], spent.append)
    assert equal(Map([("a", "x" * 32)]), Map([("a", "x" * 32)]), spent.append)
    assert spent == [1, 1, 1, 1, 2]


def test_order_takes_an_integer_beside_a_double_as_the_nearest_double() -> None:
    """In an order, unlike in equality, an integer next to a double counts as the nearest double."""
    assert compare(INT_MAX, float(2**63)) == 0
    assert compare(UInt(UINT_MAX), 1.0) == 1
    assert compare(2**53 + 1, 2**53) == 1
    assert compare(1, math.nan) is None
    assert compare("a", "\U0001f600") == -1
    assert compare(False, True) == -1


@pytest.mark.parametrize(
    ("left", "right"), [(None, None), ([], []), (True, 1), ("a", b"a"), (TypeName("a"),) * 2]
)
def test_values_without_an_order_are_refused(left: Any, right: Any) -> None:
    """Values of kinds without an order cannot be compared."""
    with pytest.raises(TypeError):
        compare(left, right)


def test_map_keys_are_compared_as_the_language_does() -> None:
    """true is not 1, 1 is 1u, a whole double finds the integer."""
    entries = Map([(True, "bool"), (1, "int"), ("1", "string")])
    assert [entries[True], entries[1], entries[UInt(1)], entries[1.0], entries["1"]] == [
        "bool", "int", "int", "int", "string",
    ]  # fmt: skip
    assert 1.5 not in entries
    assert math.nan not in entries
    assert b"1" not in entries
    assert map_key(None) is None
    with pytest.raises(KeyError):
        entries[2]


@pytest.mark.parametrize("keys", [(1, UInt(1)), ("a", "a"), (True, True)])
def test_a_map_has_each_key_once(keys: tuple[Any, Any]) -> None:
    """A repeated key is refused, in whatever kind of number it is written."""
    with pytest.raises(ValueError, match="repeated"):
        Map((key, 0) for key in keys)


@pytest.mark.parametrize("key", [1.0, None, b"a", []])
def test_only_bools_integers_and_strings_are_keys(key: Any) -> None:
    """A double finds an integer but isn't a key itself."""
    with pytest.raises(TypeError):
        Map([(key, 0)])


def test_python_objects_come_in_as_what_they_mean() -> None:
    """Everyday objects of the standard library need no wrapping."""
    moment = datetime(1970, 1, 1, 1, 0, 0, 1, tzinfo=timezone(timedelta(hours=1)))
    assert from_python(moment) == Timestamp(1000)
    assert from_python(timedelta(seconds=-1)) == Duration(-1_000_000_000)
    assert from_python((1, 2)) == [1, 2]
    assert from_python({"a": (1,)}) == Map([("a", [1])])
    assert from_python(ipaddress.ip_network("10.0.0.0/8")) == ipaddress.ip_interface("10.0.0.0/8")
    assert from_python(ipaddress.ip_address("::ffff:10.0.0.1")) == ipaddress.ip_address("10.0.0.1")
    assert from_python(bytearray(b"a")) == b"a"


@pytest.mark.parametrize(
    "value",
    [
        2**63,
        UInt(-1),
        UInt(2**64),
        Timestamp(TIMESTAMP_MAX + 1),
        Duration(2**63),
        timedelta.max,
        datetime(2026, 1, 1),
        "\ud800",
        {"a": ["\udfff"]},
    ],
    ids=repr,
)
def test_values_out_of_range_do_not_come_in(value: object) -> None:
    """Integers past 64 bits, naive datetimes and lone surrogates are refused."""
    with pytest.raises(ValueError, match=r"\w"):
        from_python(value)


def test_a_map_that_a_dict_would_merge_stays_a_map() -> None:
    """A map whose keys a dict would merge stays a map."""
    assert to_python(Map([("a", Map([("b", 1)]))])) == {"a": {"b": 1}}
    kept = to_python(Map([(True, "x"), (1, "y")]))
    assert isinstance(kept, Map)
    assert list(kept.values()) == ["x", "y"]


def test_a_small_value_that_writes_out_large_is_refused() -> None:
    """A list may hold itself many times over without ever being large in memory."""
    value: list[Any] = []
    for _ in range(40):
        value = [value, value]
    for cross in (to_python, to_wire, from_python):
        with pytest.raises(ValueError, match="parts"):
            cross(value)


def test_moments_keep_nanoseconds_and_turn_to_datetimes_downward() -> None:
    """Python's own clocks stop at the microsecond."""
    assert Timestamp(1_999).to_datetime() == datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC)
    assert Timestamp(-1).to_datetime() == datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    assert Duration(1_999).to_timedelta() == timedelta(microseconds=1)
