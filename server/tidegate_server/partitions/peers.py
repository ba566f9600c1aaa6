"""The peers of a partition, as its service needs them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate_server.hot.call_queue import Elsewhere
    from tidegate_server.operators.key_ring import ApiKey


class Peers(Protocol):
    """The owners of the other partitions."""

    @property
    def count(self) -> int:
        """The number of partitions."""

    @property
    def elsewhere(self) -> Elsewhere | None:
        """Takes hot calls that are for other owners; None if none can arrive here."""

    async def replace(self, keys: Iterable[ApiKey]) -> None:
        """Replace the known keys with these."""

    async def tell(self, tenant_id: UUID, what: str) -> bool:
        """Have a tenant's owner take over a change now, rather than at its next poll.

        Returns:
            Whether it has, or will when it starts.
        """

    async def tell_all(self, what: str) -> bool:
        """Have every other owner take over a change; return the same as :meth:`tell`."""
