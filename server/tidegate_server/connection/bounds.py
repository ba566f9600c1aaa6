"""Bounds for all connections together: their number, each caller's share, and memory."""

from __future__ import annotations

import resource
from collections import defaultdict
from typing import Protocol

import attrs

from tidegate.edge.addresses import caller_of
from tidegate_server.connection.held import HeldBytes

MAX_SHARE_BYTES = 32 * 1024 * 1024
"""Bytes received from one caller that can't be processed yet.

These are unfinished bodies, and requests behind one that is being answered.
"""
MAX_HELD_BYTES = 4 * MAX_SHARE_BYTES
"""The same for all callers."""
CROWDED_SHARE = 0.9
"""The share of connections in use above which idle ones are closed early."""
SPARE_FILES = 256
"""Files that the process needs in addition to its connections."""
LOOKED_AT = 8
"""How many callers with many connections are asked to give one up for a newcomer."""


class Closable(Protocol):
    """A connection that can be closed to make room for another caller."""

    def give_way(self) -> bool:
        """Close, unless a request is being answered or an earlier one came with a valid API key."""


@attrs.define(eq=False)
class Bounds:
    """Counts the connections of the process; use it only on the event loop's thread.

    When all are taken, the caller with the most gives one up to a caller with fewer, so nobody
    keeps others out by holding connections open.
    """

    max_connections: int = 4_096
    max_per_address: int = 1_024
    held: HeldBytes = attrs.field(
        factory=lambda: HeldBytes(MAX_SHARE_BYTES, MAX_HELD_BYTES), init=False
    )
    """Received bytes that can't be processed yet."""
    _shares: dict[str, dict[Closable, None]] = attrs.field(factory=dict, init=False)
    """The connections of each caller, oldest first."""
    _by_size: defaultdict[int, dict[str, None]] = attrs.field(
        factory=lambda: defaultdict(dict), init=False
    )
    """Callers by their number of connections."""
    _most: int = attrs.field(default=0, init=False)
    """The highest number of connections of one caller."""
    _count: int = attrs.field(default=0, init=False)

    def enter(self, share: str | None, connection: Closable) -> bool:
        """Count a connection, if there is or can be made room for it.

        Args:
            share: see :func:`share_of`; None for an unknown caller, which has no limit of its own.
        """
        if self._is_over(share):
            return False
        if self._count >= self.max_connections and not self._make_room(share):
            return False
        self._count += 1
        self._add(share, connection)
        return True

    def leave(self, share: str | None, connection: Closable) -> None:
        """Remove a connection that has ended from the count."""
        self._count -= 1
        self._remove(share, connection)

    def move(self, before: str | None, after: str | None, connection: Closable) -> bool:
        """Count a connection for another caller, if that caller's share has room."""
        if before == after:
            return True
        if self._is_over(after):
            return False
        self._remove(before, connection)
        self._add(after, connection)
        return True

    def count_of(self, share: str) -> int:
        """Return the number of connections of a caller."""
        return len(self._shares.get(share, ()))

    @property
    def is_crowded(self) -> bool:
        """Whether there is hardly any room left."""
        return self._count > self.max_connections * CROWDED_SHARE

    def _is_over(self, share: str | None) -> bool:
        return share is not None and self.count_of(share) >= self.max_per_address

    def _add(self, share: str | None, connection: Closable) -> None:
        if share is not None:
            held = self._shares.setdefault(share, {})
            held[connection] = None
            self._sort(share, len(held) - 1, len(held))

    def _remove(self, share: str | None, connection: Closable) -> None:
        if share is not None:
            held = self._shares[share]
            del held[connection]
            self._sort(share, len(held) + 1, len(held))
            if not held:
                del self._shares[share]

    def _sort(self, share: str, before: int, after: int) -> None:
        if before:
            del self._by_size[before][share]
        if after:
            self._by_size[after][share] = None
        self._most = max(self._most, after)
        if not self._by_size[self._most]:
            del self._by_size[self._most]
            self._most -= 1

    def _make_room(self, share: str | None) -> bool:
        """Close a connection of a caller with at least two more than the newcomer."""
        own = 0 if share is None else self.count_of(share)
        left = LOOKED_AT
        for size in range(self._most, own + 1, -1):
            for each in list(self._by_size.get(size, ()))[:left]:
                if any(connection.give_way() for connection in self._shares[each]):
                    return True
                left -= 1
            if not left:
                break
        return False


def share_of(client: tuple[str, int] | None) -> str | None:
    """Return the caller to count a connection for.

    None for a Unix socket, and for a client that isn't an address.
    """
    return None if client is None else caller_of(client[0]) or None


def room_for(connections: int) -> int:
    """Return how many connections the process can have open, up to a number.

    Raises the soft limit on open files as far as the hard limit allows.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return connections
    return max(1, min(connections, soft - SPARE_FILES))
