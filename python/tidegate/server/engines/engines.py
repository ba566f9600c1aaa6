"""The active tenants: each tenant's engine, redactor and names, swapped whole on a change.

Decisions are made on one thread, the event loop's, and so are the swaps.  Definitions are read
and compiled by a worker process; a set that does not compile leaves the one before it active.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

import attrs

from tidegate.engine import BundledEngine
from tidegate.errors import DefinitionsError, SnapshotError, WorkerError
from tidegate.evaluation.native import Redactor
from tidegate.policy.proofs import ProofKeys
from tidegate.server.engines.compiled import CompiledChange, CompiledSet
from tidegate.server.engines.tenant import Revision, Tenant
from tidegate.server.logging import log
from tidegate.stores.base import DamagedLogError, NotFoundError
from tidegate.stores.decision_log import log as decision_log
from tidegate.stores.decision_log import snapshots
from tidegate.stores.niceness import be_nice
from tidegate.stores.objects import tenants

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate.operators.keys import Keys
    from tidegate.stores.port import Store

Compile: TypeAlias = "Callable[[UUID, int | None], Awaitable[CompiledSet | CompiledChange]]"
"""Compiles a tenant's definitions, or only a change since a revision."""
Make: TypeAlias = "Callable[[CompiledSet, Redactor, ProofKeys], BundledEngine]"
Still: TypeAlias = Callable[[UUID], AbstractAsyncContextManager[None]]


SETTLE_SECONDS = 5.0
"""After the last change of a tenant's policies its index is built anew."""
MOST_LAYERED = 256
"""Changed rules that are not waited with for more."""


def _still(_: UUID) -> AbstractAsyncContextManager[None]:
    """A pause for engines with nothing decided beside the loop."""
    return nullcontext()


def _nobody(_: object) -> None:
    """Nobody follows."""


class Runtimes:
    """Every active tenant.

    Args:
        store: where definitions, snapshots and the log are.
        keys: what the hashes of redacted values are made with, and the keys of proofs of
            challenges.
        compile_newest: has a worker compile the newest definitions of a tenant, or what differs
            in them from those of a revision.
        still: entered to swap a tenant's definitions, between two of its decisions.
    """

    activated: Callable[[Tenant], None]
    """Called when other definitions of a tenant are active."""
    dropped: Callable[[UUID], None]
    """Called with a tenant that was deleted."""

    def __init__(
        self, store: Store, keys: Keys, compile_newest: Compile, still: Still = _still
    ) -> None:
        self.activated = self.dropped = _nobody
        self._store = store
        self._still = still
        self._keys = keys
        self._compile = compile_newest
        self._tenants: dict[UUID, Tenant] = {}
        self._changing: dict[UUID, asyncio.Lock] = {}
        self._settling: dict[UUID, asyncio.TimerHandle] = {}
        # The C library gives each thread memory of its own, and what is freed there stays there:
        # engines made on all threads of a pool would take several times what they need.
        self._making = ThreadPoolExecutor(1, "tidegate-engine")
        self._builder = ThreadPoolExecutor(1, "tidegate-index", initializer=be_nice)
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

    async def load(self, level: Mapping[UUID, Tenant] | None = None) -> None:
        """Bring every tenant up from the store: definitions, newest snapshot, log after it.

        Not while decisions are made: their effects would be counted twice.

        Args:
            level: tenants whose states are those after the end of the log; who is among them by
                the newest definitions is taken as it is.
        """
        loaded = {}
        self._unloaded.clear()
        for tenant_id, revision in (await asyncio.to_thread(self._revisions)).items():
            tenant = None if level is None else level.get(tenant_id)
            if tenant is None or tenant.read_at != revision:
                tenant = await self.restored(tenant_id, revision, partial(self._rebuilt, tenant_id))
            if tenant is None:
                self._unloaded.add(tenant_id)
            else:
                loaded[tenant_id] = tenant
        self._tenants = loaded

    async def restored(self, tenant_id: UUID, revision: Revision, make: Make) -> Tenant | None:
        """A tenant as at a start; None when its definitions cannot be used now, which is logged.

        Args:
            tenant_id: the tenant.
            revision: of its definitions.
            make: makes its engine, with its state.
        """
        try:
            return await self._made(tenant_id, revision, make)
        except WorkerError as error:  # it is tried again with the next look at the store
            log.error("definitions are not compiled", tenant=str(tenant_id), error=str(error))
            return None

    async def refresh(self, only: UUID | None = None) -> bool:
        """Take over definitions that have changed since they were read.

        Args:
            only: a tenant that nobody else's changes are to delay.

        Returns:
            Whether the definitions that the store had at the beginning decide.
        """
        revisions = await asyncio.to_thread(self._revisions)
        wanted = {each: at for each, at in revisions.items() if only in (None, each)}
        changed = [each for each in wanted.items() if not self._is_taken(*each)]
        await asyncio.gather(*(self._replace(*each) for each in changed))
        for tenant_id in self._tenants.keys() - revisions.keys():
            if only in (None, tenant_id):
                del self._tenants[tenant_id]
                self.dropped(tenant_id)
                self._changing.pop(tenant_id, None)
        return all(self._decides(*each) for each in wanted.items())

    def _decides(self, tenant_id: UUID, revision: Revision) -> bool:
        """Whether definitions of this revision, or later ones, decide."""
        present = self.find(tenant_id)
        return present is not None and present.read_at >= revision

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
                    make = self._maker(tenant_id, present)
                    found = await self._made(tenant_id, revision, make, present)
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
                        self.activated(found)
                        self._settle(found)

    def _maker(self, tenant_id: UUID, present: Tenant | None) -> Make:
        if present is not None:
            return partial(_succeeded, present.engine)
        # What was decided before the start is in the log, but a new tenant has nothing there.
        return partial(self._rebuilt, tenant_id) if tenant_id in self._unloaded else _new

    def _revisions(self) -> dict[UUID, Revision]:
        with self._store.read() as connection:
            return tenants.definition_revisions(connection, self._store.partition)

    async def _made(
        self, tenant_id: UUID, revision: Revision, make: Make, present: Tenant | None = None
    ) -> Tenant | None:
        """A tenant by its newest definitions; None when they cannot be used.

        Args:
            tenant_id: the tenant.
            revision: of these definitions.
            make: makes an engine of all of them.
            present: the tenant as it decides; what a change leaves as it is, it shares.
        """
        making = partial(asyncio.get_running_loop().run_in_executor, self._making)
        try:
            made = await self._compile(tenant_id, None if present is None else present.revision)
            if present is not None and isinstance(made, CompiledChange):
                changed = await making(_changed, present, made, revision)
                if changed is not None:
                    self.refused.pop(tenant_id, None)
                    return changed
                made = await self._compile(tenant_id, None)
        except DefinitionsError as error:
            log.error("definitions do not compile", tenant=str(tenant_id), error=str(error))
            self.refused[tenant_id] = (revision, str(error))
            return None
        assert isinstance(made, CompiledSet)
        redactor = made.keys.redaction.redactor(Redactor, self._keys.redaction_of(tenant_id))
        proof_keys = proof_keys_of(tenant_id, self._keys)
        engine = await making(make, made, redactor, proof_keys)
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

    def _settle(self, tenant: Tenant) -> None:
        """Have one index built of all, once no change has come for a while or much has changed."""
        waiting = self._settling.pop(tenant.tenant_id, None)
        if waiting is not None:
            waiting.cancel()
        layered = tenant.engine.layered
        if layered:
            wait = SETTLE_SECONDS if layered < MOST_LAYERED else 0.0
            loop = asyncio.get_running_loop()
            self._settling[tenant.tenant_id] = loop.call_later(wait, self._rebuild, tenant)

    def _rebuild(self, tenant: Tenant) -> None:
        self._settling.pop(tenant.tenant_id, None)

        def rebuild() -> None:
            # What waited for its turn may be out of date.
            if self.find(tenant.tenant_id) is tenant:
                tenant.engine.rebuild()

        self._builder.submit(rebuild)

    def _rebuilt(
        self, tenant_id: UUID, made: CompiledSet, redactor: Redactor, proof_keys: ProofKeys
    ) -> BundledEngine:
        with self._store.read() as connection:
            return rebuilt(connection, tenant_id, made, redactor, proof_keys)


def proof_keys_of(tenant_id: UUID, keys: Keys) -> ProofKeys:
    """Keys that make and read the proofs of a tenant's challenges."""
    return ProofKeys(tenant_id, keys.proofs_of(tenant_id), keys.sealing_of(tenant_id))


def _new(made: CompiledSet, redactor: Redactor, proof_keys: ProofKeys | None) -> BundledEngine:
    return BundledEngine(made.content, redactor, sample=made.sample, proof_keys=proof_keys)


def _succeeded(
    present: BundledEngine,
    made: CompiledSet,
    redactor: Redactor,
    _: ProofKeys,  # which the present one has
) -> BundledEngine:
    return present.with_bundle(made.content, redactor, sample=made.sample)


def _changed(present: Tenant, made: CompiledChange, revision: Revision) -> Tenant | None:
    """A tenant by definitions in which policies differ; None when the engine is to be made anew."""
    engine = present.engine.with_change(made.content)
    if engine is None:
        return None
    policies = {**present.names.policies, **made.names}
    for slug in made.gone:
        del policies[slug]
    return attrs.evolve(
        present,
        revision=made.revision,
        read_at=revision,
        engine=engine,
        names=attrs.evolve(present.names, policies=policies),
    )


def rebuilt(
    connection: Connection,
    tenant_id: UUID,
    made: CompiledSet,
    redactor: Redactor,
    proof_keys: ProofKeys | None = None,
    damaged: Callable[[], object] = lambda: None,
) -> BundledEngine:
    """An engine in the state after the last decision in the log.

    Args:
        connection: a connection of the store.
        tenant_id: whose.
        made: its definitions.
        redactor: of the tenant.
        proof_keys: of the tenant.
        damaged: called when decisions are passed over, because the log is damaged.
    """
    engine = _new(made, redactor, proof_keys)
    with ThreadPoolExecutor(1) as reader:
        for snapshot in snapshots.newest(connection, tenant_id):
            # Read while native code loads the state, which lets the interpreter go and takes as
            # long.  The connection is the thread's until the result is there.
            reading = reader.submit(_effects, connection, tenant_id, snapshot.seq, damaged)
            try:
                engine.load_state(snapshot.body)
            except SnapshotError as error:
                log.warning("a snapshot is of no use", tenant=str(tenant_id), error=str(error))
                reading.result()
                continue
            engine.apply_effects(reading.result())
            return engine
    engine.apply_effects(_effects(connection, tenant_id, 0, damaged))
    return engine


def _effects(
    connection: Connection, tenant_id: UUID, after: int, damaged: Callable[[], object]
) -> list[bytes]:
    """The effects of each decision after a number, in order, without lost ones, which were reported
    before."""

    def pass_over(error: DamagedLogError) -> None:
        damaged()
        log.error("a state lacks what damaged decisions did to it", reason=str(error))

    lines = decision_log.scan(connection, after=after, tenant_id=tenant_id, passed=pass_over)
    return [line.effects() for line in lines]
