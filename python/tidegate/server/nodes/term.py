"""This node as the owner of a partition, from claiming its log to releasing it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from tidegate.server.logging import log
from tidegate.stores.base import StoreUnavailableError
from tidegate.stores.databases import claim_for_node

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidegate.server.nodes.following import Following, Opened
    from tidegate.settings.whole import Settings
    from tidegate.stores.directory.claims import Claim


class Term:
    """One term of ownership.

    Args:
        settings: of the process.
        following: builds the owner of a partition; it ends with the term.
        number: the placement's number, which changes with each owner.
        is_wanted: tells whether the directory still places the log here.
    """

    def __init__(
        self,
        settings: Settings,
        following: Following,
        number: int,
        is_wanted: Callable[[], bool],
    ) -> None:
        self._settings = settings
        self._following = following
        self.number = number
        self._is_wanted = is_wanted
        self._loop = asyncio.get_running_loop()
        self._opened: Opened | None = None
        self.error: StoreUnavailableError | None = None
        """Why this process is no longer the owner; another one may be."""
        self.over = asyncio.Event()
        """Set when the term should end, for any reason."""
        self.is_handed_over = False
        """Whether it ends because another node already has the states."""

    async def open(self) -> Opened | None:
        """Claim the log and open everything; return None if that is no longer wanted.

        Raises:
            StoreError: it can't be opened.
        """
        self._opened = await self._following.take(self._claim, self.number, self._end)
        return self._opened

    def has_ended(self) -> bool:
        """Tell whether somebody else owns the log, or its end is unknown."""
        return self.error is not None

    async def close(self) -> None:
        """Finish accepted calls, save the states if nobody else has them, and release the log."""
        if self._opened is None:
            await self._following.close()
            return
        with suppress(StoreUnavailableError):
            await self._opened.service.stop(saves=not self.is_handed_over)
        await asyncio.to_thread(self._opened.claim.release)

    def _claim(self) -> Claim | None:
        url, name = self._settings.store.url, self._settings.node.name
        return claim_for_node(url, name, self._following.partition, self._is_wanted)

    def _end(self, error: StoreUnavailableError) -> None:
        """Note that this process is no longer the owner; the store calls this on its own thread."""
        self.error = error
        partition = self._following.partition
        log.error("this node is the owner no more", partition=partition, error=str(error))
        self._loop.call_soon_threadsafe(self.over.set)
