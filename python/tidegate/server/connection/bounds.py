"""Bounds of all connections together: their number, a share of it for a caller, memory."""

from __future__ import annotations

import resource
from collections import defaultdict
from typing import Protocol

import attrs

from tidegate.edge.addresses import caller_of
from tidegate.server.connection.held import HeldBytes

MAX_SHARE_BYTES = 32 * 1024 * 1024
"""Bytes of one caller that were received and cannot be processed yet: unfinished bodies, and
requests behind one that is being answered."""
MAX_HELD_BYTES = 4 * MAX_SHARE_BYTES
"""The same of all callers."""
CROWDED_SHARE = 0.9
"""Part of the connections above which idle ones are closed early."""
SPARE_FILES = 256
"""Files that the process needs beside its connections."""
LOOKED_AT = 8
"""Callers with many connections that are asked for one of them when a newcomer needs it."""


class Closable(Protocol):
    """A connection, as far as it can be closed for another caller's."""

    def give_way(self) -> bool:
        """Close, unless a request is being answered or a valid API key came with an earlier one."""


@attrs.define(eq=False)
class Bounds:
    """The connections of the process, counted; for the event loop's thread only.

    When all are taken, the caller who has most gives one up to a caller who has fewer: nobody
    keeps others out by holding connections open.
    """

    max_connections: int = 4_096
    max_per_address: int = 1_024
    held: HeldBytes = attrs.field(
        factory=lambda: HeldBytes(MAX_SHARE_BYTES, MAX_HELD_BYTES), init=False
    )
    """Received bytes that cannot be processed yet."""
    _shares: dict[str, dict[Closable, None]] = attrs.field(factory=dict, init=False)
    """The connections of each caller, the oldest first."""
    _by_size: defaultdict[int, dict[str, None]] = attrs.field(
        factory=lambda: defaultdict(dict), init=False
    )
    """Callers by how many connections they have."""
    _most: int = attrs.field(default=0, init=False)
    """The most connections of one caller."""
    _count: int = attrs.field(default=0, init=False)

    def enter(self, share: str | None, connection: Closable) -> bool:
        """Count a connection, if there is room for it or can be made.

        Args:
            share: see :func:`share_of`; None where nothing is known, which is not shared out.
        """
        if self._is_over(share):
            return False
        if self._count >= self.max_connections and not self._make_room(share):
            return False
        self._count += 1
        self._add(share, connection)
        return True

    def leave(self, share: str | None, connection: Closable) -> None:
        """A connection that was counted has ended."""
        self._count -= 1
        self._remove(share, connection)

    def move(self, before: str | None, after: str | None, connection: Closable) -> bool:
        """Count a connection as another caller's, if there is room in that one's share."""
        if before == after:
            return True
        if self._is_over(after):
            return False
        self._remove(before, connection)
        self._add(after, connection)
        return True

    def count_of(self, share: str) -> int:
        """The connections of a caller."""
        return len(self._shares.get(share, ()))

    @property
    def is_crowded(self) -> bool:
        """Whether hardly any room is left."""
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
        """Close a connection of a caller who has at least two more than the newcomer."""
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
    """The caller who holds a share of connections; None for a Unix socket, and for what isn't an
    address.
    """
    return None if client is None else caller_of(client[0]) or None


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
