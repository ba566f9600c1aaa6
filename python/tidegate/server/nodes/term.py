"""This node as the owner, from the claim of the log to its release."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tidegate.server.asgi import HotApplication
from tidegate.server.logging import log
from tidegate.server.process import behind, settle_interpreter
from tidegate.server.service import Service
from tidegate.stores import open_store
from tidegate.stores.base import StoreUnavailableError
from tidegate.stores.databases import claim_for_node
from tidegate.stores.index.catalog import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidegate.config import Settings
    from tidegate.operators.keys import Keys
    from tidegate.server.hot.hot_path import HotPath
    from tidegate.server.workers.crew import Crew
    from tidegate.stores.directory.claims import Claim

MEBIBYTE = 2**20


class Term:
    """One ownership.

    Args:
        settings: of the process.
        keys: the key material that all nodes share.
        base_url: the address that callers reach the service by.
        crew: the worker processes of the node.
        number: of the placement, which changes with each owner.
        is_wanted: whether the directory still has the log here.
    """

    def __init__(
        self,
        settings: Settings,
        keys: Keys,
        base_url: str,
        crew: Crew,
        number: int,
        is_wanted: Callable[[], bool],
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._base_url = base_url
        self._crew = crew
        self.number = number
        self._is_wanted = is_wanted
        self._loop = asyncio.get_running_loop()
        self._claim: Claim | None = None
        self._service: Service | None = None
        self.error: StoreUnavailableError | None = None
        """Why this process is the owner no more; another one may be."""
        self.over = asyncio.Event()
        """Set when the term is to end, for whatever reason."""

    async def open(self) -> tuple[HotPath, Any, Service] | None:
        """Claim the log and open everything; None when that is not wanted any more.

        Raises:
            StoreError: it cannot be opened.
        """
        store_settings, catalog = self._settings.store, self._settings.catalog
        self._claim = await asyncio.to_thread(
            claim_for_node, store_settings.url, self._settings.node.name, self._is_wanted
        )
        if self._claim is None:
            return None
        store = await asyncio.to_thread(
            open_store,
            store_settings.url,
            lock=self._claim,
            catalog=Bounds(names=catalog.names, bytes=catalog.memory_mib * MEBIBYTE),
            standby=store_settings.standby,
            ended=self._end,
        )
        self._service = service = Service(
            self._settings, store, self._keys, self._base_url, crew=self._crew
        )
        hot = await service.start()
        application = HotApplication(hot, service.with_sync(behind(self._settings, service)))
        settle_interpreter()
        return hot, application, service

    def has_ended(self) -> bool:
        """Whether the log is somebody else's, or its end is not known."""
        return self.error is not None

    async def close(self) -> None:
        """Finish what was taken, save the states, and release the log."""
        if self._service is not None:
            with suppress(StoreUnavailableError):
                await self._service.stop()
        if self._claim is not None:
            await asyncio.to_thread(self._claim.release)

    def _end(self, error: StoreUnavailableError) -> None:
        """The store says, on a thread of its own, that this process is the owner no more."""
        self.error = error
        log.error("this node is the owner no more", error=str(error))
        self._loop.call_soon_threadsafe(self.over.set)
