"""Addresses and networks in text: the one parser for lists, rules and events.

IPv4 is four decimal parts without leading zeros, IPv6 as in RFC 4291, without a
zone; a network is an address, ``/`` and a prefix length in decimal without leading
zeros.  IPv4-mapped IPv6 becomes IPv4.  In expressions and lists the dotted spelling
inside IPv6 text (``::ffff:192.0.2.1``) is refused; events may use it.
"""

from __future__ import annotations

import ipaddress
import re

from tidegate.values import Address, Network, unmapped, unmapped_network

# The longest spelling, six groups and a dotted tail.
_MAX_LENGTH = 45
_LETTERS = re.compile(r"[0-9A-Fa-f:.]+")
_PREFIX_LENGTH = re.compile(r"0|[1-9][0-9]{0,2}")


def parse_address(text: str, *, dotted_ipv6: bool = False) -> Address | None:
    """The address that a text spells, or None; ``dotted_ipv6`` is the reading of events."""
    address = _parse(text, dotted_ipv6)
    return None if address is None else unmapped(address)


def parse_network(text: str, *, dotted_ipv6: bool = False) -> Network | None:
    """The network that a text spells, host bits kept, or None.

    A mapped network of at least 96 bits is the IPv4 network of its last bits.
    """
    start, _, length = text.partition("/")
    address = _parse(start, dotted_ipv6)
    if address is None or not _PREFIX_LENGTH.fullmatch(length):
        return None
    if int(length) > address.max_prefixlen:
        return None
    return unmapped_network(ipaddress.ip_interface((address, int(length))))


def parse_range(text: str) -> Network | None:
    """An address or a network, as lists and ``inIpRange`` take them; an address is a network of
    one."""
    if "/" in text:
        return parse_network(text)
    address = parse_address(text)
    return None if address is None else ipaddress.ip_interface((address, address.max_prefixlen))


def contains(network: Network, address: Address) -> bool:
    """Whether the address is in the network, whose host bits are ignored.

    Families never contain one another.
    """
    return address.version == network.version and address in network.network


def _parse(text: str, dotted_ipv6: bool) -> Address | None:
    if len(text) > _MAX_LENGTH or not _LETTERS.fullmatch(text):
        return None
    if ":" in text and "." in text and not dotted_ipv6:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
