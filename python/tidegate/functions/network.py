"""Addresses and networks."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from tidegate.functions import failures
from tidegate.functions.addresses import contains, parse_address, parse_network, parse_range
from tidegate.functions.registry import overload
from tidegate.functions.text import strings_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.types import NamedList
    from tidegate.values import Address, Network


def _networks(*texts: str) -> list[Network]:
    return [ipaddress.ip_interface(text) for text in texts]


_LOOPBACK = _networks("127.0.0.0/8", "::1/128")
_LINK_LOCAL = _networks("169.254.0.0/16", "fe80::/10")
_LINK_LOCAL_MULTICAST = _networks("224.0.0.0/24", "ff02::/16")
_MULTICAST = _networks("224.0.0.0/4", "ff00::/8")
_UNSPECIFIED = _networks("0.0.0.0/32", "::/128")
_BROADCAST = _networks("255.255.255.255/32")
_PRIVATE = _networks("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")


def _in_any(address: Address, networks: list[Network]) -> bool:
    return any(contains(network, address) for network in networks)


def _address(value: Address | str) -> Address:
    """The address itself, or the one in a text; ``invalid_argument`` if there isn't one."""
    address = parse_address(value) if isinstance(value, str) else value
    if address is None:
        raise failures.invalid_argument("the text is no address")
    return address


def _network(value: Network | str) -> Network:
    network = parse_network(value) if isinstance(value, str) else value
    if network is None:
        raise failures.invalid_argument("the text is no network")
    return network


# --- addresses ----------------------------------------------------------------------------


@overload("ip(string) -> net.IP")
def ip(text: str) -> Address:
    """``ip("192.0.2.1")``; ``::ffff:c000:201`` is the IPv4 address.

    ``invalid_argument`` for what isn't an address, for a zone, and for dots within IPv6.
    """
    return _address(text)


@overload("isIP(string) -> bool")
def is_ip(text: str) -> bool:
    """Whether ``ip(text)`` has a value."""
    return parse_address(text) is not None


@overload("ip.isCanonical(string) -> bool")
def is_canonical(text: str) -> bool:
    """``ip.isCanonical("2001:DB8::1") == false``: whether an address is written as RFC 5952 has it.

    ``invalid_argument`` for what isn't an address.
    """
    return str(_address(text)) == text


@overload("net.IP.family() -> int")
def family(address: Address) -> int:
    """4 or 6."""
    return address.version


@overload("net.IP.isUnspecified() -> bool")
def is_unspecified(address: Address) -> bool:
    """``0.0.0.0`` and ``::``."""
    return _in_any(address, _UNSPECIFIED)


@overload("net.IP.isLoopback() -> bool")
def is_loopback(address: Address) -> bool:
    """127.0.0.0/8 and ``::1``."""
    return _in_any(address, _LOOPBACK)


@overload("net.IP.isGlobalUnicast() -> bool")
def is_global_unicast(address: Address) -> bool:
    """Neither unspecified, loopback, link-local, multicast nor 255.255.255.255.

    Private addresses are global unicast.
    """
    return not _in_any(address, _UNSPECIFIED + _LOOPBACK + _LINK_LOCAL + _MULTICAST + _BROADCAST)


@overload("net.IP.isLinkLocalMulticast() -> bool")
def is_link_local_multicast(address: Address) -> bool:
    """224.0.0.0/24 and ff02::/16."""
    return _in_any(address, _LINK_LOCAL_MULTICAST)


@overload("net.IP.isLinkLocalUnicast() -> bool")
def is_link_local_unicast(address: Address) -> bool:
    """169.254.0.0/16 and fe80::/10."""
    return _in_any(address, _LINK_LOCAL)


@overload("net.IP.isPrivate() -> bool")
def is_private(address: Address) -> bool:
    """RFC 1918 (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16) and fc00::/7."""
    return _in_any(address, _PRIVATE)


@overload("net.IP.masked(int, int) -> net.CIDR")
def masked_address(address: Address, v4_bits: int, v6_bits: int) -> Network:
    """``ip("192.0.2.7").masked(24, 48) == cidr("192.0.2.0/24")``: the network for grouping.

    ``invalid_argument`` unless 0 <= v4_bits <= 32 and 0 <= v6_bits <= 128, whatever the family.
    """
    if not (0 <= v4_bits <= 32 and 0 <= v6_bits <= 128):
        raise failures.invalid_argument("a prefix is 0 to 32 bits long, for IPv6 to 128")
    bits = v4_bits if address.version == 4 else v6_bits
    return masked(ipaddress.ip_interface((address, bits)))


# --- networks -----------------------------------------------------------------------------


@overload("cidr(string) -> net.CIDR")
def cidr(text: str) -> Network:
    """``cidr("192.0.2.1/24")``, host bits kept; ``invalid_argument`` as for ``ip``."""
    return _network(text)


@overload("isCIDR(string) -> bool")
def is_cidr(text: str) -> bool:
    """Whether ``cidr(text)`` has a value."""
    return parse_network(text) is not None


@overload("net.CIDR.containsIP(net.IP) -> bool", "net.CIDR.containsIP(string) -> bool")
def contains_ip(network: Network, address: Address | str) -> bool:
    """``cidr("192.0.2.0/24").containsIP("192.0.2.7")``; ``invalid_argument`` for a text that isn't
    an address; families never contain one another."""
    return contains(network, _address(address))


@overload("net.CIDR.containsCIDR(net.CIDR) -> bool", "net.CIDR.containsCIDR(string) -> bool")
def contains_cidr(network: Network, other: Network | str) -> bool:
    """``cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16")``; a network contains itself.

    Host bits are ignored; ``invalid_argument`` for a text that isn't a network.
    """
    inner = _network(other)
    return network.network.prefixlen <= inner.network.prefixlen and contains(network, inner.ip)


@overload("net.CIDR.ip() -> net.IP")
def address_of(network: Network) -> Address:
    """``cidr("192.0.2.7/24").ip() == ip("192.0.2.7")``: with its host bits."""
    return network.ip


@overload("net.CIDR.masked() -> net.CIDR")
def masked(network: Network) -> Network:
    """``cidr("192.0.2.7/24").masked() == cidr("192.0.2.0/24")``."""
    return ipaddress.ip_interface(network.network.with_prefixlen)


@overload("net.CIDR.prefixLength() -> int")
def prefix_length(network: Network) -> int:
    """``cidr("192.0.2.7/24").prefixLength() == 24``."""
    return network.network.prefixlen


@overload("net.CIDR.isMask() -> bool")
def is_mask(network: Network) -> bool:
    """Whether the network has no host bits: ``cidr("192.0.2.0/24").isMask()``."""
    return network.ip == network.network.network_address


# --- ranges and lists ---------------------------------------------------------------------


@overload(
    "inIpRange(string, string) -> bool",
    "inIpRange(string, list(string)) -> bool",
    "inIpRange(net.IP, string) -> bool",
    "inIpRange(net.IP, list(string)) -> bool",
)
def in_ip_range(address: Address | str, ranges: str | list[Any]) -> bool:
    """``inIpRange(request.client_ip, ["192.0.2.0/24", "2001:db8::1"])``.

    Each range is an address or a network, host bits ignored.  False for a text that is
    an address.  All ranges are read first: ``invalid_argument`` when one isn't a range,
    ``no_such_overload`` when one isn't a string.
    """
    texts = [ranges] if isinstance(ranges, str) else strings_in(ranges)
    networks = []
    for text in texts:
        network = parse_range(text)
        if network is None:
            raise failures.invalid_argument(f"`{text[:64]}` is no address and no network")
        networks.append(network)
    parsed = parse_address(address) if isinstance(address, str) else address
    return parsed is not None and _in_any(parsed, networks)


@overload("string.inList(string) -> bool", "net.IP.inList(string) -> bool")
def in_list(subject: Address | str, name: str, *, lists: Mapping[str, NamedList]) -> bool:
    """``request.client_ip.inList("scanners")``: whether a named list of the tenant has it.

    A list of kind ``ip`` holds addresses and networks; a text that isn't an address is in
    none.  In a list of kind ``string`` an address stands as its canonical text.
    ``invalid_argument`` when the list doesn't exist.
    """
    named = lists.get(name)
    if named is None:
        raise failures.invalid_argument(f"there is no list `{name[:64]}`")
    if named.kind == "string":
        return str(subject) in named.entries
    address = parse_address(subject) if isinstance(subject, str) else subject
    if address is None:
        return False
    return any(
        network is not None and contains(network, address)
        for network in map(parse_range, named.entries)
    )
