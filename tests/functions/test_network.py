"""Addresses, networks and lists of them."""

# ruff: noqa: E501  (one claim a line)
from __future__ import annotations

import pytest

from reference_checks import code, value


@pytest.mark.parametrize(
    "claim",
    [
        "ip('::ffff:c0a8:1') == ip('192.168.0.1') && ip('2001:DB8::1') == ip('2001:db8:0::1')",
        "isIP('1.2.3.4') && !isIP('1.2.3.04') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%a')",
        "isCIDR('10.1.2.3/8') && !isCIDR('10.0.0.0/08') && !isCIDR('10.0.0.0/33') && !isCIDR('10.0.0.0')",
        "ip.isCanonical('2001:db8::1') && !ip.isCanonical('2001:db8:0::1')",
        "ip('::1').family() == 6 && ip('::1').isLoopback() && ip('0.0.0.0').isUnspecified()",
        "ip('10.0.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()",
        "ip('ff02::1').isLinkLocalMulticast() && ip('fe80::1').isLinkLocalUnicast()",
        "ip('172.31.0.1').isPrivate() && ip('fd00::1').isPrivate() && !ip('172.32.0.1').isPrivate()",
        "ip('192.0.2.7').masked(24, 48) == cidr('192.0.2.0/24')",
        "ip('2001:db8:1:2::3').masked(24, 48) == cidr('2001:db8:1::/48')",
        "cidr('::ffff:a00:1/104') == cidr('10.0.0.1/8') && cidr('10.0.0.1/8') != cidr('10.0.0.0/8')",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('::1'))",
        "cidr('10.9.9.9/8').containsCIDR('10.1.0.0/16') && !cidr('10.0.0.0/8').containsCIDR('0.0.0.0/0')",
        "!cidr('::/0').containsIP('10.0.0.1') && !cidr('0.0.0.0/0').containsCIDR('::/0')",
        "cidr('10.1.2.3/8').ip() == ip('10.1.2.3') && cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')",
        "cidr('10.1.2.3/8').prefixLength() == 8 && !cidr('10.1.2.3/8').isMask() && cidr('::/0').isMask()",
        "inIpRange('192.0.2.9', '192.0.2.77/24') && inIpRange(ip('::1'), ['10.0.0.0/8', '::1'])",
        "!inIpRange('not an address', '0.0.0.0/0') && !inIpRange('', ['::/0'])",
        "'192.0.2.9'.inList('bad') && ip('2001:db8::7').inList('bad') && !'2001:db8::8'.inList('bad')",
        "'acme'.inList('tenants') && ip('10.0.0.1').inList('tenants') && !'nobody'.inList('bad')",
    ],
)  # fmt: skip
def test_addresses_and_networks_are_judged(claim: str) -> None:
    """Mapped addresses are IPv4, families never mix, host bits matter to equality alone."""
    assert value(claim) is True


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("ip(x)", "1.2.3"),
        ("ip.isCanonical(x)", "1.2.3"),
        ("cidr(x)", "10.0.0.0/255.0.0.0"),
        ("cidr('10.0.0.0/8').containsIP(x)", "host"),
        ("cidr('10.0.0.0/8').containsCIDR(x)", "10.0.0.0"),
        ("inIpRange('1.2.3.4', x)", ["1.2.3.4", "10.0.0.0/99"]),
        ("ip('::1').masked(x, 0)", 33),
        ("ip('1.2.3.4').masked(0, x)", 129),
    ],
)
def test_what_is_no_address_is_an_error(text: str, argument: object) -> None:
    """Ranges are all read, also those behind a match."""
    assert code(text, x=argument) == "invalid_argument"


def test_ranges_must_be_strings() -> None:
    """The kind of each element is looked at before its text."""
    assert code("inIpRange('1.2.3.4', x)", x=["nonsense", 5]) == "no_such_overload"
