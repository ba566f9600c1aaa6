"""The service of a simulated owner: the shipped hot path, over the database in memory.

``tidegate_server/service.py`` and ``nodes/preparing.py`` put the same parts together over SQL.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
from tests.simulation.world.store import Store

from tidegate.definitions import load_compiled
from tidegate.evaluation.native import Redactor
from tidegate_server.asgi import hot_handlers
from tidegate_server.cluster.messages import Block, Entry, ReadRequest, ReadResult
from tidegate_server.engines.compiled import CompiledSet
from tidegate_server.engines.following import Level
from tidegate_server.engines.serving import BundledEngine
from tidegate_server.engines.tenant import Tenant
from tidegate_server.hot.admission import Admission
from tidegate_server.hot.hot_path import HotPath
from tidegate_server.hot.idempotency import KEPT, IdempotencyKeys, Recorded
from tidegate_server.hot.metrics import HotMetrics
from tidegate_server.hot.rate_limit import RateLimits
from tidegate_server.hot.recorder import Recorder
from tidegate_server.hot.seen_keys import KeyFilter
from tidegate_server.http.access_log import AccessLog
from tidegate_server.http.answer import Answer
from tidegate_server.http.application import HttpApplication
from tidegate_server.operators.key_ring import ApiKey, KeyRing, make_key
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.decision_log.lines import effects_in, read_line
from tidegate_server.turns.lanes import Lanes

if TYPE_CHECKING:
    from starlette.requests import Request
    from tests.simulation.world.members import Claim
    from tests.simulation.world.process import Process

    from tidegate.policy.definitions.compiled import CompiledDefinitions
    from tidegate_server.stores.decision_log.lines import LoggedDecision

EVENTS_A_MINUTE = 150
"""Of each key: a burst of 15, then one in 0.4 s."""
BASE_URL = "https://gate.example"
POSITION = "/position"
"""The path of a read: the number of the last decision in the owner's state."""
PEPPER = b"p" * 32
HOUSEKEEPING_SECONDS = 0.5
INDEX_SECONDS = 1.0
RETRY_SECONDS = 2.0
LINES_A_READ = 8


@attrs.frozen
class Account:
    """A tenant of the simulation: its API key and its partition."""

    tenant_id: UUID
    key: ApiKey
    credential: bytes
    partition: int


@cache
def account(number: int, partition: int) -> Account:
    """Return a tenant."""
    made = make_key(bytes([number + 1]) * 42, PEPPER)
    tenant_id = UUID(int=number + 1)
    hashes = ((made.secret_hash, None),)
    key = ApiKey(UUID(int=number + 101), tenant_id, made.prefix, EVENTS_A_MINUTE, hashes)
    return Account(tenant_id, key, made.text.encode(), partition)


@cache
def compiled() -> CompiledDefinitions:
    """Return the definitions that all tenants have."""
    return load_compiled(Path(__file__).parents[1] / "definitions.yaml").compiled


@cache
def _set() -> tuple[CompiledSet, Redactor]:
    made = CompiledSet.of(compiled())
    return made, made.keys.redaction.redactor(Redactor, b"r" * 32)


def tenant_of(tenant_id: UUID) -> Tenant:
    """Return a tenant without a state."""
    made, redactor = _set()
    engine = BundledEngine(made.content, redactor, sample=made.sample)
    return Tenant(
        tenant_id,
        made.revision,
        (1, 1),
        engine,
        redactor,
        made.names,
        made.settings,
        made.keys,
    )


@lru_cache(4_096)
def decision_in(line: bytes) -> LoggedDecision:
    """Return the decision in a line of a log."""
    return read_line(line)


class States:
    """The states of a partition's tenants; as ``engines.following.States``."""

    is_whole = True

    def __init__(self, store: Store, accounts: Collection[Account]) -> None:
        self._store = store
        self._accounts = accounts
        self._tenants: dict[UUID, Tenant] = {}
        self._seq = 0

    def begin(self) -> int:
        """Begin with nothing, at the beginning of the log."""
        self._tenants = {each.tenant_id: tenant_of(each.tenant_id) for each in self._accounts}
        self._seq = 0
        return 0

    async def restore(self) -> None:
        """Build what is missing: nothing is, as definitions don't change."""

    def read(self, request: ReadRequest) -> ReadResult:
        """Read the decisions after a number."""
        after = request.after
        lines = self._store.lines(after, after + LINES_A_READ)
        entries = tuple(_entry(line) for line in lines)
        blocks = (Block(after, entries),) if entries else ()
        return ReadResult(request.partition, after, blocks, self._store.table.end)

    def apply(self, entries: Sequence[Entry]) -> None:
        """Apply the effects of decisions."""
        for entry in entries:
            self._tenants[UUID(entry.tenant)].engine.apply_effects([entry.effects])
        self._seq += len(entries)

    def level(self) -> Level:
        """Hand the states over."""
        return Level(self._tenants, self._seq, True)


def _entry(line: bytes) -> Entry:
    return Entry(str(_tenant_in(line)), effects_in(line))


def _tenant_in(line: bytes) -> UUID:
    key_id = decision_in(line).api_key_id
    assert key_id is not None
    return UUID(int=key_id.int - 100)


@attrs.define(eq=False)
class Runtimes:
    """The active tenants; as ``engines.engines.Runtimes``."""

    tenants: Mapping[UUID, Tenant] = attrs.field(factory=dict)

    def call(self, _: UUID) -> bool:
        return False

    def find(self, tenant_id: UUID) -> Tenant | None:
        """Return an active tenant."""
        return self.tenants.get(tenant_id)


class Service:
    """The hot path of a partition, and the tasks that it needs.

    Args:
        process: that decides.
        store: of the partition.
        accounts: the tenants of the partition.
    """

    def __init__(self, process: Process, store: Store, accounts: Collection[Account]) -> None:
        self.process = process
        self.store = store
        self.accounts = accounts
        self.runtimes = Runtimes()
        # Its tenants are light from the beginning, or have to prove it on threads.
        self.lanes = Lanes(proof=process.world.random.choice((0, 0, 4)))
        self.idempotency = IdempotencyKeys(b"i" * 32, self._recorded_answer)
        self.recorder: Recorder | None = None
        self.hot: HotPath
        self._tasks: list[asyncio.Task[None]] = []

    def prepare(self) -> None:
        """Prepare nothing."""

    async def start(self, level: Level) -> HotPath:
        """Decide from now on."""
        clock = self.process.clock
        key_ring = KeyRing(PEPPER)
        key_ring.replace([each.key for each in self.accounts])
        if level.is_sound:
            self.runtimes.tenants = level.tenants
        else:
            await self._load()
        seq = await asyncio.to_thread(self.store.ask, lambda: self.store.table.end)
        await asyncio.to_thread(self.store.index_now)
        self.recorder = recorder = Recorder(self.store, seq, self._load)  # type: ignore[arg-type]
        for work in (self._fill_filter, self._keep_house, self._index):
            self._tasks.append(asyncio.get_running_loop().create_task(work()))
        self.hot = HotPath(
            admission=Admission(key_ring, RateLimits(), clock.time_ns, clock.monotonic_ns),
            runtimes=self.runtimes,  # type: ignore[arg-type]
            idempotency=self.idempotency,
            recorder=recorder,
            metrics=HotMetrics(),
            base_url=lambda: BASE_URL,
            clock=clock.time_ns,
            lanes=self.lanes,
            access=AccessLog(0.0, (), clock.monotonic),
            look_up=self._recorded_answers,
        )
        return self.hot

    async def stop(self, *, saves: bool = True) -> None:
        """Finish accepted calls, and close."""
        del saves
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.recorder is not None:
            await self.lanes.close()
            await self.recorder.drain()
            await self.recorder.close()
        await asyncio.to_thread(self.store.close)

    async def asked(self, what: str) -> object:
        """Reply to another node: nothing here has a question."""
        raise AssertionError(what)

    async def position(self, request: Request) -> Answer:
        """Answer a read."""
        del request
        assert self.recorder is not None
        return Answer(b"%d" % self.recorder.committed)

    async def _load(self) -> None:
        """Build the states from the log."""
        lines = await asyncio.to_thread(self.store.lines, 0)
        tenants = {each.tenant_id: tenant_of(each.tenant_id) for each in self.accounts}
        for line in lines:
            tenants[_tenant_in(line)].engine.apply_effects([effects_in(line)])
        self.runtimes.tenants = tenants

    async def _fill_filter(self) -> None:
        known = KeyFilter(KEPT)

        def fill() -> None:
            self.store.index_now()
            for line in self.store.lines(0):
                found = decision_in(line).idempotency
                if found is not None:
                    known.add([found[0]], self.process.clock.time_ns())

        while True:
            try:
                await asyncio.to_thread(fill)
            except StoreUnavailableError:
                await asyncio.sleep(RETRY_SECONDS)
            else:
                break
        self.idempotency.use(known, self.process.clock.time_ns())

    async def _keep_house(self) -> None:
        assert self.recorder is not None
        while True:
            await asyncio.sleep(HOUSEKEEPING_SECONDS)
            self.recorder.probe()
            self.idempotency.forget(self.store.statistics().indexed_seq)

    async def _index(self) -> None:
        """Index decisions, a while after they are made."""
        while True:
            await asyncio.sleep(self.process.world.random.uniform(0.05, INDEX_SECONDS))
            with suppress(StoreUnavailableError):
                await asyncio.to_thread(self.store.index_now)

    def _recorded_answer(self, key: bytes) -> Recorded | None:
        for line in self.store.lines(0, self.store.indexed_seq):
            decision = decision_in(line)
            if decision.idempotency is not None and decision.idempotency[0] == key:
                return Recorded(decision.idempotency[1], decision.answer)
        return None

    def _recorded_answers(self, _tenant_id: UUID, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        found = (decision_in(line) for line in self.store.lines(0))
        return {
            each.decision_id.bytes: each.answer for each in found if each.decision_id.bytes in ids
        }


class Prepared:
    """A store and its service; as ``nodes.preparing.Prepared``."""

    def __init__(self, process: Process, store: Store, accounts: Collection[Account]) -> None:
        self.service = Service(process, store, accounts)
        self.states = States(store, accounts)
        self._store = store

    async def read_states(self) -> int:
        """Return the number that the states begin at."""
        return await asyncio.to_thread(self.states.begin)

    def claim(self, claim: Claim) -> int:
        """Claim the log; return the number of its last decision."""
        return self._store.claim(claim)

    def application(self, hot: HotPath) -> HttpApplication:
        """Return what answers all requests."""

        async def nothing(_request: Request) -> Answer:
            return Answer(b"", 404)

        return HttpApplication({**hot_handlers(hot), POSITION: self.service.position}, nothing)

    async def close(self) -> None:
        """Stop the service."""
        await self.service.stop()


class Preparing:
    """Prepares the services of a process; as ``nodes.preparing.Preparing``."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def __call__(
        self, partition: int, ended: Callable[[StoreUnavailableError], None]
    ) -> Prepared:
        """Open a log, and prepare a service."""
        store = Store(self._process, partition, ended)
        await asyncio.to_thread(store.ask, lambda: None)
        accounts = [each for each in self._process.world.accounts if each.partition == partition]
        return Prepared(self._process, store, accounts)


class Routes:
    """The partitions of tenants; as ``nodes.route_lookup.RouteTable``."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def close(self) -> None:
        """Nothing is open."""

    def of_tenants(self, names: Sequence[UUID]) -> Mapping[UUID, int]:
        """Return the partitions of tenants."""
        return {each.tenant_id: each.partition for each in self._found() if each.tenant_id in names}

    def of_prefixes(self, names: Sequence[str]) -> Mapping[str, int]:
        """Return the partitions of API keys."""
        return {
            each.key.prefix: each.partition for each in self._found() if each.key.prefix in names
        }

    def tenant_of(self, challenge_id: UUID, query: bytes) -> UUID | None:
        """Return the tenant of a challenge: nobody has one."""
        raise AssertionError(challenge_id, query)

    def _found(self) -> Any:
        from tests.simulation.world.wires import ProcessWire

        return ProcessWire(self._process).ask(lambda: self._process.world.accounts)
