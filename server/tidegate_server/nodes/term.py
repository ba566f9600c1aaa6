"""This node as the owner of a partition, from taking its lock to releasing it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from tidegate_server.logging import log
from tidegate_server.stores.base import StoreUnavailableError

if TYPE_CHECKING:
    from tidegate_server.nodes.following import Following, Opened
    from tidegate_server.stores.directory.members import SharedClaim


class Term:
    """One term of ownership.

    Args:
        following: builds the owner of a partition; it ends with the term.
        claim: the partition's lock.
    """

    def __init__(self, following: Following, claim: SharedClaim) -> None:
        self._following = following
        self._claim = claim
        self._loop = asyncio.get_running_loop()
        self._opened: Opened | None = None
        self.error: StoreUnavailableError | None = None
        """Why this process is no longer the owner; another one may be."""
        self.over = asyncio.Event()
        """Set when the term should end, for any reason."""
        self.is_handed_over = False
        """Whether it ends because another node already has the states."""

    async def open(self) -> Opened:
        """Claim the log and open everything.

        Raises:
            StoreError: it can't be opened.
        """
        self._opened = await self._following.take(self._claim, self._end)
        return self._opened

    def has_ended(self) -> bool:
        """Tell whether somebody else owns the log, or its end is unknown."""
        return self.error is not None

    async def close(self) -> None:
        """Finish accepted calls, save the states if nobody else has them, and release the log."""
        try:
            if self._opened is None:
                await self._following.close()
            else:
                with suppress(StoreUnavailableError):
                    await self._opened.service.stop(saves=not self.is_handed_over)
        except Exception:
            # Nobody else can own the partition while this node's session holds the lock.
            log.exception("an owner did not stop", partition=self._following.partition)
        await asyncio.to_thread(self._claim.release)

    def _end(self, error: StoreUnavailableError) -> None:
        """Note that this process is no longer the owner; the store calls this on its own thread."""
        self.error = error
        partition = self._following.partition
        log.error("this node is no longer the owner", partition=partition, error=str(error))
        self._loop.call_soon_threadsafe(self.over.set)
