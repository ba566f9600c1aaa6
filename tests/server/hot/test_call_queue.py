"""Hot calls of one turn of the loop: decided together, answered each for itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import orjson
import pytest
import structlog.testing

from tidegate.definitions import load_compiled
from tidegate.evaluation.native import Redactor
from tidegate_server.engines.compiled import CompiledSet
from tidegate_server.engines.serving import BundledEngine
from tidegate_server.engines.tenant import Tenant
from tidegate_server.hot.admission import Admission
from tidegate_server.hot.call_queue import AT_ONCE, CallQueue
from tidegate_server.hot.hot_path import BEACON, RUNTIME
from tidegate_server.hot.idempotency import KEPT, IdempotencyKeys
from tidegate_server.hot.metrics import HotMetrics, page
from tidegate_server.hot.rate_limit import RateLimits
from tidegate_server.hot.recorder import unavailable
from tidegate_server.hot.seen_keys import KeyFilter
from tidegate_server.http.answer import Answer
from tidegate_server.http.problems import Problem
from tidegate_server.operators.key_ring import ApiKey, KeyRing, make_key
from tidegate_server.turns.call import CallBack, HotCall
from tidegate_server.turns.lanes import Lanes

if TYPE_CHECKING:
    from tidegate_server.engines.engines import Runtimes
    from tidegate_server.hot.recorder import Recorder, Settled
    from tidegate_server.http.answer import Outcome
    from tidegate_server.stores.decision_log.lines import LogBlock

PEPPER = bytes(32)
ONE, OTHER, UNKNOWN = (UUID(int=7 << 76 | 2 << 62 | number) for number in (1, 2, 3))


class Log:
    """Takes blocks as a recorder does, and settles them when the test says so."""

    def __init__(self) -> None:
        self.blocks: list[LogBlock] = []
        self.waiting: list[Settled] = []
        self.refusal: Problem | None = None
        self.seq = 0
        self.rebuilds = 0
        self.full: set[UUID] = set()

    def check(self, _: UUID) -> int:
        if self.refusal is not None:
            raise self.refusal
        return self.rebuilds

    def room(self, tenant_id: UUID) -> int:
        return 0 if tenant_id in self.full else AT_ONCE

    def sent(self) -> None:
        """The queue puts its own in this place."""

    def check_still(self, checked: int) -> None:
        if checked != self.rebuilds:
            raise unavailable()

    def submit(self, block: LogBlock, settled: Settled) -> None:
        self.blocks.append(block)
        self.waiting.append(settled)
        self.seq += block.count

    def settle(self, problem: Problem | None = None) -> None:
        waiting, self.waiting = self.waiting, []
        for settled in waiting:
            settled(problem)


class World:
    """A queue over two tenants, and what became of its calls."""

    def __init__(self) -> None:
        self.log = Log()
        self.metrics = HotMetrics()
        self.keys = IdempotencyKeys(b"k" * 32, {}.get)
        self.keys.use(KeyFilter(KEPT), 0)
        self.tenants = {tenant_id: tenant(tenant_id) for tenant_id in (ONE, OTHER)}
        self.loading: set[UUID] = set()
        self.called: list[UUID] = []
        """Tenants that a call waited for, in order."""
        self.outcomes: dict[int, Outcome] = {}
        self.ring = KeyRing(PEPPER)
        self.queue = CallQueue(
            Admission(self.ring, RateLimits(), lambda: 0, lambda: 0),
            runtimes=cast("Runtimes", self),
            idempotency=self.keys,
            recorder=cast("Recorder", self.log),
            metrics=self.metrics,
            base_url=lambda: "https://edge.test",
            clock=lambda: 1_700_000_000_000_000_000,
            lanes=Lanes(proof=0),
        )

    def find(self, tenant_id: UUID) -> Tenant | None:
        return self.tenants.get(tenant_id)

    def call(self, tenant_id: UUID) -> bool:
        self.called.append(tenant_id)
        return tenant_id in self.loading

    def add(self, number: int, of: UUID = ONE, beacon: bool = False, **event: Any) -> None:
        """A call, of which the outcome is kept by its number."""
        self.add_body(number, orjson.dumps({"request": {"path": "/"}, **event}), of, beacon)

    def add_body(self, number: int, body: bytes, of: UUID = ONE, beacon: bool = False) -> None:
        """A call with a body as it is written."""
        key = ApiKey(UUID(int=9), of, "", 1, (), None)

        def done(outcome: Outcome) -> None:
            assert number not in self.outcomes
            self.outcomes[number] = outcome

        self.queue.add(CallBack(BEACON if beacon else RUNTIME, key, body, done, 0))

    def codes(self) -> dict[int, str | int]:
        """The code of each refusal, or the status of each other outcome."""
        return {
            number: outcome.status if isinstance(outcome, Answer) else cast("Any", outcome).code
            for number, outcome in sorted(self.outcomes.items())
        }

    def counted(self, endpoint: str, action: str) -> int:
        return self.metrics.decisions.get((endpoint, action), 0)


def tenant(tenant_id: UUID) -> Tenant:
    document = {
        "apiVersion": "tidegate/v1",
        "tenant": {"tenant_id": str(tenant_id), "name": "Shop"},
        "actions": [{"name": "Bad", "expression": 'request.path == "/bad"'}],
        "mitigations": [{"name": "Refuse", "mode": "Block"}],
        "policies": [{"name": "All", "clauses": [{"actions": ["bad"], "mitigation": "refuse"}]}],
    }
    made = CompiledSet.of(load_compiled(document).compiled)
    engine, redactor = BundledEngine(made.content), Redactor([], b"k")
    return Tenant(tenant_id, 1, (1, 1), engine, redactor, made.names, made.settings, made.keys)


def run(scene: Callable[[World], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scene(World())

    asyncio.run(whole())


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_calls_of_one_turn_make_one_block_of_each_tenant() -> None:
    """Calls of one turn are answered when their block is durable; unknown keys are refused."""

    async def scene(world: World) -> None:
        world.add(1)
        world.add(2, OTHER, beacon=True)
        world.add(3, UNKNOWN)
        world.add(4, request={"path": "/bad"})
        await turns()
        assert [(block.tenant_id, block.count) for block in world.log.blocks] == [
            (ONE, 2),
            (OTHER, 1),
        ]
        assert world.codes() == {3: "definitions-unavailable"}
        world.log.settle()
        assert world.codes() == {1: 200, 2: 200, 3: "definitions-unavailable", 4: 200}
        line = orjson.loads(world.log.blocks[0].lines.split(b"\n")[1])
        outcome = world.outcomes[4]
        assert isinstance(outcome, Answer)
        assert orjson.loads(outcome.body) == line["answer"]
        assert world.counted("runtime", "block") == world.counted("beacon", "allow") == 1
        assert b"tidegate_decision_duration_seconds_count 3.0" in page([world.metrics])

    run(scene)


def test_more_calls_than_a_block_holds_take_more_turns() -> None:
    """More calls than a block holds are decided in order, over several turns."""

    async def scene(world: World) -> None:
        for number in range(AT_ONCE + 1):
            world.add(number)
        await turns()
        assert [block.count for block in world.log.blocks] == [AT_ONCE, 1]
        assert world.log.blocks[0].last_id < world.log.blocks[1].first_id
        world.log.settle()
        assert len(world.outcomes) == AT_ONCE + 1

    run(scene)


def test_a_client_without_an_address_is_counted_and_said_once() -> None:
    """The figures have every such event, and the log one line for a tenant and a problem."""

    async def scene(world: World) -> None:
        for number in range(3):
            world.add(number, request={"path": "/", "client_ip": "unknown"})
        world.add(3, OTHER, request={"path": "/", "client_ip": ""})
        world.add(4, request={"path": "/", "client_ip": "192.0.2.7:443"})
        world.add(5, request={"path": "/"})
        await turns()
        with structlog.testing.capture_logs() as said:
            world.log.settle()
            world.add(6, request={"path": "/", "client_ip": "unknown"})
            await turns()
            world.log.settle()
        assert world.metrics.client_problems == {"not-an-address": 4, "empty": 1}
        about = [(each["tenant"], each["problem"], each["events"]) for each in said]
        assert about == [(str(ONE), "not-an-address", 3), (str(OTHER), "empty", 1)]
        shown = page([world.metrics]).decode()
        name = "tidegate_unreadable_client_addresses_total"
        assert f'{name}{{problem="not-an-address"}} 4.0' in shown

    run(scene)


def test_a_refused_call_does_not_spoil_the_others() -> None:
    """Each refused call has its own refusal, and the others are decided."""

    async def scene(world: World) -> None:
        world.add(1, request=1)
        world.add(2)
        world.add(3, request=None)
        world.add(4, tenant_id=str(OTHER))
        world.add(5, idempotency_key="")
        await turns()
        assert world.log.blocks[0].count == 1
        world.log.settle()
        assert world.codes() == {
            1: "invalid-event",
            2: 200,
            3: "empty-payload",
            4: "not-found",
            5: "invalid-event",
        }

    run(scene)


def test_a_retry_that_is_written_otherwise_is_the_same_call() -> None:
    """Space, escapes and the order of members say nothing; numbers count as they are written."""

    async def scene(world: World) -> None:
        for number, body in enumerate(
            [
                b'{"idempotency_key":"a","request":{"path":"/x"},"fields":{"n":1,"l":["a",null]}}',
                b'{ "fields" : {"l": ["a", null], "n": 1},\r\n"idempotency_key": "a",'
                b' "request": {"path": "\\/\\u0078"}}',
                b'{"idempotency_key":"a","request":{"path":"/x"},"fields":{"n":1.0,"l":["a",null]}}',
                b'{"idempotency_key":"a","request":{"path":"/x"},"fields":{"n":"1","l":["a",null]}}',
                b'{"idempotency_key":"a","request":{"path":"/x"},"fields":{"n":1,"l":[null,"a"]}}',
                b'{"idempotency_key":"a","request":{"path":"/x"},"fields":{"n":1}}',
            ]
        ):
            world.add_body(number, body)
        await turns()
        world.log.settle()
        await turns()
        refused = dict.fromkeys(range(2, 6), "idempotency-key-reused")
        assert world.codes() == {0: 200, 1: 200, **refused}
        assert world.log.seq == 1

    run(scene)


def test_a_key_that_comes_twice_in_a_turn_is_decided_once() -> None:
    """The second waits for the answer of the first; with another body it is refused."""

    async def scene(world: World) -> None:
        world.add(1, idempotency_key="a")
        world.add(2, idempotency_key="a")
        world.add(3, idempotency_key="a", source="other")
        world.add(4, idempotency_key="a", beacon=True)
        await turns()
        assert world.log.blocks[0].count == 2
        assert world.outcomes == {}
        world.log.settle()
        await turns()
        assert world.codes() == {1: 200, 2: 200, 3: "idempotency-key-reused", 4: 200}
        first, second = world.outcomes[1], world.outcomes[2]
        assert isinstance(first, Answer)
        assert isinstance(second, Answer)
        assert second == Answer(first.body, headers=((b"idempotency-replayed", b"true"),))
        assert world.log.seq == 2

    run(scene)


def test_a_commit_that_failed_lets_the_next_of_a_key_decide() -> None:
    """After a failed commit one of the calls that waited for the key is decided, the other waits
    for it."""

    async def scene(world: World) -> None:
        for number in range(3):
            world.add(number, idempotency_key="a")
        await turns()
        world.log.settle(Problem("decision-log-unavailable"))
        await turns()
        assert world.codes() == {0: "decision-log-unavailable"}
        assert [block.count for block in world.log.blocks] == [1, 1]
        world.log.settle()
        await turns()
        assert world.codes() == {0: "decision-log-unavailable", 1: 200, 2: 200}
        assert sum(world.metrics.decisions.values()) == 1

    run(scene)


@pytest.mark.parametrize("key", [None, "a"])
def test_nothing_is_decided_that_cannot_be_recorded(key: str | None) -> None:
    """A call that cannot be recorded is refused, and its key is free for the next attempt."""

    async def scene(world: World) -> None:
        world.log.refusal = Problem("overloaded")
        world.add(1, idempotency_key=key)
        await turns()
        world.log.refusal = None
        world.add(2, idempotency_key=key)
        async with asyncio.timeout(10):
            while 2 not in world.codes():
                await asyncio.sleep(0.001)
                world.log.settle()
        assert world.codes() == {1: "overloaded", 2: 200}
        assert world.log.seq == 1

    run(scene)


def test_an_answer_that_cannot_be_given_is_not_for_the_others_to_bear() -> None:
    """The rest of the block is answered all the same."""

    async def scene(world: World) -> None:
        def broken(_: Outcome) -> None:
            raise OSError("the connection is gone")

        key = ApiKey(UUID(int=9), ONE, "", 1, (), None)
        world.queue.add(CallBack(RUNTIME, key, b'{"request":{"path":"/"}}', broken, 0))
        world.add(1)
        await turns()
        world.log.settle()
        assert world.codes() == {1: 200}

    run(scene)


class Sent(HotCall):
    """A call with its credential, that keeps what becomes of it."""

    def __init__(self, credential: bytes, path: str) -> None:
        self.endpoint = RUNTIME
        self.credential = credential
        self.body = orjson.dumps({"request": {"path": path}})
        self.started = 0
        self.decision_id = None
        self.outcomes: list[Outcome] = []

    def answer(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


def test_calls_are_admitted_by_their_credentials() -> None:
    """Calls of one turn count against their own keys' limits and keep their order."""

    async def scene(world: World) -> None:
        texts = [make_key(bytes([number]) * 42, PEPPER) for number in range(3)]
        world.ring.replace(
            ApiKey(UUID(int=number), ONE, text.prefix, limit, ((text.secret_hash, None),))
            for number, (text, limit) in enumerate(zip(texts, (20, 60_000), strict=False))
        )
        calls = [Sent(texts[number % 3].text.encode(), f"/{number}") for number in range(12)]
        for call in calls:
            world.queue.add(call)
        await turns()
        lines = [orjson.loads(line) for line in world.log.blocks[0].lines.split(b"\n")]
        paths = [line["event"]["request"]["path"] for line in lines]
        assert paths == ["/0", "/1", "/3", "/4", "/7", "/10"]
        assert {line["api_key_id"][-1] for line in lines} == {"0", "1"}
        world.log.settle()
        codes = [getattr(call.outcomes[0], "code", 200) for call in calls]
        assert codes == [200, 200, "unauthenticated"] * 2 + [
            "rate-limited", 200, "unauthenticated",
        ] * 2  # fmt: skip
        assert all(len(call.outcomes) == 1 for call in calls)

    run(scene)


def test_one_call_is_not_behind_a_thousand_of_another_tenant() -> None:
    """One call waits for at most one step of another tenant with a thousand."""

    async def scene(world: World) -> None:
        for number in range(1_000):
            world.add(number)
        world.add(1_000, OTHER)
        await turns(30)
        tenants = [block.tenant_id for block in world.log.blocks]
        assert tenants.index(OTHER) <= 1
        assert [tenants.count(each) for each in (ONE, OTHER)] == [len(tenants) - 1, 1]
        ids = [
            edge for b in world.log.blocks if b.tenant_id == ONE for edge in (b.first_id, b.last_id)
        ]
        assert ids == sorted(ids)
        world.log.settle()
        assert set(world.codes().values()) == {200}
        assert len(world.outcomes) == 1_001

    run(scene)


def test_who_had_no_step_lately_is_next() -> None:
    """A tenant without a recent step comes before one that always has calls."""

    async def scene(world: World) -> None:
        number = 0
        for _ in range(4):
            world.add(number := number + 1)
            await asyncio.sleep(0)
        world.add(number := number + 1)
        world.add(number := number + 1, OTHER)
        await turns()
        assert [block.tenant_id for block in world.log.blocks[-2:]] == [OTHER, ONE]

    run(scene)


def test_a_tenant_waits_while_the_log_has_enough_of_it() -> None:
    """Other tenants go on; the tenant's calls are decided in order when the log takes more."""

    async def scene(world: World) -> None:
        world.log.full = {ONE}
        for number in range(3):
            world.add(number)
        world.add(3, OTHER)
        await turns()
        assert [block.tenant_id for block in world.log.blocks] == [OTHER]
        world.add(4)
        await turns()
        world.log.full = set()
        world.log.sent()
        await turns()
        assert [(block.tenant_id, block.count) for block in world.log.blocks[1:]] == [(ONE, 4)]
        world.log.settle()
        assert set(world.codes().values()) == {200}

    run(scene)


def test_the_calls_of_a_tenant_that_is_gone_are_refused() -> None:
    """All waiting calls of a deleted tenant are refused, and its lane is forgotten."""

    async def scene(world: World) -> None:
        world.add(1)
        world.add(2)
        del world.tenants[ONE]
        await turns()
        assert world.codes() == {1: "definitions-unavailable", 2: "definitions-unavailable"}
        assert not world.queue.lanes.figures(0)[0].samples[0].value
        assert not world.queue.lanes._lanes

    run(scene)


def test_calls_wait_until_their_tenant_is_loaded() -> None:
    """Calls of a tenant that isn't loaded wait for it alone, and are refused if it can't be."""

    async def scene(world: World) -> None:
        loaded = {ONE: world.tenants.pop(ONE)}
        world.loading = {ONE, UNKNOWN}
        world.add(1)
        world.add(2, OTHER)
        world.add(3, UNKNOWN)
        await turns()
        world.add(4)
        await turns()
        assert [(block.tenant_id, block.count) for block in world.log.blocks] == [(OTHER, 1)]
        assert set(world.called) == {ONE, UNKNOWN}
        world.tenants |= loaded
        world.loading.clear()
        for each in (ONE, UNKNOWN):
            world.queue.lanes.release(each)
        await turns()
        assert [(block.tenant_id, block.count) for block in world.log.blocks[1:]] == [(ONE, 2)]
        world.log.settle()
        assert world.codes() == {1: 200, 2: 200, 3: "definitions-unavailable", 4: 200}

    run(scene)


def test_the_keys_of_a_tenant_share_its_limit() -> None:
    """Calls past the tenant's limit do not count against their key, nor against other tenants."""
    now = 0
    texts = [make_key(bytes([number]) * 42, PEPPER) for number in range(3)]
    made = [
        ApiKey(UUID(int=number), of, text.prefix, 60_000, ((text.secret_hash, None),))
        for number, (of, text) in enumerate(zip((ONE, ONE, OTHER), texts, strict=True))
    ]
    admission = Admission(KeyRing(PEPPER), RateLimits(), lambda: 0, lambda: now, tenant_limit=1_000)
    assert admission.count_many(made[0], 60) == (60, None)
    room, over = admission.count_many(made[1], 60)
    assert room == 40
    assert over is not None
    assert over.code == "rate-limited"
    assert over.detail.startswith("the tenant has 1000 a minute")
    assert over.headers["ratelimit-policy"].startswith('"tenant";q=1000')
    assert int(over.headers["retry-after"]) >= 1
    assert admission.count_many(made[2], 60) == (60, None)
    left = admission.limits.verdict(made[1].id_text, 60_000, now, True).remaining
    assert left == 6_000 - 40


def test_a_limit_of_a_key_below_that_of_its_tenant_is_the_keys() -> None:
    """A refusal names the key's limit when that is the lower one."""
    key = ApiKey(UUID(int=1), ONE, "", 10, (), None)
    admission = Admission(KeyRing(PEPPER), RateLimits(), lambda: 0, lambda: 0, tenant_limit=1_000)
    admission.count(key)
    with pytest.raises(Problem, match="the key has 10 a minute"):
        admission.count(key)
    with pytest.raises(Problem, match="the key has 10 a minute"):
        admission.require_room(key)


def test_room_that_is_asked_for_is_not_taken() -> None:
    """Asking for room takes none, of the key or of the tenant."""
    key, other = (ApiKey(UUID(int=number), ONE, "", 60_000, (), None) for number in (1, 2))
    admission = Admission(KeyRing(PEPPER), RateLimits(), lambda: 0, lambda: 0, tenant_limit=10)
    for _ in range(3):
        admission.require_room(key)
    admission.count(key)
    with pytest.raises(Problem, match="the tenant has 10 a minute"):
        admission.require_room(other)


def test_no_engine_decides_after_the_states_were_rebuilt() -> None:
    """Events that a thread read for the engine before are refused: its successor lacks them."""

    async def scene(world: World) -> None:
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def held(work: Callable[[], Any]) -> tuple[Any, int]:
            begun.set()
            await may_end.wait()
            return work(), 0

        lanes = world.queue.lanes = Lanes()
        lanes.wake = world.queue._wake
        lanes.run = held  # type: ignore[method-assign]
        world.add(1)
        await begun.wait()
        world.log.rebuilds += 1
        world.tenants[ONE] = tenant(ONE)
        may_end.set()
        await turns()
        assert world.codes() == {1: "decision-log-unavailable"}
        assert world.log.blocks == []

    run(scene)
