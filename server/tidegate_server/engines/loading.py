"""The tenants that are still loaded after a start, while others decide."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Set
    from uuid import UUID

    from tidegate_server.engines.tenant import Revision


class Loading:
    """Tenants to load: those that are called come first, in the order of their calls.

    Use it only on the event loop's thread; ``in`` works on any.

    Args:
        revisions: the tenants, with the newest revision of each.
    """

    def __init__(self, revisions: Mapping[UUID, Revision]) -> None:
        self._revisions = dict(revisions)
        self._unbegun = dict.fromkeys(revisions)
        self._called: deque[UUID] = deque()
        self._waiting: dict[UUID, list[asyncio.Future[None]]] = {}

    def __contains__(self, tenant_id: object) -> bool:
        return tenant_id in self._revisions

    def __len__(self) -> int:
        return len(self._revisions)

    def tenants(self) -> Set[UUID]:
        """Return the tenants that are still loaded."""
        return self._revisions.keys()

    def call(self, tenant_id: UUID) -> None:
        """Load a tenant before those that nobody calls."""
        if tenant_id in self._unbegun:
            del self._unbegun[tenant_id]
            self._called.append(tenant_id)

    def next(self) -> UUID | None:
        """Return the tenant to load next; None if all have begun."""
        if self._called:
            return self._called.popleft()
        return self._unbegun.popitem()[0] if self._unbegun else None

    def revision(self, tenant_id: UUID) -> Revision | None:
        """Return the newest revision of a tenant; None if it was deleted."""
        return self._revisions.get(tenant_id)

    def expect(self, tenant_id: UUID, revision: Revision) -> bool:
        """Note the newest revision of a tenant; return whether it is still loaded."""
        if tenant_id not in self._revisions:
            return False
        self._revisions[tenant_id] = revision
        return True

    def finish(self, tenant_id: UUID) -> None:
        """Note that a tenant is loaded, can't be, or was deleted."""
        self._revisions.pop(tenant_id, None)
        self._unbegun.pop(tenant_id, None)
        for each in self._waiting.pop(tenant_id, ()):
            if not each.done():
                each.set_result(None)

    async def wait(self, tenant_id: UUID) -> None:
        """Wait until a tenant is no longer loaded, and load it before others."""
        if tenant_id in self._revisions:
            self.call(tenant_id)
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(tenant_id, []).append(waiting)
            await waiting

    async def wait_for_all(self) -> None:
        """Wait until no tenant is loaded any longer, in any order."""
        while self._revisions:
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(next(iter(self._revisions)), []).append(waiting)
            await waiting
