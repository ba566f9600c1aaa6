"""The active tenants: each tenant's engine, redactor and names, swapped whole on a change.

Decisions are made on one thread, the event loop's, and so are the swaps.  Definitions are read
and compiled by a worker process; a set that does not compile leaves the one before it active.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

import attrs

from tidegate.engine import BundledEngine
from tidegate.errors import DefinitionsError, SnapshotError, WorkerError
from tidegate.evaluation.native import Redactor
from tidegate.policy.model import Settings
from tidegate.server.logging import log
from tidegate.server.workers.compiling import Names
from tidegate.stores import log as decision_log
from tidegate.stores import snapshots, tenants
from tidegate.stores.base import DamagedLogError, NotFoundError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate.policy.key_forms import KeyForms
    from tidegate.server.workers.compiling import CompiledSet
    from tidegate.stores.base import Store

Revision: TypeAlias = tuple[int, int]
"""How often a tenant's definitions changed, and its own revision: its settings count too."""

Compile: TypeAlias = Callable[[UUID], Awaitable["CompiledSet"]]
Make: TypeAlias = "Callable[[CompiledSet, Redactor], BundledEngine]"
Still: TypeAlias = Callable[[UUID], AbstractAsyncContextManager[None]]


def _still(_: UUID) -> AbstractAsyncContextManager[None]:
    """Where nothing is decided beside the loop."""
    return nullcontext()


@attrs.frozen
class Tenant:
    """What a decision needs of a tenant."""

    tenant_id: UUID
    revision: int
    """Of the definitions."""
    read_at: Revision
    engine: BundledEngine
    redactor: Redactor
    names: Names
    """The ids of every policy, entity definition and mitigation."""
    settings: Settings
    keys: KeyForms
    """How keys of entities are kept."""
    id_text: str = attrs.field(init=False)

    @id_text.default
    def _write_id(self) -> str:
        return str(self.tenant_id)


class Runtimes:
    """Every active tenant.

    Args:
        store: where definitions, snapshots and the log are.
        redaction_key: what the hashes of redacted values are made with.
        compile_newest: has a worker compile the newest definitions of a tenant.
        still: entered to swap a tenant's definitions, between two of its decisions.
    """

    def __init__(
        self, store: Store, redaction_key: bytes, compile_newest: Compile, still: Still = _still
    ) -> None:
        self._store = store
        self._still = still
        self._redaction_key = redaction_key
        self._compile = compile_newest
        self._tenants: dict[UUID, Tenant] = {}
        self._changing: dict[UUID, asyncio.Lock] = {}
        self._unloaded: set[UUID] = set()
        """Tenants whose definitions could not be used at the start: their state is in the log."""
        self.refused: dict[UUID, tuple[Revision, str]] = {}
        """Tenants whose newest definitions do not compile: which, and why."""

    def find(self, tenant_id: UUID) -> Tenant | None:
        """The active tenant, or None when there is none."""
        return self._tenants.get(tenant_id)

    def all(self) -> Iterable[Tenant]:
        """Every active tenant."""
        return list(self._tenants.values())

    async def load(self) -> None:
        """Bring every tenant up from the store: definitions, newest snapshot, log after it.

        Not while decisions are made: their effects would be counted twice.
        """
        loaded = {}
        self._unloaded.clear()
        for tenant_id, revision in (await asyncio.to_thread(self._revisions)).items():
            try:
                tenant = await self._made(tenant_id, revision, partial(self._rebuilt, tenant_id))
            except WorkerError as error:  # it is tried again with the next look at the store
                log.error("definitions are not compiled", tenant=str(tenant_id), error=str(error))
                tenant = None
            if tenant is None:
                self._unloaded.add(tenant_id)
            else:
                loaded[tenant_id] = tenant
        self._tenants = loaded

    async def refresh(self) -> None:
        """Take over definitions that have changed since they were read."""
        revisions = await asyncio.to_thread(self._revisions)
        changed = [each for each in revisions.items() if not self._is_taken(*each)]
        await asyncio.gather(*(self._replace(*each) for each in changed))
        for tenant_id in self._tenants.keys() - revisions.keys():
            del self._tenants[tenant_id]
            self._changing.pop(tenant_id, None)

    def _is_taken(self, tenant_id: UUID, revision: Revision) -> bool:
        present, refused = self.find(tenant_id), self.refused.get(tenant_id)
        if refused is not None and refused[0] == revision:
            return True
        return present is not None and present.read_at == revision

    async def _replace(self, tenant_id: UUID, revision: Revision) -> None:
        """Make a tenant's newest definitions active, with the state that it has."""
        async with self._changing.setdefault(tenant_id, asyncio.Lock()):
            while not self._is_taken(tenant_id, revision):
                present = self.find(tenant_id)
                try:
                    found = await self._made(tenant_id, revision, self._maker(tenant_id, present))
                except NotFoundError:
                    return  # it was deleted meanwhile
                if found is None:
                    return
                # What an engine decides after its successor is active, the next one would miss.
                async with self._still(tenant_id):
                    # A rebuilding may have put another engine in its place meanwhile.
                    if self.find(tenant_id) is present:
                        self._tenants[tenant_id] = found
                        self._unloaded.discard(tenant_id)

    def _maker(self, tenant_id: UUID, present: Tenant | None) -> Make:
        if present is not None:
            return partial(_succeeded, present.engine)
        # What was decided before the start is in the log, but a new tenant has nothing there.
        return partial(self._rebuilt, tenant_id) if tenant_id in self._unloaded else _new

    def _revisions(self) -> dict[UUID, Revision]:
        with self._store.read() as connection:
            return tenants.definition_revisions(connection)

    async def _made(self, tenant_id: UUID, revision: Revision, make: Make) -> Tenant | None:
        """A tenant by its newest definitions; None when they cannot be used."""
        try:
            made = await self._compile(tenant_id)
        except DefinitionsError as error:
            log.error("definitions do not compile", tenant=str(tenant_id), error=str(error))
            self.refused[tenant_id] = (revision, str(error))
            return None
        redactor = Redactor(list(made.settings.redact), self._redaction_key)
        engine = await asyncio.to_thread(make, made, redactor)
        self.refused.pop(tenant_id, None)
        return Tenant(
            tenant_id,
            made.revision,
            revision,
            engine,
            redactor,
            made.names,
            made.settings,
            made.keys,
        )

    def _rebuilt(self, tenant_id: UUID, made: CompiledSet, redactor: Redactor) -> BundledEngine:
        with self._store.read() as connection:
            return rebuilt(connection, tenant_id, made, redactor)


def _new(made: CompiledSet, redactor: Redactor) -> BundledEngine:
    return BundledEngine(made.content, redactor, sample=made.sample)


def _succeeded(present: BundledEngine, made: CompiledSet, redactor: Redactor) -> BundledEngine:
    return present.with_bundle(made.content, redactor, sample=made.sample)


def rebuilt(
    connection: Connection, tenant_id: UUID, made: CompiledSet, redactor: Redactor
) -> BundledEngine:
    """An engine in the state after the last decision in the log."""
    engine, after = _new(made, redactor), 0
    for snapshot in snapshots.newest(connection, tenant_id):
        try:
            engine.load_state(snapshot.body)
        except SnapshotError as error:
            log.warning("a snapshot is of no use", tenant=str(tenant_id), error=str(error))
            continue
        after = snapshot.seq
        break
    engine.apply_effects(_effects(connection, tenant_id, after))
    return engine


def _effects(connection: Connection, tenant_id: UUID, after: int) -> Iterator[bytes]:
    """What each decision after a number did to the state, in order; but for those that are lost,
    which were reported before."""

    def pass_over(error: DamagedLogError) -> None:
        log.error("a state lacks what damaged decisions did to it", reason=str(error))

    lines = decision_log.scan(connection, after=after, tenant_id=tenant_id, passed=pass_over)
    for line in lines:
        yield line.effects()
