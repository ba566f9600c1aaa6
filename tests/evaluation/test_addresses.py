"""Addresses and networks in text."""

from __future__ import annotations

import ipaddress

import pytest

from tidegate.functions.addresses import contains, parse_address, parse_network, parse_range


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("0.0.0.0", "0.0.0.0"),
        ("2001:DB8::1", "2001:db8::1"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ("::ffff:c000:201", "192.0.2.1"),
        ("::", "::"),
    ],
)
def test_addresses_are_read(text: str, expected: str) -> None:
    """Addresses are read in any spelling of RFC 4291; mapped ones become IPv4."""
    assert str(parse_address(text)) == expected


@pytest.mark.parametrize(
    "text",
    ["", " ", "1.2.3", "1.2.3.4.5", "1.2.3.04", "1.2.3.256", "1.2.3.4 ", "+1.2.3.4", "１.2.3.4",
     "1.2.3.4/32", "fe80::1%eth0", ":::", "1::2::3", "12345::", "[::1]", "::g", "0x7f.1", "1" * 99],
)  # fmt: skip
@pytest.mark.parametrize("dotted_ipv6", [False, True])
def test_near_addresses_are_none(text: str, dotted_ipv6: bool) -> None:
    """Nothing is guessed, trimmed or folded."""
    assert parse_address(text, dotted_ipv6=dotted_ipv6) is None


def test_the_dotted_spelling_of_ipv6_is_for_events_only() -> None:
    """Expressions and lists refuse it, events fold it."""
    for text, folded in [
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("64:ff9b::192.0.2.1", "64:ff9b::c000:201"),
    ]:
        assert parse_address(text) is None
        assert str(parse_address(text, dotted_ipv6=True)) == folded
    assert parse_network("::ffff:10.0.0.0/104") is None
    assert str(parse_network("::ffff:10.0.0.0/104", dotted_ipv6=True)) == "10.0.0.0/8"


def test_networks_keep_host_bits_and_mapped_ones_become_ipv4() -> None:
    """A mapped network of at least 96 bits becomes IPv4; a shorter one stays IPv6."""
    assert str(parse_network("10.1.2.3/8")) == "10.1.2.3/8"
    assert str(parse_network("::ffff:a01:203/104")) == "10.1.2.3/8"
    shorter = parse_network("::ffff:a01:203/95")
    assert shorter is not None
    assert shorter.version == 6


@pytest.mark.parametrize(
    "text", ["10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "::/129", "10.0.0.0/ 8", "/8",
             "10.0.0.0/255.0.0.0", "10.0.0.0/8/8", "10.0.0.0/-1", "10.0.0.0/１"],
)  # fmt: skip
def test_near_networks_are_none(text: str) -> None:
    """A prefix length is decimal, without leading zeros, and no mask."""
    assert parse_network(text) is None


def test_a_range_is_an_address_or_a_network() -> None:
    """An address counts as a range of one."""
    assert str(parse_range("10.0.0.1")) == "10.0.0.1/32"
    assert str(parse_range("::1")) == "::1/128"
    assert str(parse_range("10.0.0.1/8")) == "10.0.0.1/8"
    assert parse_range("x") is None


def test_families_do_not_contain_one_another() -> None:
    """No IPv4 network contains an IPv6 address, nor the other way round."""
    address = ipaddress.ip_address("10.0.0.1")
    assert contains(ipaddress.ip_interface("10.9.9.9/8"), address)
    assert not contains(ipaddress.ip_interface("::/0"), address)
