"""The parts of an owner before its claim: a store, and a service over it that isn't started."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from tidegate_server.engines.following import States
from tidegate_server.process import application_of, behind, settle_interpreter
from tidegate_server.service import Service
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.databases import open_unclaimed
from tidegate_server.stores.index.catalog import Bounds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate_server.hot.hot_path import HotPath
    from tidegate_server.http.application import Handler, HttpApplication
    from tidegate_server.operators.keys import Keys
    from tidegate_server.owners.peers import Peers
    from tidegate_server.settings.whole import Settings
    from tidegate_server.stores.directory.members import SharedClaim
    from tidegate_server.stores.postgresql import PostgresqlStore
    from tidegate_server.workers.pools import Shared

Ended: TypeAlias = Callable[[StoreUnavailableError], None]
Prepare: TypeAlias = "Callable[[int, Ended], Awaitable[Prepared]]"
"""Opens the log of a partition, and prepares a service. The function is called, on a thread of the
store, when this process is no longer the owner."""

MEBIBYTE = 2**20


class Prepared:
    """A store and its service.

    Args:
        settings: of the process.
        store: open; no log is claimed.
        service: of the store, not started.
    """

    def __init__(self, settings: Settings, store: PostgresqlStore, service: Service) -> None:
        self.service = service
        self.states = States(service.runtimes, store)
        self._settings = settings
        self._store = store
        self._handlers: Mapping[str, Handler] = {}

    async def read_states(self) -> int:
        """Do everything slow that an owner needs; return the number that the states begin at.

        Raises:
            StoreError: the states can't be read.
        """
        await asyncio.to_thread(self.service.prepare)
        self._handlers = await asyncio.to_thread(behind, self._settings, self.service)
        position = await asyncio.to_thread(self.states.begin)
        await self.states.restore()
        settle_interpreter()
        return position

    def claim(self, claim: SharedClaim) -> int:
        """Claim the log; return the number of its last decision. Call it on a worker thread.

        Raises:
            FencedError: another process has claimed under a later term.
            StoreUnavailableError: the log can't be claimed.
        """
        return self._store.claim(claim, claim.term)

    def application(self, hot: HotPath) -> HttpApplication:
        """Return what answers all requests, once the service has started.

        Args:
            hot: the hot path of the service.
        """
        return application_of(hot, self.service, self._handlers)

    async def close(self) -> None:
        """Stop the service, and close the store."""
        with suppress(StoreUnavailableError):
            await self.service.stop()


class Preparing:
    """Prepares the services of a node.

    Args:
        settings: of the process.
        keys: the key material that all nodes share.
        base_url: the address that callers reach the service by.
        pools: returns the worker processes for a partition.
        peers: returns the peers of a partition; None while it is the only one.
    """

    def __init__(
        self,
        settings: Settings,
        keys: Keys,
        base_url: str,
        pools: Callable[[int], Shared],
        peers: Callable[[int], Peers | None],
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._base_url = base_url
        self._pools = pools
        self._peers = peers

    async def __call__(self, partition: int, ended: Ended) -> Prepared:
        """Open a log, and prepare a service.

        Args:
            partition: the partition of the log.
            ended: called, on a thread of the store, when this process is no longer the owner.

        Raises:
            StoreError: the log can't be opened.
        """
        settings = self._settings
        catalog = settings.catalog
        store = await asyncio.to_thread(
            open_unclaimed,
            settings.store.url,
            node=settings.node.name,
            catalog=Bounds(names=catalog.names, bytes=catalog.memory_mib * MEBIBYTE),
            standby=settings.store.standby,
            ended=ended,
            partition=partition,
        )
        try:
            service = Service(
                settings,
                store,
                self._keys,
                self._base_url,
                self._pools(partition),
                self._peers(partition),
            )
        except BaseException:
            await asyncio.to_thread(store.close)
            raise
        return Prepared(settings, store, service)
