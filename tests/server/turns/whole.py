"""A whole service in this process, of which a test can hold up what is decided off the loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import attrs
import httpx2
import orjson
from tests.server.workers.forking import crew_of

from tidegate.definitions import load_compiled
from tidegate.evaluation.native import Redactor
from tidegate_server.demo import make_owner
from tidegate_server.engines.compiled import CompiledSet
from tidegate_server.engines.engines import rebuilt
from tidegate_server.engines.serving import TenantEngine
from tidegate_server.hot.hot_path import RUNTIME, HotPath
from tidegate_server.http.answer import Answer, Outcome
from tidegate_server.operators.key_ring import ApiKey
from tidegate_server.operators.keys import load_keys
from tidegate_server.process import application_of
from tidegate_server.routing.dispatch import control_plane
from tidegate_server.service import Service
from tidegate_server.settings.service import WorkersSettings
from tidegate_server.settings.store import StoreSettings
from tidegate_server.settings.whole import Settings
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log.lines import LogLine
from tidegate_server.stores.decision_log.log import scan
from tidegate_server.stores.sqlite import SqliteStore
from tidegate_server.turns.call import CallBack

T = TypeVar("T")

WAIT_SECONDS = 60
"""Time to wait for something that is normally immediate: only a fault waits this long."""
PATTERN = 'fields["text"].matches("[ab]*a[ab]{500}c")'
LONG = "ab" * 2_000
"""A text over which the pattern takes long."""


def definitions(tenant_id: str, name: str, description: str = "") -> dict[str, Any]:
    """The third event of an address within a minute is blocked, and so are those after it."""
    window = {"duration_seconds": 60, "threshold": 3}
    clause = {"name": "three", "entity": "address", "mitigation": "refuse", "window": window}
    return {
        "apiVersion": "tidegate/v1",
        "tenant": {"tenant_id": tenant_id, "name": name},
        "entities": [{"name": "Address", "key_fields": ["request.client_ip"]}],
        "mitigations": [{"name": "Refuse", "mode": "Block", "ttl_seconds": 600}],
        "policies": [
            {"name": "Often", "description": description, "clauses": [clause]},
            {"name": "Heavy", "clauses": [{"expression": PATTERN}]},
        ],
    }


class Held:
    """Decisions made off the loop, held up before they reach the log."""

    def __init__(self, service: Service) -> None:
        self._run = service.lanes.run
        self._opened = asyncio.Event()
        self._opened.set()
        self.made = 0
        """Decisions steps that are held up."""
        self.cost: int | None = None
        """Nanoseconds that each work takes as far as the service knows; None: what it takes."""
        service.lanes.run = self.run  # type: ignore[method-assign]

    async def run(self, work: Callable[[], T]) -> tuple[T, int]:
        made = await self._run(work)
        if "decide" in repr(work):
            self.made += 1
            await self._opened.wait()
            self.made -= 1
        return made if self.cost is None else (made[0], self.cost)

    def shut(self) -> None:
        self._opened.clear()

    def open(self) -> None:
        self._opened.set()


@attrs.define
class Tenant:
    """A tenant, the calls that were made of it, and what became of them."""

    world: World
    name: str
    tenant_id: str
    key: ApiKey
    outcomes: dict[int, Outcome] = attrs.field(factory=dict)
    made: int = 0
    changes: int = 0

    def call(self, address: str = "192.0.2.1", *, text: str = "", key: str | None = None) -> int:
        """Make a call; its number."""
        self.made += 1
        number = self.made
        event: dict[str, Any] = {
            "request": {"path": f"/{number}", "client_ip": address},
            "fields": {"text": text},
        }
        if key is not None:
            event["idempotency_key"] = key

        def done(outcome: Outcome) -> None:
            assert number not in self.outcomes
            self.outcomes[number] = outcome

        body = orjson.dumps(event)
        self.world.hot.queue.add(CallBack(RUNTIME, self.key, body, done, time.perf_counter_ns()))
        return number

    async def answered(self, number: int | None = None) -> None:
        """Return when a call has its answer; when all have theirs."""
        await until(
            lambda: len(self.outcomes) == self.made if number is None else number in self.outcomes
        )

    def code(self, number: int) -> str | int:
        """The code of an answer: the status of a success, the code of a refusal."""
        outcome: Any = self.outcomes[number]
        return outcome.status if isinstance(outcome, Answer) else outcome.code

    async def change(self) -> None:
        """Put definitions in place that decide as the ones before."""
        self.changes += 1
        document = definitions(self.tenant_id, self.name, f"Change {self.changes}")
        await self.world.control("PUT", f"/tenants/{self.tenant_id}/definitions", document)

    async def lift(self) -> int:
        """Lift whatever is active; how many there were, which others may lift as well."""
        path = f"/tenants/{self.tenant_id}/active-mitigations"
        active = await self.world.control("GET", path)
        for entity_id in {each["entity_id"] for each in active}:
            answer = await self.world.http.request("DELETE", f"/api/v1{path}/{entity_id}")
            assert answer.status_code in (204, 404), answer.text
        return len(active)

    @property
    def engine(self) -> TenantEngine:
        """The engine that decides."""
        found = self.world.service.runtimes.find(UUID(self.tenant_id))
        assert found is not None
        return found.engine

    def log(self) -> list[LogLine]:
        """The tenant's lines in the log."""
        with self.world.store.read() as connection:
            return list(scan(connection, tenant_id=UUID(self.tenant_id)))

    def logged(self) -> list[int]:
        """The numbers of the calls in the log, in its order."""
        events = (orjson.loads(line.decision().event) for line in self.log() if line.is_decision)
        return [int(event["request"]["path"][1:]) for event in events]

    def check(self) -> None:
        """The log, alone and after the newest snapshot, gives the state that the engine has."""
        document = definitions(self.tenant_id, self.name)
        anew = TenantEngine(document)
        anew.apply_effects(line.effects() for line in self.log())
        with self.world.store.read() as connection:
            compiled = CompiledSet.of(load_compiled(document).compiled, ())
            started = rebuilt(connection, UUID(self.tenant_id), compiled, Redactor([], b"k"))
        assert state(self.engine) == state(anew) == state(started)


@attrs.define
class World:
    """A running service."""

    service: Service
    store: SqliteStore
    hot: HotPath
    http: httpx2.AsyncClient
    held: Held

    async def control(self, method: str, path: str, body: object = None) -> Any:
        """A call of the control plane by the Owner."""
        answer = await self.http.request(method, f"/api/v1{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    async def tenant(self, name: str) -> Tenant:
        """A new tenant."""
        made = await self.control("POST", "/tenants", {"name": name})
        tenant_id = made["tenant_id"]
        await self.control("PUT", f"/tenants/{tenant_id}/definitions", definitions(tenant_id, name))
        made = await self.control("POST", f"/tenants/{tenant_id}/api-keys", {"name": "edge"})
        key = self.service.key_ring.find(made["key"].encode(), time.time_ns())
        assert key is not None
        return Tenant(self, name, tenant_id, key)

    async def light(self, tenant: Tenant) -> None:
        """Have a tenant decide on the loop."""
        for number in range(100):
            tenant.call(f"198.51.100.{number}")
            await tenant.answered()
        steps = self.service.lanes.steps_beside
        tenant.call("198.51.100.100")
        await tenant.answered()
        assert self.service.lanes.steps_beside == steps


@asynccontextmanager
async def running(directory: Path, settings: Settings | None = None) -> AsyncIterator[World]:
    """A service with its data in a directory, until the block ends."""
    url = f"sqlite:///{directory / 'tidegate.db'}"
    directory.mkdir(parents=True, exist_ok=True)
    keys = load_keys(directory / "keys")
    migrate(url)
    store = SqliteStore(url)
    # One operator makes all changes here, and none is to be refused for that.
    kept = attrs.evolve(
        settings or Settings(),
        store=StoreSettings(directory=str(directory)),
        workers=WorkersSettings(operator_places=64, tenant_places=64),
    )
    base_url = "http://service.test"
    service = Service(kept, store, keys, base_url, crew_of(kept, keys, base_url))
    token = make_owner(store, keys)
    hot = await service.start()
    application: Any = application_of(hot, service, control_plane(service.application))
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(application),
        base_url="http://service.test",
        headers={"authorization": f"Bearer {token}"},
        timeout=WAIT_SECONDS,
    ) as http:
        held = Held(service)
        try:
            yield World(service, store, hot, http, held)
        finally:
            held.open()
            await service.stop()


async def until(is_so: Callable[[], bool]) -> None:
    """Return when something is so.

    Raises:
        TimeoutError: it never is.
    """
    async with asyncio.timeout(WAIT_SECONDS):
        while not is_so():
            await asyncio.sleep(0.001)


async def still_waits(waiting: Sequence[Awaitable[Any]]) -> bool:
    """Whether none of these is done, though everything else had its time."""
    await asyncio.sleep(0.2)
    return not any(asyncio.ensure_future(each).done() for each in waiting)


def state(engine: TenantEngine) -> dict[str, object]:
    """The state of an engine."""
    found: dict[str, object] = orjson.loads(engine.snapshot())
    del found["revision"]  # a document that decides alike has another one
    return found
