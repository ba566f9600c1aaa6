"""The short paths of hot calls, from a connection into a partition.

The process owns the partition, or forwards the call to the owner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import attrs

if TYPE_CHECKING:
    from tidegate_server.hot.hot_path import HotPath
    from tidegate_server.hot.metrics import HotMetrics
    from tidegate_server.owners.forwarding import Forwarding
    from tidegate_server.owners.route_lookup import RouteLookup
    from tidegate_server.turns.call import HotCall


class Partition(Protocol):
    """A partition at this process."""

    @property
    def hot(self) -> HotPath | None:
        """The hot path, while this process is the owner."""

    @property
    def forwarding(self) -> Forwarding:
        """Forwards calls to the owner."""


@attrs.frozen
class OwnersHotPaths:
    """The hot paths of a process; use it only on the event loop's thread.

    A key that was never looked up takes the path of every other request, which looks it up.

    Attributes:
        metrics: those of one of them; separate ones while the process owns none.
        partitions: the partitions; others may be added.
        routes: knows the partition of keys, if there are several.
    """

    metrics: HotMetrics
    partitions: Mapping[int, Partition]
    routes: RouteLookup

    def of(self, credential: bytes | None) -> HotPath | None:
        """See :class:`~tidegate_server.hot.hot_path.HotPaths`."""
        found = self._partition_of(credential)
        return None if found is None else found.hot

    def way_of(self, credential: bytes) -> Callable[[HotCall], None] | None:
        """See :class:`~tidegate_server.hot.hot_path.HotPaths`."""
        found = self._partition_of(credential)
        return None if found is None else found.forwarding.hand_on

    def _partition_of(self, credential: bytes | None) -> Partition | None:
        number: int | None = 0
        if len(self.partitions) > 1:
            number = None if credential is None else self.routes.known_partition(credential)
        return None if number is None else self.partitions.get(number)
