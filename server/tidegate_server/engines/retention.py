"""Delete old data alongside live traffic, in small steps with pauses.

A step in the log delays commits for a few milliseconds. Log entries that a start could need are not
deleted: if the snapshots don't reach far enough, new ones are taken first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING
from uuid import UUID

import attrs

from tidegate.policy.definitions.model import Settings
from tidegate_server.logging import log
from tidegate_server.stores import retention
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.decision_log import log as decision_log
from tidegate_server.stores.index import idempotency
from tidegate_server.stores.objects import (
    challenges,
    definition_sets,
    kept_answers,
    operator_sessions,
    passes,
    revoked_tokens,
    tenants,
)

if TYPE_CHECKING:
    from concurrent.futures import Future

    from sqlalchemy import Connection

    from tidegate_server.stores.port import Store

PASS_SECONDS = 60.0
"""How often retention looks for old data."""
PAUSE_SECONDS = 0.05
STEP_DECISIONS = 1_000
"""Decisions per step. With the pause that is 20,000 decisions a second, more than arrive."""
DAY_NS = 86_400_000_000_000
_PAGE = 500


@attrs.frozen
class Retention:
    """The deletion of old data.

    Args:
        store: stores the data.
        save_states: takes snapshots of all tenants' states.
        clock: nanoseconds since 1970.
    """

    _store: Store
    _save_states: Callable[[], Awaitable[None]]
    _clock: Callable[[], int] = time.time_ns

    async def run(self) -> None:
        """Delete old data for as long as the service runs."""
        while True:
            try:
                await self.one_pass()
            except StoreUnavailableError:
                log.warning("retention waits until the store can be written")
            except Exception:
                log.exception("retention failed; it is tried again")
            await asyncio.sleep(PASS_SECONDS)

    async def one_pass(self) -> None:
        """Delete all data that is too old now."""
        now = self._clock()
        await self._repeat(self._store.derive, lambda c: idempotency.prune(c, now))
        if not self._store.partition:  # the first partition's owner also deletes unpartitioned data
            await self._repeat(self._write, lambda c: revoked_tokens.prune(c, now))
            await self._repeat(self._write, lambda c: operator_sessions.prune(c, now))
            await self._repeat(self._write, lambda c: kept_answers.prune(c, now))
        orphans = await asyncio.to_thread(self._orphans)
        limits = await asyncio.to_thread(self._limits, now)
        if await asyncio.to_thread(self._need_snapshots, limits):
            await self._save_states()
        # Log entries are deleted only once they are derived, and on stable storage.
        flushed = await asyncio.to_thread(self._store.flush_derived)
        for tenant_id in orphans:
            await self._repeat(
                self._write,
                _pruning(tenant_id, retention.END_OF_TIME_NS, flushed, is_deleted=True),
            )
            await self._repeat(self._write, _forgetting(tenant_id))
            await self._repeat(self._store.derive, _forgetting_derived(tenant_id))
        for tenant_id, before_ns in limits.items():
            await self._repeat(self._store.derive, _pruning_derived(tenant_id, before_ns))
            await self._repeat(self._write, _pruning_challenges(tenant_id, before_ns))
            if await self._repeat(self._write, _pruning(tenant_id, before_ns, flushed)):
                await self._repeat(self._write, _pruning_definitions(tenant_id))

    def _write(self, step: Callable[[Connection], int]) -> Future[int]:
        return self._store.write(step, quietly=True)

    async def _repeat(
        self,
        run: Callable[[Callable[[Connection], int]], Future[int]],
        step: Callable[[Connection], int],
    ) -> int:
        """Repeat a step until it deletes nothing; return how much was deleted in total."""
        total = 0
        while deleted := await asyncio.wrap_future(run(step)):
            total += deleted
            await asyncio.sleep(PAUSE_SECONDS)
        return total

    def _orphans(self) -> list[UUID]:
        with self._store.read() as connection:
            return retention.orphans(connection)

    def _limits(self, now: int) -> dict[UUID, int]:
        """Return the time before which each tenant's decisions are too old."""
        default = Settings().retention_days
        with self._store.read() as connection:
            return {
                each.tenant_id: now - each.settings.get("retention_days", default) * DAY_NS
                for each in _tenants(connection, self._store.partition)
            }

    def _need_snapshots(self, limits: dict[UUID, int]) -> bool:
        with self._store.read() as connection:
            return any(
                retention.newest_seq(connection, tenant_id, before_ns)
                > retention.safe_seq(connection, tenant_id)
                for tenant_id, before_ns in limits.items()
            )


def _pruning(
    tenant_id: UUID, before_ns: int, flushed_seq: int, *, is_deleted: bool = False
) -> Callable[[Connection], int]:
    def step(connection: Connection) -> int:
        # A start doesn't need the state of a deleted tenant.
        safe = flushed_seq if is_deleted else retention.safe_seq(connection, tenant_id)
        return retention.prune(
            connection, tenant_id, before_ns, min(flushed_seq, safe), STEP_DECISIONS
        )

    return step


def _pruning_derived(tenant_id: UUID, before_ns: int) -> Callable[[Connection], int]:
    return lambda connection: retention.prune_derived(connection, tenant_id, before_ns)


def _pruning_challenges(tenant_id: UUID, before_ns: int) -> Callable[[Connection], int]:
    def step(connection: Connection) -> int:
        sessions = challenges.prune(connection, tenant_id, before_ns)
        return sessions + passes.prune(connection, tenant_id, before_ns)

    return step


def _forgetting(tenant_id: UUID) -> Callable[[Connection], int]:
    return lambda connection: retention.forget(connection, tenant_id)


def _forgetting_derived(tenant_id: UUID) -> Callable[[Connection], int]:
    return lambda connection: retention.forget_derived(connection, tenant_id)


def _pruning_definitions(tenant_id: UUID) -> Callable[[Connection], int]:
    """Delete definitions that made no decision in the log."""

    def step(connection: Connection) -> int:
        oldest = next(decision_log.scan(connection, tenant_id=tenant_id), None)
        if oldest is None:
            return 0
        return definition_sets.prune(connection, tenant_id, oldest.decision().revision)

    return step


def _tenants(connection: Connection, partition: int) -> Iterator[tenants.Tenant]:
    after: UUID | None = None
    while page := tenants.page(connection, _PAGE, after, partition):
        yield from page
        after = page[-1].tenant_id
