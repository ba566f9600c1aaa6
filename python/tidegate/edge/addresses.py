"""The sender of a request: the peer, or an address named by a proxy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import TypeAlias

import attrs

from tidegate.functions.addresses import sent_address

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

UNIX = "unix"
"""Represents the peer on a Unix socket, which has no address."""
_PAIR = re.compile(
    r"[ \t]*+(?:(?P<name>[A-Za-z]++)="
    r"(?:\"(?P<quoted>(?:[^\"\\]|\\.)*+)\"|(?P<token>[^ \t\",;=]*+))[ \t]*+)?"
    r"(?P<end>[,;]|$)"
)
"""A pair in ``Forwarded`` and the text after it (RFC 7239, section 4)."""


@attrs.frozen
class TrustedProxies:
    """Proxies with trusted ``x-forwarded-`` headers."""

    networks: tuple[Network, ...]
    unix: bool

    @classmethod
    def of(cls, texts: Iterable[str]) -> TrustedProxies:
        """The proxies in a setting.

        Args:
            texts: addresses and networks; ``unix`` for peers on a Unix socket.

        Raises:
            ValueError: one is neither.
        """
        given = list(texts)
        networks = tuple(ip_network(text) for text in given if text != UNIX)
        return cls(networks, UNIX in given)

    def trust(self, peer: str) -> bool:
        """Whether the peer is a trusted proxy; its address is empty for a Unix socket."""
        if not peer:
            return self.unix
        address = sent_address(peer)
        return address is not None and self._has(address)

    def client(self, peer: str, forwarded_for: Sequence[str], forwarded: Sequence[str] = ()) -> str:
        """The address of a client; empty if unknown.

        The rightmost address that isn't a trusted proxy is the client's, since the proxies wrote
        it. A proxy writes one of the headers and may pass on the other as the client sent it, so if
        both exist and name two clients, the client is unknown.

        Args:
            peer: the peer's address.
            forwarded_for: the values of ``x-forwarded-for``, in order.
            forwarded: the values of ``forwarded``, in order.
        """
        if not self.trust(peer):
            address = sent_address(peer)
            return peer if address is None else str(address)
        chains = []
        if forwarded_for:
            entries = ",".join(forwarded_for).split(",")
            # A trailing comma names nobody; an empty header is an unknown client.
            chains.append([each for each in entries if each.strip()] or [""])
        if forwarded:
            chains.append(_forwarded_for(",".join(forwarded)))
        found = {self._nearest(peer, chain) for chain in chains}
        return found.pop() if len(found) == 1 else "" if found else peer

    def _nearest(self, peer: str, chain: Sequence[str]) -> str:
        for entry in reversed(chain):
            address = sent_address(entry)
            if address is None:
                # The client may have made up anything further left.
                return ""
            if not self._has(address):
                return str(address)
        return peer

    def _has(self, address: Address) -> bool:
        return any(address in network for network in self.networks)


def caller_of(address: str) -> str:
    """The caller to count for rate limits, by its address.

    One host commonly has a whole /64 network of IPv6, so all of it is one caller.

    Args:
        address: the client's address from :meth:`TrustedProxies.client`.

    Returns:
        The IPv4 address or the IPv6 network's; the text itself if it isn't an address.
    """
    found = sent_address(address)
    if isinstance(found, IPv6Address):
        found = IPv6Address(int(found) >> 64 << 64)
    return address if found is None else str(found)


def _forwarded_for(text: str) -> list[str]:
    """The ``for`` of each element in ``Forwarded``; empty if it has none.

    A malformed text ends the list with an empty entry: nothing in it is reliable.
    """
    entries: list[str] = []
    current, place = "", 0
    while place <= len(text):
        found = _PAIR.match(text, place)
        if found is None:
            return [*entries, ""]
        if (found["name"] or "").lower() == "for":
            quoted = found["quoted"]
            current = found["token"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        if found["end"] != ";":
            entries.append(current)
            current = ""
        place = found.end() + (not found["end"])
    return entries
