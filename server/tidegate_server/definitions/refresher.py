"""Refreshes published lists when they are due, and when an operator asks for it.

It runs on the event loop and only waits there: the parsing and the write take place in a worker.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

import attrs

from tidegate.policy.published import is_list_type
from tidegate_server.definitions.refreshing import Fetched, key_of, source_of, take
from tidegate_server.http.problems import Problem
from tidegate_server.logging import log
from tidegate_server.offload.inbox import Inbox
from tidegate_server.offload.kinds import SECONDS, Work
from tidegate_server.offload.slots import Party
from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.objects import definitions, list_refreshes, tenants
from tidegate_server.wire.kinds import LIST

if TYPE_CHECKING:
    from tidegate.fetching import Fetcher
    from tidegate.policy.definitions.model import ListSource
    from tidegate_server.control.app import Application

LOOK_SECONDS = 5.0
"""How often it looks for lists that are due."""
AT_ONCE = 8
"""The most lists that are fetched at the same time because they are due."""
RETRY_SECONDS = 3_600
"""The longest wait after a refusal."""
FAILED_SECONDS = 60
"""The wait after the service itself failed, so that no source is asked again and again."""
SECOND_NS = 1_000_000_000
_PAGE = 500


class Refresher:
    """The refreshes of this process.

    Args:
        application: returns the parts of the service, of which this is one.
        fetcher: fetches published documents.
        partition: the tenants of this partition are refreshed when they are due.
        counts: refreshes by outcome.
    """

    def __init__(
        self,
        application: Callable[[], Application],
        fetcher: Fetcher,
        partition: int,
        counts: Counter[str],
    ) -> None:
        self._application = application
        self._fetcher = fetcher
        self._partition = partition
        self._counts = counts
        self._known: dict[UUID, _Sources] = {}
        self._busy: set[UUID] = set()
        self._failed: dict[UUID, int] = {}
        self._places = asyncio.Semaphore(AT_ONCE)

    @property
    def _app(self) -> Application:
        return self._application()

    async def run(self) -> None:
        """Refresh lists for as long as the service runs."""
        async with asyncio.TaskGroup() as group:
            while True:
                try:
                    due = await asyncio.to_thread(self._due)
                except Exception:
                    log.exception("lists could not be looked for; it is tried again")
                    due = {}
                for tenant_id in due.keys() - self._busy:
                    # No tenant waits for the slow sources of another.
                    self._busy.add(tenant_id)
                    group.create_task(self._refresh_all(tenant_id, due[tenant_id]))
                await asyncio.sleep(LOOK_SECONDS)

    async def _refresh_all(self, tenant_id: UUID, lists: list[UUID]) -> None:
        try:
            for list_id in lists:
                # One place for each list: tenants with many lists take turns with the others.
                async with self._places:
                    await self._refresh_quietly(tenant_id, list_id)
        finally:
            self._busy.remove(tenant_id)

    async def _refresh_quietly(self, tenant_id: UUID, list_id: UUID) -> None:
        try:
            await self.refresh(tenant_id, list_id, None)
        except NotFoundError:
            pass  # it was deleted since
        except Exception:
            log.exception("a list could not be refreshed", list_id=str(list_id))
            self._failed[list_id] = self._app.clock()

    async def refresh(self, tenant_id: UUID, list_id: UUID, requested_by: str | None) -> None:
        """See :class:`~tidegate_server.control.app.ListRefresher`.

        Raises:
            NotFoundError: the list doesn't exist.
            Problem: ``conflict``; the list has no source.
        """
        source = await asyncio.to_thread(self._source, tenant_id, list_id)
        fetched = Fetched(
            tenant_id=tenant_id,
            list_id=list_id,
            source=key_of(source),
            requested_by=requested_by,
            at_ns=self._app.clock(),
        )
        fetched = await self._fetched(fetched, source)
        inbox = Inbox(self._app)
        try:
            job = partial(take, fetched)
            owner = (Party.TENANT, tenant_id)
            outcome = await self._app.workers.run(job, inbox, owner, SECONDS[Work.COMPILE])
        finally:
            for changed in inbox.changed:
                await asyncio.to_thread(self._app.definitions_changed, changed)
        self._counts[outcome] += 1

    async def _fetched(self, fetched: Fetched, source: ListSource) -> Fetched:
        from tidegate.fetching import FetchError

        try:
            content = await self._fetcher.fetch(source.url, partial(is_list_type, source=source))
        except FetchError as error:
            return attrs.evolve(fetched, refusal=(error.code, error.detail))
        return attrs.evolve(fetched, content=content)

    def _source(self, tenant_id: UUID, list_id: UUID) -> ListSource:
        with self._app.store.read() as connection:
            found = source_of(definitions.find(connection, tenant_id, LIST.name, list_id).body)
        if found is None:
            raise Problem("conflict", "the list has no source")
        return found

    def _due(self) -> Mapping[UUID, list[UUID]]:
        """Return the lists that are due, by tenant."""
        self._learn()
        due = {}
        for tenant_id, sources in self._known.items():
            if sources.by_list:
                lists = list(self._due_of(tenant_id, sources))
                if lists:
                    due[tenant_id] = lists
        return due

    def _due_of(self, tenant_id: UUID, sources: _Sources) -> Iterator[UUID]:
        now = self._app.clock()
        with self._app.store.read() as connection:
            refreshes = list_refreshes.of_tenant(connection, tenant_id)
        gone = refreshes.keys() - sources.by_list.keys()
        if gone:
            forget = partial(list_refreshes.forget, tenant_id=tenant_id, lists=gone)
            self._app.store.write(forget, quietly=True).result()
        for list_id, (source, changed_at) in sources.by_list.items():
            if now < self._failed.get(list_id, 0) + FAILED_SECONDS * SECOND_NS:
                continue
            last = refreshes.get(list_id)
            # A document that was applied may have brought older entries back.
            if last is None or last.source != key_of(source) or changed_at > last.checked_at_ns:
                yield list_id
                continue
            seconds = source.refresh_seconds
            if last.is_refused:
                seconds = min(seconds, RETRY_SECONDS)
            if now >= last.checked_at_ns + seconds * SECOND_NS:
                yield list_id

    def _learn(self) -> None:
        """Read the sources of tenants whose definitions have changed."""
        known = {}
        with self._app.store.read() as connection:
            after: UUID | None = None
            while page := tenants.page(connection, _PAGE, after, self._partition):
                after = page[-1].tenant_id
                for each in page:
                    before = self._known.get(each.tenant_id)
                    if before is None or before.revision != each.definition_revision:
                        found = definitions.of_kind(connection, each.tenant_id, LIST.name)
                        before = _Sources(
                            each.definition_revision,
                            {
                                of.object_id: (source, of.updated_at_ns)
                                for of in found
                                if (source := source_of(of.body)) is not None
                            },
                        )
                    known[each.tenant_id] = before
        self._known = known


@attrs.frozen
class _Sources:
    """A tenant's lists that have sources, at one revision of its definitions.

    Attributes:
        revision: of the definitions.
        by_list: the source of each list, and when the list was changed.
    """

    revision: int
    by_list: Mapping[UUID, tuple[ListSource, int]]
