"""The active tenants: each one's engine, redactor and names, replaced together on a change.

Decisions are made on one thread, the event loop's, and so are the replacements. A worker process
reads and compiles definitions; if a set doesn't compile, the previous one stays active.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

import attrs

from tidegate.errors import DefinitionsError, SnapshotError, WorkerError
from tidegate.evaluation.native import Redactor
from tidegate.policy.proofs import ProofKeys
from tidegate_server.engines import kept_sets
from tidegate_server.engines.compiled import CompiledChange, CompiledSet
from tidegate_server.engines.compiling import recent_by_tenant, recent_events
from tidegate_server.engines.loading import Loading
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
Keep: TypeAlias = Callable[[UUID], Awaitable[None]]
"""Keeps a tenant's compiled definitions in the store."""


RETRY_SECONDS = 2.0
LOADED_AT_ONCE = 4
"""Tenants loaded at the same time: workers compile those whose compiled form isn't kept."""
SETTLE_SECONDS = 5.0
"""How long after the last change of a tenant's policies its index is rebuilt."""
MOST_LAYERED = 256
"""With this many changed rules, the rebuild doesn't wait for more."""


def _still(_: UUID) -> AbstractAsyncContextManager[None]:
    """Return a pause for engines whose decisions are all made on the loop."""
    return nullcontext()


def _nobody(_: object) -> None:
    """Do nothing, since nobody follows."""


async def _nothing(_: object) -> None:
    """Do nothing, since nobody follows, or nothing is kept."""


class Runtimes:
    """Every active tenant.

    Args:
        store: stores definitions, snapshots and the log.
        keys: the keys for hashes of redacted values, and for proofs of challenges.
        compile_newest: has a worker compile a tenant's newest definitions, or their differences
            from a revision.
        still: entered to swap a tenant's definitions, between two of its decisions.
        keep: has a worker keep a tenant's compiled definitions after changes.
    """

    activated: Callable[[Tenant], None]
    """Called when a tenant's definitions were replaced."""
    dropped: Callable[[UUID], None]
    """Called with a deleted tenant."""
    prepare: Callable[[Tenant], Awaitable[None]]
    """Called with a tenant that was loaded after the start, before it decides."""
    loaded: Callable[[UUID], None]
    """Called when a tenant was loaded after the start, or can't be."""

    def __init__(
        self,
        store: Store,
        keys: Keys,
        compile_newest: Compile,
        still: Still = _still,
        keep: Keep = _nothing,
    ) -> None:
        self.activated = self.dropped = self.loaded = _nobody
        self.prepare = _nothing
        self._keep = keep
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
        self._loading = Loading({})
        self._loads: asyncio.Future[None] | None = None
        self._failed = False
        self._samples: Mapping[UUID, Sequence[bytes]] | None = None
        """Recent events of each tenant, while all are loaded."""
        self._keeping: set[asyncio.Future[None]] = set()
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

    def call(self, tenant_id: UUID) -> bool:
        """Load a tenant before others, as a call waits for it; return whether it isn't loaded yet.

        A tenant that can't be loaded is not waited for.
        """
        self._loading.call(tenant_id)
        return tenant_id in self._loading

    def is_loading(self, tenant_id: UUID) -> bool:
        """Return whether a tenant isn't loaded yet; on any thread."""
        return tenant_id in self._loading

    @property
    def left_to_load(self) -> int:
        """How many tenants aren't loaded yet."""
        return len(self._loading)

    async def wait_for(self, tenant_id: UUID | None = None) -> None:
        """Wait until a tenant is loaded, or can't be; or until that is so for all tenants."""
        if tenant_id is None:
            await self._loading.wait_for_all()
        else:
            await self._loading.wait(tenant_id)

    async def begin(self, level: Mapping[UUID, Tenant] | None = None) -> None:
        """Take the tenants whose states are known, and have the others to load: :meth:`load_rest`.

        Args:
            level: tenants whose states have caught up with the log; those with the newest
                definitions are used as they are.
        """
        revisions = await asyncio.to_thread(self._revisions)
        self._samples = await asyncio.to_thread(self._recent)
        known = {} if level is None else level
        is_level = {each for each, at in revisions.items() if _is_at(known.get(each), at)}
        self._unloaded.clear()
        self._tenants = {each: known[each] for each in is_level}
        self._loading = Loading({each: revisions[each] for each in revisions.keys() - is_level})

    def load_rest(self) -> None:
        """Load the tenants that are left, in the background, each with the log after its snapshot.

        A call that waits for one has it loaded next (:meth:`call`).
        """
        self._loads = asyncio.ensure_future(self._load_rest())

    async def stop_loading(self) -> None:
        """Load no further tenant; calls no longer wait for one."""
        if self._loads is not None:
            self._loads.cancel()
            await asyncio.gather(self._loads, return_exceptions=True)
        self._samples = None
        for tenant_id in list(self._loading.tenants()):
            self._loading.finish(tenant_id)
            self.loaded(tenant_id)

    async def load(self) -> None:
        """Load every tenant again: definitions, newest snapshot, the log after it.

        Don't call this while decisions are made: their effects would be counted twice.
        """
        await self.stop_loading()
        loaded = {}
        self._unloaded.clear()
        for tenant_id, revision in (await asyncio.to_thread(self._revisions)).items():
            tenant = await self.restored(tenant_id, revision, partial(self._rebuilt, tenant_id))
            if tenant is None:
                self._unloaded.add(tenant_id)
            else:
                loaded[tenant_id] = tenant
        self._tenants = loaded

    async def _load_rest(self) -> None:
        await asyncio.gather(*(self._load_some() for _ in range(LOADED_AT_ONCE)))
        self._samples = None
        while self._failed:
            await asyncio.sleep(RETRY_SECONDS)
            self._failed = False
            try:
                await self.refresh()
            except Exception:
                log.exception("tenants are not loaded; it is tried again")
                self._failed = True

    async def _load_some(self) -> None:
        while (tenant_id := self._loading.next()) is not None:
            try:
                await self._load_one(tenant_id)
            except NotFoundError:
                pass  # it was deleted meanwhile
            except Exception:
                log.exception("a tenant is not loaded; it is tried again", tenant=str(tenant_id))
                self._unloaded.add(tenant_id)
                self._failed = True
            self._loading.finish(tenant_id)
            self.loaded(tenant_id)

    async def _load_one(self, tenant_id: UUID) -> None:
        """Load a tenant by its newest definitions, which may change meanwhile."""
        tenant = None
        while (revision := self._loading.revision(tenant_id)) is not None:
            tenant = await self.restored(tenant_id, revision, partial(self._rebuilt, tenant_id))
            if tenant is not None:
                await self.prepare(tenant)
            if revision == self._loading.revision(tenant_id):
                break
        else:
            return
        if tenant is None:
            self._unloaded.add(tenant_id)
        else:
            self._tenants[tenant_id] = tenant

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
        here = [each for each in wanted.items() if not self._loading.expect(*each)]
        changed = [each for each in here if not self._is_taken(*each)]
        await asyncio.gather(*(self._replace(*each) for each in changed))
        if only is not None:
            await self._loading.wait(only)
        for tenant_id in (self._tenants.keys() | self._loading.tenants()) - revisions.keys():
            if only in (None, tenant_id):
                self._tenants.pop(tenant_id, None)
                self._loading.finish(tenant_id)
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
            made = await self._compiled(tenant_id, revision, present)
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

    async def _compiled(
        self, tenant_id: UUID, revision: Revision, present: Tenant | None
    ) -> CompiledSet | CompiledChange:
        if present is not None:
            return await self._compile(tenant_id, present.revision)
        loop = asyncio.get_running_loop()
        kept = await loop.run_in_executor(self._making, self._kept, tenant_id, revision)
        return kept or await self._compile(tenant_id, None)

    def _kept(self, tenant_id: UUID, revision: Revision) -> CompiledSet | None:
        with self._store.read() as connection:
            kept = kept_sets.find(connection, kept_sets.place_of(tenant_id, revision))
            if kept is None:
                return None
            if self._samples is None:
                return attrs.evolve(kept, sample=recent_events(connection, tenant_id))
        return attrs.evolve(kept, sample=self._samples.get(tenant_id, ()))

    def _recent(self) -> dict[UUID, list[bytes]]:
        with self._store.read() as connection:
            return recent_by_tenant(connection)

    def _settle(self, tenant: Tenant) -> None:
        """Rebuild the index, and keep the compiled form, once changes pause or are many."""
        waiting = self._settling.pop(tenant.tenant_id, None)
        if waiting is not None:
            waiting.cancel()
        wait = SETTLE_SECONDS if tenant.engine.layered < MOST_LAYERED else 0.0
        loop = asyncio.get_running_loop()
        self._settling[tenant.tenant_id] = loop.call_later(wait, self._settled, tenant)

    def _settled(self, tenant: Tenant) -> None:
        self._settling.pop(tenant.tenant_id, None)

        def rebuild() -> None:
            # The tenant may have been replaced while this waited.
            if self.find(tenant.tenant_id) is tenant:
                tenant.engine.rebuild()

        if tenant.engine.layered:
            self._builder.submit(rebuild)
        if self.find(tenant.tenant_id) is tenant:
            keeping = asyncio.ensure_future(self._keep(tenant.tenant_id))
            self._keeping.add(keeping)  # the loop itself keeps no task alive
            keeping.add_done_callback(self._keeping.discard)

    def _rebuilt(
        self, tenant_id: UUID, made: CompiledSet, redactor: Redactor, proof_keys: ProofKeys
    ) -> BundledEngine:
        with self._store.read() as connection:
            return rebuilt(connection, tenant_id, made, redactor, proof_keys)


def _is_at(tenant: Tenant | None, revision: Revision) -> bool:
    return tenant is not None and tenant.read_at == revision


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
