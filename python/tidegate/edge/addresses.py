"""The sender of a request: the connection's other end, or an address that a proxy names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

import attrs

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

UNIX = "unix"
"""Stands for the other end of a Unix socket, which has no address."""


@attrs.frozen
class TrustedProxies:
    """Proxies whose ``x-forwarded-`` headers are believed."""

    networks: tuple[Network, ...]
    unix: bool

    @classmethod
    def of(cls, texts: Iterable[str]) -> TrustedProxies:
        """The proxies of a setting.

        Args:
            texts: addresses and networks; ``unix`` for whoever connects through a Unix socket.

        Raises:
            ValueError: one is neither.
        """
        given = list(texts)
        networks = tuple(ip_network(text) for text in given if text != UNIX)
        return cls(networks, UNIX in given)

    def trust(self, peer: str) -> bool:
        """Whether the other end of a connection is one of them; it is empty for a Unix socket."""
        if not peer:
            return self.unix
        address = read_address(peer)
        return address is not None and self._has(address)

    def client(self, peer: str, forwarded_for: Sequence[str]) -> str:
        """The address of a client; empty when it is not known.

        Args:
            peer: the other end of the connection.
            forwarded_for: the values of ``x-forwarded-for``, in order.
        """
        if not self.trust(peer):
            return peer
        for entry in reversed(",".join(forwarded_for).split(",") if forwarded_for else []):
            address = read_address(entry.strip(" \t"))
            if address is None:
                # The client may have made up whatever is left of it.
                return ""
            if not self._has(address):
                return str(address)
        return peer

    def _has(self, address: Address) -> bool:
        return any(address in network for network in self.networks)


def read_address(text: str) -> Address | None:
    """The address in a text; an IPv4-mapped one is IPv4."""
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
