"""Answers to daemons: snapshots and changes, built once for all daemons with the same request."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import msgspec
import orjson

from tidegate_server.http.problems import Problem
from tidegate_server.logging import log
from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.decision_log.lines import join_effects
from tidegate_server.stores.objects import change_marks, definition_sets, passes
from tidegate_server.sync import messages
from tidegate_server.sync.changes import ChangeLog
from tidegate_server.sync.remaking import first_mark, remade

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.engines.engines import Runtimes
    from tidegate_server.engines.tenant import Tenant
    from tidegate_server.stores.decision_log.lines import LogBlock
    from tidegate_server.stores.port import Store
    from tidegate_server.sync.signing import Signer

PAGE = 10_000
"""Mitigations that are read from a state in one step."""
PACKED_FROM = 1_024
"""The size in bytes above which compressing an answer pays off."""
MOST_KEPT = 8
"""Cached answers per tenant: daemons are at the newest number, or a few before it."""
RETRY_SECONDS = 2.0
MARKED_LINES = 20_000
"""Lines of the log between two marks: a restart reads about as many again."""


@attrs.frozen
class Signed:
    """An answer that is sent repeatedly."""

    body: bytes
    packed: bytes | None
    """The body compressed with gzip, if that pays off."""
    signature: str
    etag: str


class Feed:
    """The change logs of all tenants with daemons; use it only on the event loop's thread.

    Args:
        store: stores the definitions.
        runtimes: the active tenants.
        signer: signs the answers.
        secrets: the keys that a tenant's daemons need.
        base_url: the address that browsers reach the service by.
        seq: returns the number of the last durable decision.
    """

    def __init__(
        self,
        store: Store,
        runtimes: Runtimes,
        signer: Signer,
        secrets: Callable[[UUID], messages.Secrets],
        base_url: Callable[[], str],
        seq: Callable[[], int],
    ) -> None:
        self._store = store
        self._runtimes = runtimes
        self._signer = signer
        self._secrets = secrets
        self._base_url = base_url
        self._seq = seq
        self._logs: dict[UUID, ChangeLog] = {}
        self._followed_before: set[UUID] = set()
        """Tenants whose changes daemons followed before the start, until they are loaded."""
        self._made: dict[UUID, dict[tuple[int, int], asyncio.Future[Signed]]] = {}
        self._wanted: dict[UUID, int] = {}
        """Revisions about to become a change."""
        self._begun: dict[UUID, asyncio.Future[None]] = {}
        """Done when the first mark of a new change log is durable."""
        self._tasks: set[asyncio.Future[None]] = set()
        self._is_stopping = False

    async def start(self) -> None:
        """Rebuild the changes that daemons followed before a restart."""
        self._followed_before.update(await asyncio.to_thread(self._followed))
        for tenant in self._runtimes.all():
            await self.loaded(tenant)

    async def loaded(self, tenant: Tenant) -> None:
        """Rebuild the changes of a tenant that was loaded, and doesn't decide yet."""
        tenant_id = tenant.tenant_id
        if tenant_id not in self._followed_before:
            return
        found = await asyncio.to_thread(self._remade, tenant_id)
        self._followed_before.discard(tenant_id)
        if found is not None:
            self._logs[tenant_id] = found
            self.activated(tenant)

    def log_of(self, tenant_id: UUID) -> ChangeLog:
        """Return the changes of a tenant; the first request starts recording them.

        Raises:
            Problem: its definitions can't be used.
        """
        found = self._logs.get(tenant_id)
        if found is None:
            mark = first_mark(tenant_id, self._seq(), self.tenant(tenant_id).revision)
            found = self._logs[tenant_id] = ChangeLog(tenant_id, mark)
            self._begun[tenant_id] = self._write(partial(change_marks.begin, mark=mark))
        return found

    def tenant(self, tenant_id: UUID) -> Tenant:
        """Return the active tenant.

        Raises:
            Problem: it isn't loaded yet, or its definitions can't be used.
        """
        tenant = self._runtimes.find(tenant_id)
        if tenant is None and self._runtimes.call(tenant_id):
            raise Problem("not-ready", "the tenant is being loaded", headers={"retry-after": "1"})
        if tenant is None:
            raise Problem("definitions-unavailable", headers={"retry-after": "1"})
        return tenant

    def committed(self, blocks: Sequence[LogBlock], last_seq: int) -> None:
        """Take durable blocks; ``last_seq`` is the number of their last decision."""
        for block in blocks if self._logs else ():
            changes = self._logs.get(block.tenant_id)
            if changes is not None:
                changes.committed(block.lines, last_seq)
                if changes.is_mark_due(MARKED_LINES):
                    self._write(partial(change_marks.add, mark=changes.mark))

    def activated(self, tenant: Tenant) -> None:
        """Note that a tenant's definitions became active."""
        changes = self._logs.get(tenant.tenant_id)
        if changes is not None and tenant.revision > changes.revision:
            changes.hold()
            is_under_way = tenant.tenant_id in self._wanted
            self._wanted[tenant.tenant_id] = tenant.revision
            if not is_under_way:
                self._keep(asyncio.ensure_future(self._activate(changes)))

    def dropped(self, tenant_id: UUID) -> None:
        """Note that a tenant was deleted."""
        changes = self._logs.pop(tenant_id, None)
        self._made.pop(tenant_id, None)
        self._begun.pop(tenant_id, None)
        if changes is not None:
            changes.wake()

    def reset(self) -> None:
        """Note that the states were rebuilt: followers take a snapshot."""
        for tenant_id in list(self._logs):
            self.dropped(tenant_id)

    def answer_now(self) -> None:
        """Answer every call that waits for a change, and let none wait later: the server stops."""
        self._is_stopping = True
        for changes in self._logs.values():
            changes.wake()

    async def snapshot(self, tenant_id: UUID) -> Signed:
        """Return everything, as of the newest number or later.

        Raises:
            Problem: the definitions can't be used.
        """
        changes = self.log_of(tenant_id)
        begun = self._begun.get(tenant_id)
        if begun is not None:
            await asyncio.shield(begun)
        return await self._shared(
            changes, (-1, changes.sequence), partial(self._make_snapshot, changes)
        )

    async def changes(self, tenant_id: UUID, after: int, seconds: float) -> Signed:
        """Return changes after a number, waiting until there are any or the time is over.

        Raises:
            Problem: ``unknown-cursor``; the definitions can't be used.
        """
        changes = self.log_of(tenant_id)
        if changes.hash_at(after) is None:
            raise unknown(changes)
        await changes.wait(after, 0 if self._is_stopping else seconds)
        if self._logs.get(tenant_id) is not changes or changes.hash_at(after) is None:
            raise unknown(changes)
        make = partial(self._make_changes, changes, after)
        if changes.sequence == after:
            return await make()  # It says how new that is.
        return await self._shared(changes, (after, changes.sequence), make)

    async def _shared(
        self, changes: ChangeLog, name: tuple[int, int], make: Callable[[], Any]
    ) -> Signed:
        kept = self._made.setdefault(changes.tenant_id, {})
        found = kept.get(name)
        if found is None:
            found = kept[name] = asyncio.ensure_future(make())
            found.add_done_callback(lambda made: _forget(kept, name, made))
            while len(kept) > MOST_KEPT:
                del kept[next(iter(kept))]
        return await asyncio.shield(found)

    async def _make_snapshot(self, changes: ChangeLog) -> Signed:
        tenant = self.tenant(changes.tenant_id)
        # The state is read later, so it is at least as new as the number says.
        head = changes.sequence, changes.hash.hex(), changes.revision
        at = time.time_ns()
        return await asyncio.to_thread(self._write_snapshot, tenant, head, at)

    def _write_snapshot(self, tenant: Tenant, head: tuple[int, str, int], at: int) -> Signed:
        sequence, chain, revision = head
        with self._store.read() as connection:
            document = definition_sets.load(connection, tenant.tenant_id, revision)
            effects = [active_effects(tenant, at), revoked_passes(connection, tenant, at)]
        body = messages.Snapshot(
            version=messages.VERSION,
            tenant_id=tenant.tenant_id,
            sequence=sequence,
            hash=chain,
            created_at=at,
            public_key=self._signer.public_key,
            base_url=self._base_url(),
            secrets=self._secrets(tenant.tenant_id),
            revision=revision,
            document=msgspec.Raw(document),
            effects=msgspec.Raw(join_effects(effects)),
            end=True,
        )
        return self._signed(msgspec.json.encode(body), f'"s{sequence}-{chain[:16]}"')

    async def _make_changes(self, changes: ChangeLog, after: int) -> Signed:
        items, sequence, chain = changes.since(after)
        body = messages.Changes(
            version=messages.VERSION,
            tenant_id=changes.tenant_id,
            after=after,
            previous_hash=(changes.hash_at(after) or b"").hex(),
            items=[msgspec.Raw(item) for item in items],
            sequence=sequence,
            hash=chain.hex(),
            created_at=time.time_ns(),
            end=True,
        )
        encoded = msgspec.json.encode(body)
        etag = f'"c{after}-{sequence}-{chain.hex()[:16]}"'
        if len(encoded) < PACKED_FROM:
            return self._signed(encoded, etag)
        return await asyncio.to_thread(self._signed, encoded, etag)

    def _signed(self, body: bytes, etag: str) -> Signed:
        packed = gzip.compress(body, 5) if len(body) >= PACKED_FROM else None
        return Signed(body, packed, self._signer.sign(body), etag)

    async def _activate(self, changes: ChangeLog) -> None:
        tenant_id = changes.tenant_id
        try:
            while (revision := self._wanted[tenant_id]) > changes.revision:
                try:
                    document = await asyncio.to_thread(self._document, tenant_id, revision)
                    if self._logs.get(tenant_id) is changes:
                        mark = changes.mark_after(revision, document)
                        await self._write(partial(change_marks.add, mark=mark))
                except NotFoundError:
                    return
                except Exception:
                    log.exception("definitions could not be read for daemons; it is tried again")
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
                changes.activated(revision, document)
        finally:
            del self._wanted[tenant_id]
            changes.release()

    def _write(self, work: Callable[[Connection], None]) -> asyncio.Future[None]:
        return self._keep(asyncio.wrap_future(self._store.write(work, quietly=True)))

    def _keep(self, work: asyncio.Future[None]) -> asyncio.Future[None]:
        """Keep a reference to work until it is done, as the loop doesn't."""
        self._tasks.add(work)
        work.add_done_callback(self._tasks.discard)
        return work

    def _followed(self) -> list[UUID]:
        with self._store.read() as connection:
            return change_marks.tenants(connection)

    def _remade(self, tenant_id: UUID) -> ChangeLog | None:
        with self._store.read() as connection:
            return remade(connection, tenant_id)

    def _document(self, tenant_id: UUID, revision: int) -> bytes:
        with self._store.read() as connection:
            return definition_sets.load(connection, tenant_id, revision)


def active_effects(tenant: Tenant, at: int) -> bytes:
    """Return the active mitigations of a tenant, as effects that set them."""
    written: list[bytes] = []
    last = None
    while True:
        page = tenant.engine.active_mitigations(at, PAGE, last)
        written += [
            orjson.dumps(
                [
                    "mitigate",
                    each.definition,
                    each.key,
                    str(at),
                    [[each.policy, each.clause, str(each.expires_at)]],
                ]
            )
            for each in page
        ]
        if len(page) < PAGE:
            return b"[%b]" % b",".join(written)
        last = page[-1]


def revoked_passes(connection: Connection, tenant: Tenant, at: int) -> bytes:
    """Return a tenant's revoked passes that have not expired, as effects that revoke them."""
    written: list[list[str]] = []
    last = None
    while page := passes.page(connection, tenant.tenant_id, PAGE, last, alive_at_ns=at):
        written += [
            ["revoke", str(each.pass_id), str(at), str(each.expires_at_ns)]
            for each in page
            if tenant.engine.is_revoked(each.pass_id)
        ]
        last = page[-1].pass_id
    return orjson.dumps(written)


def unknown(changes: ChangeLog) -> Problem:
    """Return the refusal of a number whose changes are no longer known."""
    return Problem("unknown-cursor", f"take a snapshot; the newest number is {changes.sequence}")


def _forget(
    kept: Mapping[tuple[int, int], asyncio.Future[Signed]],
    name: tuple[int, int],
    made: asyncio.Future[Signed],
) -> None:
    if (made.cancelled() or made.exception() is not None) and isinstance(kept, dict):
        kept.pop(name, None)
