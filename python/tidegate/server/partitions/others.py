"""The owners of the other partitions, as a service needs them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate.operators.key_ring import ApiKey
    from tidegate.server.hot.call_queue import Elsewhere


class Others(Protocol):
    """The owners of the other partitions."""

    @property
    def count(self) -> int:
        """How many partitions there are."""

    @property
    def elsewhere(self) -> Elsewhere | None:
        """Takes hot calls of theirs that came here; None where none comes."""

    async def replace(self, keys: Iterable[ApiKey]) -> None:
        """Know that these keys are all that count."""

    async def tell(self, tenant_id: UUID, what: str) -> bool:
        """Have the owner of a tenant take over a change now, and not with its next look.

        Returns:
            Whether it has, or has to when it starts.
        """

    async def tell_all(self, what: str) -> bool:
        """Have every other owner take over a change; whether they have, as for :meth:`tell`."""
