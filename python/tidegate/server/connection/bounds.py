"""Bounds of all connections together: their number, a share of it for an address, memory."""

from __future__ import annotations

import resource
from collections import Counter
from ipaddress import IPv6Address, ip_address

import attrs

MAX_SHARE_BYTES = 32 * 1024 * 1024
"""Bytes of one address that were received and cannot be processed yet: unfinished bodies, and
requests behind one that is being answered."""
MAX_HELD_BYTES = 4 * MAX_SHARE_BYTES
"""The same of all addresses."""
CROWDED_SHARE = 0.9
"""Part of the connections above which idle ones are closed early."""
SPARE_FILES = 256
"""Files that the process needs beside its connections."""


@attrs.define(eq=False)
class Bounds:
    """The connections of the process, counted; for the event loop's thread only."""

    max_connections: int = 4_096
    max_per_address: int = 1_024
    _held: Counter[str | None] = attrs.field(factory=Counter, init=False)
    held: int = attrs.field(default=0, init=False)
    """Bytes, of all."""
    _shares: Counter[str | None] = attrs.field(factory=Counter, init=False)
    _count: int = attrs.field(default=0, init=False)

    def enter(self, share: str | None) -> bool:
        """Count a connection, if there is room for it.

        Args:
            share: see :func:`share_of`; None where nothing is known, which is not shared out.
        """
        is_over = share is not None and self._shares[share] >= self.max_per_address
        if is_over or self._count >= self.max_connections:
            return False
        self._count += 1
        self._shares[share] += 1
        return True

    def leave(self, share: str | None) -> None:
        """A connection that was counted has ended."""
        self._count -= 1
        self._shares[share] -= 1
        if not self._shares[share]:
            del self._shares[share]

    @property
    def is_crowded(self) -> bool:
        """Whether hardly any room is left."""
        return self._count > self.max_connections * CROWDED_SHARE

    def hold(self, share: str | None, more: int) -> None:
        """Count bytes that are held, or with a minus are no longer."""
        self.held += more
        self._held[share] += more
        if not self._held[share]:
            del self._held[share]

    def is_full(self, share: str | None) -> bool:
        """Whether no more can be held."""
        is_over = share is not None and self._held[share] > MAX_SHARE_BYTES
        return is_over or self.held > MAX_HELD_BYTES


def share_of(client: tuple[str, int] | None) -> str | None:
    """The holder of a share of connections: an address; for IPv6 a network of 64 bits, since one
    host commonly has all of it. None for a Unix socket.
    """
    if client is None:
        return None
    try:
        address = ip_address(client[0].partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64)
    return str(address)


def room_for(connections: int) -> int:
    """How many connections the process can have open, up to a number.

    The soft limit on open files is raised as far as the hard one allows.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return connections
    return max(1, min(connections, soft - SPARE_FILES))
