"""The short way of hot calls at a node: from a connection into a partition that the node owns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from tidegate.server.hot.hot_path import HotPath
    from tidegate.server.hot.metrics import HotMetrics
    from tidegate.server.nodes.partition import NodePartition
    from tidegate.server.nodes.whose import Whose


@attrs.frozen
class OwnedPaths:
    """The hot paths of a node; for the event loop's thread only.

    Attributes:
        metrics: of one of them.
        partitions: of the node; others may be added.
        whose: knows the partition of keys, where there are several.
    """

    metrics: HotMetrics
    partitions: Mapping[int, NodePartition]
    whose: Whose

    def of(self, credential: bytes | None) -> HotPath | None:
        """See :class:`~tidegate.server.hot.hot_path.HotPaths`.

        A key that was never looked up takes the way of a gateway, which looks it up.
        """
        number: int | None = 0
        if len(self.partitions) > 1:
            number = None if credential is None else self.whose.known_partition(credential)
        found = None if number is None else self.partitions.get(number)
        return None if found is None else found.hot
