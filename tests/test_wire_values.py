"""Values on the wire: each is as documented, and survives."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.values import (
    INT_MAX,
    TIMESTAMP_MAX,
    UINT_MAX,
    Duration,
    Map,
    OptionalValue,
    Timestamp,
    UInt,
    equal,
)
from tidegate.wire_values import from_wire, to_wire


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (-0.0, {"type": "double", "value": "-0.0"}),
        (math.inf, {"type": "double", "value": "Infinity"}),
        (UInt(7), {"type": "uint", "value": "7"}),
        (Timestamp(-1), {"type": "timestamp", "seconds": "-1", "nanos": 999_999_999}),
        (Duration(-1), {"type": "duration", "seconds": "0", "nanos": -1}),
        (OptionalValue(), {"type": "optional", "value": None}),
        (b"hi", {"type": "bytes", "value": "aGk="}),
    ],
)
def test_wires_are_as_documented(value: object, wire: object) -> None:
    """The forms that JSON leaves open are fixed."""
    assert to_wire(value) == wire


@pytest.mark.parametrize(
    "wire",
    [
        None,
        {},
        {"type": "other", "value": "1"},
        {"type": "int", "value": 1},
        {"type": "int", "value": "1_000"},
        {"type": "int", "value": "9223372036854775808"},
        {"type": "uint", "value": "-1"},
        {"type": "double", "value": "x"},
        {"type": "bytes", "value": "a"},
        {"type": "list", "value": {}},
        {"type": "map", "value": [[{"type": "null"}, {"type": "null"}]]},
        {"type": "map", "value": [[{"type": "null"}]]},
        {"type": "timestamp", "seconds": "1"},
        {"type": "timestamp", "seconds": "1", "nanos": 10**9},
        {"type": "ip", "value": "1.2.3"},
        {"type": "string", "value": "\ud800"},
        {"type": "bool", "value": 1},
    ],
    ids=repr,
)
def test_malformed_wires_are_refused(wire: object) -> None:
    """A wire comes from outside and is held to the form."""
    with pytest.raises(ValueError, match=r"\w"):
        from_wire(wire)


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), INT_MAX)
    | st.integers(0, UINT_MAX).map(UInt)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary()
    | st.integers(0, TIMESTAMP_MAX).map(Timestamp)
    | st.integers(-(2**63), INT_MAX).map(Duration)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("abc"), inner, max_size=4).map(lambda d: Map(d.items()))
        | inner.map(OptionalValue)
    ),
    max_leaves=10,
)


@given(values)
def test_any_value_survives_the_wire(value: Any) -> None:
    """Reading what was written gives an equal value, written the same."""
    assert equal(from_wire(to_wire(value)), value)
    assert to_wire(from_wire(to_wire(value))) == to_wire(value)
