"""The active tenants: each one's engine, redactor and names, replaced together on a change.

Decisions are made on one thread, the event loop's, and so are the replacements. A worker process
reads and compiles definitions; if a set doesn't compile, the previous one stays active.
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

from tidegate.errors import DefinitionsError, SnapshotError, WorkerError
from tidegate.evaluation.native import Redactor
from tidegate.policy.proofs import ProofKeys
from tidegate_server.engines.compiled import CompiledChange, CompiledSet
from tidegate_server.engines.serving import BundledEngine
from tidegate_server.engines.tenant import Revision, Tenant
from tidegate_server.logging import log
from tidegate_server.stores.base import DamagedLogError, NotFoundError
from tidegate_server.stores.decision_log import log as decision_log
from tidegate_server.stores.decision_log import snapshots
from tidegate_server.stores.niceness import be_nice
from tidegate_server.stores.objects import tenants

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.operators.keys import Keys
    from tidegate_server.stores.port import Store

Compile: TypeAlias = "Callable[[UUID, int | None], Awaitable[CompiledSet | CompiledChange]]"
"""Compiles a tenant's definitions, or only a change since a revision."""
Make: TypeAlias = "Callable[[CompiledSet, Redactor, ProofKeys], BundledEngine]"
Still: TypeAlias = Callable[[UUID], AbstractAsyncContextManager[None]]


SETTLE_SECONDS = 5.0
"""How long after the last change of a tenant's policies its index is rebuilt."""
MOST_LAYERED = 256
"""With this many changed rules, the rebuild doesn't wait for more."""


def _still(_: UUID) -> AbstractAsyncContextManager[None]:
    """Return a pause for engines whose decisions are all made on the loop."""
    return nullcontext()


def _nobody(_: object) -> None:
    """Do nothing, since nobody follows."""


class Runtimes:
    """Every active tenant.

    Args:
        store: stores definitions, snapshots and the log.
        keys: the keys for hashes of redacted values, and for proofs of challenges.
        compile_newest: has a worker compile a tenant's newest definitions, or their differences
            from a revision.
        still: entered to swap a tenant's definitions, between two of its decisions.
    """

    activated: Callable[[Tenant], None]
    """Called when a tenant's definitions were replaced."""
    dropped: Callable[[UUID], None]
    """Called with a deleted tenant."""

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
        # The C library gives each thread its own memory, and freed memory stays there: engines
        # created on all threads of a pool would take several times the memory they need.
        self._making = ThreadPoolExecutor(1, "tidegate-engine")
        self._builder = ThreadPoolExecutor(1, "tidegate-index", initializer=be_nice)
        self._unloaded: set[UUID] = set()
        """Tenants with unusable definitions at the start: their state is in the log."""
        self.refused: dict[UUID, tuple[Revision, str]] = {}
        """Tenants whose newest definitions don't compile, with the revision and the reason."""

    def find(self, tenant_id: UUID) -> Tenant | None:
        """Return the active tenant, or None."""
        return self._tenants.get(tenant_id)

    def all(self) -> Iterable[Tenant]:
        """Return every active tenant."""
        return list(self._tenants.values())

    async def load(self, level: Mapping[UUID, Tenant] | None = None) -> None:
        """Load every tenant from the store: definitions, newest snapshot, the log after it.

        Don't call this while decisions are made: their effects would be counted twice.

        Args:
            level: tenants whose states have caught up with the log; those with the newest
                definitions are used as they are.
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
        """Return a tenant as at a start; None, with a log line, if its definitions are unusable.

        Args:
            tenant_id: the tenant.
            revision: the revision of its definitions.
            make: creates its engine, with its state.
        """
        try:
            return await self._made(tenant_id, revision, make)
        except WorkerError as error:  # the next poll of the store tries again
            log.error("definitions are not compiled", tenant=str(tenant_id), error=str(error))
            return None

    async def refresh(self, only: UUID | None = None) -> bool:
        """Take over definitions that have changed since they were read.

        Args:
            only: only take over this tenant's changes, so that others don't delay them.

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
        """Tell whether definitions of this revision, or later ones, decide."""
        present = self.find(tenant_id)
        return present is not None and present.read_at >= revision

    def _is_taken(self, tenant_id: UUID, revision: Revision) -> bool:
        present, refused = self.find(tenant_id), self.refused.get(tenant_id)
        if refused is not None and refused[0] == revision:
            return True
        return present is not None and present.read_at == revision

    async def _replace(self, tenant_id: UUID, revision: Revision) -> None:
        """Activate a tenant's newest definitions, and keep its state."""
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
                # Decisions that an engine makes after its successor is active would be missing
                # there.
                async with self._still(tenant_id):
                    # A rebuild may have replaced the engine meanwhile.
                    if self.find(tenant_id) is present:
                        self._tenants[tenant_id] = found
                        self._unloaded.discard(tenant_id)
                        self.activated(found)
                        self._settle(found)

    def _maker(self, tenant_id: UUID, present: Tenant | None) -> Make:
        if present is not None:
            return partial(_succeeded, present.engine)
        # Decisions before the start are in the log, but a new tenant has none there.
        return partial(self._rebuilt, tenant_id) if tenant_id in self._unloaded else _new

    def _revisions(self) -> dict[UUID, Revision]:
        with self._store.read() as connection:
            return tenants.definition_revisions(connection, self._store.partition)

    async def _made(
        self, tenant_id: UUID, revision: Revision, make: Make, present: Tenant | None = None
    ) -> Tenant | None:
        """Build a tenant by its newest definitions; return None if they can't be used.

        Args:
            tenant_id: the tenant.
            revision: the revision of these definitions.
            make: creates an engine from all of them.
            present: the tenant that decides now; the result shares its unchanged parts.
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
            made.directories,
        )

    def _settle(self, tenant: Tenant) -> None:
        """Rebuild the index, once changes have paused or many have accumulated."""
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
            # The tenant may have been replaced while this waited.
            if self.find(tenant.tenant_id) is tenant:
                tenant.engine.rebuild()

        self._builder.submit(rebuild)

    def _rebuilt(
        self, tenant_id: UUID, made: CompiledSet, redactor: Redactor, proof_keys: ProofKeys
    ) -> BundledEngine:
        with self._store.read() as connection:
            return rebuilt(connection, tenant_id, made, redactor, proof_keys)


def proof_keys_of(tenant_id: UUID, keys: Keys) -> ProofKeys:
    """Return the keys that make and read the proofs of a tenant's challenges."""
    return ProofKeys(tenant_id, keys.proofs_of(tenant_id), keys.sealing_of(tenant_id))


def _new(made: CompiledSet, redactor: Redactor, proof_keys: ProofKeys | None) -> BundledEngine:
    return BundledEngine(made.content, redactor, sample=made.sample, proof_keys=proof_keys)


def _succeeded(
    present: BundledEngine,
    made: CompiledSet,
    redactor: Redactor,
    _: ProofKeys,  # the present one has them
) -> BundledEngine:
    return present.with_bundle(made.content, redactor, sample=made.sample)


def _changed(present: Tenant, made: CompiledChange, revision: Revision) -> Tenant | None:
    """Return a tenant with changed policies; None if the engine must be rebuilt."""
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
    """Return an engine in the state after the last decision in the log.

    Args:
        connection: a connection of the store.
        tenant_id: the tenant.
        made: its compiled definitions.
        redactor: the tenant's.
        proof_keys: the tenant's.
        damaged: called when decisions are skipped because the log is damaged.
    """
    engine = _new(made, redactor, proof_keys)
    with ThreadPoolExecutor(1) as reader:
        for snapshot in snapshots.newest(connection, tenant_id):
            # Read while native code loads the state, which releases the interpreter and takes as
            # long. Only this thread uses the connection until the result is there.
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
    """Return the effects of each decision after a number, in order.

    Lost ones are left out, as they were reported before.
    """

    def pass_over(error: DamagedLogError) -> None:
        damaged()
        log.error("a state lacks what damaged decisions did to it", reason=str(error))

    lines = decision_log.scan(connection, after=after, tenant_id=tenant_id, passed=pass_over)
    return [line.effects() for line in lines]
