"""Parses addresses and networks in text, for lists, rules and events alike.

IPv4 is four decimal parts without leading zeros, IPv6 as in RFC 4291, without a zone; a network is
an address, ``/`` and a prefix length in decimal without leading zeros.  IPv4-mapped IPv6 becomes
IPv4.  In expressions and lists the dotted spelling inside IPv6 text (``::ffff:192.0.2.1``) is
rejected; events may use it.
"""

from __future__ import annotations

import ipaddress
import re
from bisect import bisect_right
from functools import cache
from typing import TypeAlias

from tidegate.values import Address, Network, unmapped, unmapped_network

PlainNetwork: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
# The longest spelling: six groups and a dotted tail.
_MAX_LENGTH = 45
_LETTERS = re.compile(r"[0-9A-Fa-f:.]+")
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}(?:/(?:3[0-2]|[12]?[0-9]))?"
_GROUP = "[0-9A-Fa-f]{1,4}"
_SHORTENED = "|".join(
    [f":(?:(?::{_GROUP}){{1,7}}|:)", f"(?:{_GROUP}:){{1,7}}:"]
    + [f"(?:{_GROUP}:){{1,{7 - after}}}(?::{_GROUP}){{1,{after}}}" for after in range(1, 7)]
)
_IPV6 = rf"(?:(?:{_GROUP}:){{7}}{_GROUP}|{_SHORTENED})(?:/(?:12[0-8]|1[01][0-9]|[1-9]?[0-9]))?"
_RANGE = re.compile(f"{_IPV4}|{_IPV6}")
_PREFIX_LENGTH = re.compile(r"0|[1-9][0-9]{0,2}")
_AROUND = " \t\n\r\v\f\"'"
_ZONE = re.compile(r"%(?:25)?[A-Za-z0-9._~:@-]+")
_PORT = re.compile(r"[0-9]{1,5}")
_MAX_PORT = 65_535
_PRIVATE = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/3",
    "::/3", "2001::/23", "2002::/16", "4000::/2", "8000::/1",
)  # fmt: skip
"""Networks that no two sites on the internet share: private, loopback, link-local, multicast and
reserved ones, and IPv6 forms that carry an IPv4 address. Outside 2000::/3, IPv6 assigns no unicast
addresses."""
_EXAMPLES = ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20")
CLIENT_BITS = {4: 32, 6: 64}
"""Prefix length of the network that one client usually has for itself, by IP version."""


def parse_address(text: str, *, dotted_ipv6: bool = False) -> Address | None:
    """The address in a text, or None; ``dotted_ipv6`` accepts the spelling allowed in events."""
    address = _parse(text, dotted_ipv6)
    return None if address is None else unmapped(address)


def sent_address(text: str) -> Address | None:
    """The address in a source's text, or None if it is ambiguous.

    It drops surrounding blanks and quotes, a port, brackets, a zone, a full prefix length
    (``192.0.2.7/32``) and the slash that Java writes first.
    """
    found = parse_address(text, dotted_ipv6=True)
    if found is not None:
        return found
    text = text.strip(_AROUND).removeprefix("/")
    if text.startswith("["):
        inner, bracket, after = text[1:].partition("]")
        is_whole = not after or (after[0] == ":" and _is_port(after[1:]))
        return _without_zone(inner) if bracket and is_whole else None
    if "/" in text:
        network = parse_network(text, dotted_ipv6=True)
        is_whole = network is not None and network.network.prefixlen == network.max_prefixlen
        return network.ip if network is not None and is_whole else None
    found = _without_zone(text)
    if found is not None:
        return found
    address, colon, port = text.rpartition(":")
    # Without brackets, the last part of a shortened IPv6 address may be its own or a port.
    is_certain = "." in address or "::" not in address
    if not colon or not is_certain or not _is_port(port):
        return None
    return parse_address(address, dotted_ipv6=True)


def client_network(address: Address) -> str:
    """The network that the client with an address usually has: ``derived.client_network``."""
    bits = CLIENT_BITS[address.version]
    return ipaddress.ip_interface((address, bits)).network.with_prefixlen


def parse_network(text: str, *, dotted_ipv6: bool = False) -> Network | None:
    """The network in a text, with its host bits, or None.

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
    """An address or a network, as in lists and ``inIpRange``; an address is a network of one."""
    if "/" in text:
        return parse_network(text)
    address = parse_address(text)
    return None if address is None else ipaddress.ip_interface((address, address.max_prefixlen))


def is_range(text: str) -> bool:
    """Whether `parse_range` accepts a text, some ten times as fast: lists have 100,000 of them."""
    return _RANGE.fullmatch(text) is not None


def is_private_range(network: Network) -> bool:
    """Whether a part of a network isn't of the public internet; examples of documents count as it.

    Unlike ``isPrivate`` of the language, this covers every address that has no one owner.
    """
    first, last = int(network.network.network_address), int(network.network.broadcast_address)
    starts, ends = _bounds(network.version)
    at = bisect_right(starts, last) - 1
    return at >= 0 and ends[at] >= first


def is_public(address: Address) -> bool:
    """Whether a server of the public internet can have an address; examples of documents cannot."""
    network = ipaddress.ip_interface(address)
    is_example = any(address in each for each in _networks(_EXAMPLES, address.version))
    return not is_example and not is_private_range(network)


@cache
def _networks(texts: tuple[str, ...], version: int) -> tuple[PlainNetwork, ...]:
    found = map(ipaddress.ip_network, texts)
    return tuple(each for each in found if each.version == version)


@cache
def _bounds(version: int) -> tuple[list[int], list[int]]:
    """First and last addresses of the private networks, in order; none overlap."""
    ordered = sorted(
        (int(each.network_address), int(each.broadcast_address))
        for each in _networks(_PRIVATE, version)
    )
    return [first for first, _ in ordered], [last for _, last in ordered]


def contains(network: Network, address: Address) -> bool:
    """Whether the address is in the network; the network's host bits are ignored.

    Families never contain one another.
    """
    return address.version == network.version and address in network.network


def _without_zone(text: str) -> Address | None:
    address, sign, zone = text.partition("%")
    if sign and not (":" in address and _ZONE.fullmatch(sign + zone)):
        return None
    return parse_address(address, dotted_ipv6=True)


def _is_port(text: str) -> bool:
    return _PORT.fullmatch(text) is not None and int(text) <= _MAX_PORT


def _parse(text: str, dotted_ipv6: bool) -> Address | None:
    if len(text) > _MAX_LENGTH or not _LETTERS.fullmatch(text):
        return None
    if ":" in text and "." in text and not dotted_ipv6:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
