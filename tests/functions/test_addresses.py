"""Addresses and networks in text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tidegate.functions.addresses import is_range, parse_range

PARTS = st.sampled_from(
    ["0", "1", "01", "9", "25", "199", "249", "255", "256", "a", "ff", "FFFF", "10000", "g", ""]
)
SIGNS = st.sampled_from([".", ":", "::", "/", ""])
NEAR = st.lists(st.tuples(PARTS, SIGNS), max_size=10).map(
    lambda found: "".join(part for pair in found for part in pair)
)
FAMILIES = st.one_of(
    st.ip_addresses().map(str),
    st.tuples(st.ip_addresses().map(str), st.integers(-1, 130)).map(lambda it: f"{it[0]}/{it[1]}"),
    st.ip_addresses(v=6).map(lambda it: it.exploded),
)


@given(NEAR | FAMILIES | st.text(alphabet="0123456789abF:./ %", max_size=24))
@example("::")
@example("1::/0")
@example("1:2:3:4:5:6:7::")
@example("::2:3:4:5:6:7:8/128")
@example("::ffff:192.0.2.1")
@example("192.0.2.1/08")
@example("192.0.2.1\n")
def test_the_fast_test_of_an_address_agrees_with_the_parser(text: str) -> None:
    """A text is an address or network for `is_range` exactly where `parse_range` reads it."""
    assert is_range(text) is (parse_range(text) is not None)


@pytest.mark.parametrize("groups", range(1, 9))
def test_every_place_of_the_shortening_is_known(groups: int) -> None:
    """`::` stands for one group or more, at any place."""
    for before in range(groups + 1):
        text = ":".join(["1"] * before) + "::" + ":".join(["2"] * (groups - before))
        assert is_range(text) is (groups < 8)
