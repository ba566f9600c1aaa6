"""Route lookup: find the partition of a request in the database, and cache it for good.

A tenant lives in one partition for good, and a key belongs to one tenant. So a process's cache can
lack entries, but can't be out of date. Only the public prefix of a credential is used; the owner
checks whether it is valid, and the first partition's owner refuses unknown keys.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar
from uuid import UUID

from sqlalchemy import select

from tidegate_server.hot.admission import credential_of
from tidegate_server.operators.key_ring import prefix_of
from tidegate_server.owners.route_key import route_key_in, tenant_of_challenge
from tidegate_server.stores.databases import reading_engine
from tidegate_server.stores.rows.errors import translated
from tidegate_server.stores.rows.tables import api_keys, tenants

if TYPE_CHECKING:
    from tidegate_server.owners.messages import Asked

K = TypeVar("K", bound="str | UUID")


class RouteTable:
    """The partitions of tenants in a database; call it on worker threads.

    Args:
        url: of the database.
    """

    def __init__(self, url: str) -> None:
        self._engine = reading_engine(url)

    def close(self) -> None:
        """End the connections."""
        self._engine.dispose()

    def of_tenants(self, names: Sequence[UUID]) -> Mapping[UUID, int]:
        """Return the partitions of tenants, without those that don't exist.

        Raises:
            StoreUnavailableError: the database can't be read.
        """
        query = select(tenants.c.tenant_id, tenants.c.partition_id).where(
            tenants.c.tenant_id.in_(names)
        )
        with translated(), self._engine.connect() as connection:
            return {name: number for name, number in connection.execute(query)}  # noqa: C416 - rows

    def of_prefixes(self, names: Sequence[str]) -> Mapping[str, int]:
        """Return the partitions of API keys by their prefixes, without those that don't exist.

        Raises:
            StoreUnavailableError: the database can't be read.
        """
        query = (
            select(api_keys.c.prefix, tenants.c.partition_id)
            .join(tenants, tenants.c.tenant_id == api_keys.c.tenant_id)
            .where(api_keys.c.prefix.in_(names))
        )
        with translated(), self._engine.connect() as connection:
            return {name: number for name, number in connection.execute(query)}  # noqa: C416 - rows

    def tenant_of(self, challenge_id: UUID, query: bytes) -> UUID | None:
        """Return the tenant of a challenge; None if the database doesn't know it.

        Raises:
            StoreUnavailableError: the database can't be read.
        """
        with translated(), self._engine.connect() as connection:
            return tenant_of_challenge(connection, challenge_id, query)


class RouteLookup:
    """The partitions of tenants; use it only on the event loop's thread.

    Args:
        table: has the partitions of all tenants.
        has_decision: asks all owners for the partition whose log has a decision; raises
            :class:`Problem` if that can't be told.
    """

    def __init__(
        self, table: RouteTable, has_decision: Callable[[UUID], Awaitable[int | None]]
    ) -> None:
        self._table = table
        self._has_decision = has_decision
        self._tenants = _Places(table.of_tenants)
        self._prefixes = _Places(table.of_prefixes)

    def close(self) -> None:
        """End the connections to the database."""
        self._table.close()

    async def partition_of(self, asked: Asked) -> int | None:
        """Return the partition that a request is for; None if all answer it alike.

        Raises:
            Problem: ``not-ready``, an owner that may have the decision doesn't answer.
            StoreUnavailableError: the database can't be read.
        """
        named = route_key_in(asked.path)
        if named.tenant_id is not None:
            return await self.partition_of_tenant(named.tenant_id)
        if named.challenge_id is not None:
            return await self._of_challenge(named.challenge_id, asked.query)
        credential = credential_of(asked.headers)
        if credential is not None:
            prefix = _prefix(credential)
            is_one = prefix.isascii() and prefix.isalnum()
            return (await self._prefixes.of(prefix) or 0) if is_one else 0
        return 0 if named.is_of_first else None

    def known_partition(self, credential: bytes) -> int | None:
        """Return the partition of a key that was looked up before."""
        return self._prefixes.known(_prefix(credential))

    async def partition_of_tenant(self, tenant_id: UUID) -> int:
        """Return the partition of a tenant; the first one for an unknown tenant.

        Raises:
            StoreUnavailableError: the database can't be read.
        """
        return await self._tenants.of(tenant_id) or 0

    async def _of_challenge(self, challenge_id: UUID, query: bytes) -> int | None:
        tenant_id = await asyncio.to_thread(self._table.tenant_of, challenge_id, query)
        if tenant_id is not None:
            return await self.partition_of_tenant(tenant_id)
        return await self._has_decision(challenge_id)


def _prefix(credential: bytes) -> str:
    return prefix_of(credential).decode("latin-1")


class _Places(Generic[K]):
    """Cached lookups of names.

    One statement at a time is in progress, for all waiting lookups.
    """

    def __init__(self, find: Callable[[Sequence[K]], Mapping[K, int]]) -> None:
        self._find = find
        self._known: dict[K, int] = {}
        self._waiting: dict[K, asyncio.Future[int | None]] = {}
        self._looking: asyncio.Task[None] | None = None

    def known(self, name: K) -> int | None:
        """Return the place of a cached name; None for any other."""
        return self._known.get(name)

    async def of(self, name: K) -> int | None:
        """Return the place of a name; None if the name doesn't exist."""
        known = self._known.get(name)
        if known is not None:
            return known
        waiting = self._waiting.get(name)
        if waiting is None:
            waiting = self._waiting[name] = asyncio.get_running_loop().create_future()
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        return await asyncio.shield(waiting)

    async def _look(self) -> None:
        try:
            while self._waiting:
                asked, self._waiting = self._waiting, {}
                try:
                    found = await asyncio.to_thread(self._find, list(asked))
                except Exception as error:
                    for waiting in asked.values():
                        waiting.set_exception(error)
                        waiting.exception()  # the caller may have gone
                    continue
                self._known.update(found)
                for name, waiting in asked.items():
                    waiting.set_result(found.get(name))
        finally:
            self._looking = None
