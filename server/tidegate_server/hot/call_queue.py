"""Queue hot calls for their decision, tenant by tenant.

Calls that arrived in one turn of the event loop are admitted together, and queued in the lanes of
their tenants. Each turn runs steps of the lanes alternately. A step takes two native calls: one
reads events, the other decides on them in order and writes the answers and log entries. Python
handles the rare cases between the two: a refused call, and an idempotency key that may have been
used before.

Steps of light tenants run on the loop, the others on threads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import attrs
from uuid_utils import uuid7

from tidegate.errors import EventError
from tidegate.evaluation.clients import PROBLEMS
from tidegate.evaluation.native import Block
from tidegate_server.geo.databases import GeoDatabases
from tidegate_server.hot.recorder import unavailable
from tidegate_server.hot.signed_calls import Signatures, signed_among
from tidegate_server.http.answer import Answer
from tidegate_server.http.limits import MAX_BODY_BYTES, MAX_IDEMPOTENCY_KEY
from tidegate_server.http.problems import ErrorDetail, Problem, problem_of
from tidegate_server.logging import log
from tidegate_server.stores.decision_log.lines import MAX_ROW_ENTRIES, LogBlock
from tidegate_server.telemetry.trace_context import trace_id_of
from tidegate_server.turns.call import answer, deliver, refuse

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate.evaluation.native import Calls
    from tidegate_server.engines.engines import Runtimes
    from tidegate_server.engines.tenant import Tenant
    from tidegate_server.hot.admission import Admission
    from tidegate_server.hot.idempotency import IdempotencyKeys, Recorded, Running
    from tidegate_server.hot.metrics import HotMetrics
    from tidegate_server.hot.recorder import Recorder
    from tidegate_server.http.answer import Outcome
    from tidegate_server.operators.key_ring import ApiKey
    from tidegate_server.turns.call import HotCall
    from tidegate_server.turns.lane import Lane, Step
    from tidegate_server.turns.lanes import Lanes
    from tidegate_server.turns.line import Line

T = TypeVar("T")

Take: TypeAlias = Callable[[Sequence[bytes], int], "set[int]"]
"""Takes idempotency keys at a given time; returns the indexes of keys that can't be taken."""


class Run(Protocol):
    """Runs native work, here or on a thread."""

    async def __call__(self, work: Callable[[], T]) -> T: ...


AT_ONCE = MAX_ROW_ENTRIES
"""The most calls in a step: a row of the log."""
BESIDE_AT_ONCE = 16
"""The same off the loop, where one step may turn out expensive while others wait for it."""
TURN_NS = 2_000_000
"""How long steps run before the loop looks at its connections again."""
MOST_RETRY_SECONDS = 60
WARN_AGAIN_NS = 600 * 1_000_000_000
"""How long after a warning the log stays silent about a tenant's unreadable addresses."""
MOST_WARNED = 1_000
"""How many pairs of tenant and problem the last warning is remembered for."""
_SOON = {"retry-after": "1"}


@attrs.frozen(eq=False)
class _Keyed:
    """The calls of a turn that have an idempotency key."""

    numbers: Sequence[int] = ()
    """The numbers of the calls to decide."""
    running: Running | None = None
    """The keys of those calls."""
    deferred: Sequence[int] = ()
    """The numbers of the calls that need a key lookup."""


@attrs.define(eq=False)
class CallQueue:
    """The queue of hot calls; use it only on the event loop's thread."""

    admission: Admission
    runtimes: Runtimes
    idempotency: IdempotencyKeys
    recorder: Recorder
    metrics: HotMetrics
    base_url: Callable[[], str]
    clock: Callable[[], int]
    lanes: Lanes
    answers_of: Callable[[Block], Sequence[bytes | None]] = attrgetter("answers")
    """Returns the answers to the callers of a block's decisions."""
    geo: GeoDatabases = attrs.field(factory=lambda: GeoDatabases([]))
    """Says where clients are."""
    signatures: Signatures = attrs.field(init=False)
    """Finds what the signatures of agents prove."""
    _arrived: list[HotCall] = attrs.field(factory=list, init=False)
    _is_scheduled: bool = attrs.field(default=False, init=False)
    _warned: dict[tuple[UUID, str], int] = attrs.field(factory=dict, init=False)
    """When a tenant was last warned of a problem with the clients of its events."""
    _tasks: set[asyncio.Task[None]] = attrs.field(factory=set, init=False)
    """Lookups and steps off the loop; the loop itself keeps no task alive."""

    def __attrs_post_init__(self) -> None:
        self.signatures = Signatures(self.clock())
        self.lanes.wake = self._wake
        self.recorder.sent = self.lanes.go_on

    def add(self, call: HotCall) -> None:
        """Queue a call; it gets its answer once the decision is durable, or its refusal."""
        self._arrived.append(call)
        if not self._is_scheduled:
            self._schedule()

    def room(self, key: ApiKey) -> AbstractAsyncContextManager[None]:
        """Wait until few calls of a key's tenant wait, then add many: one caller at a time."""
        return self.lanes.of(key.tenant_text, key.tenant_id).room()

    def _wake(self) -> None:
        if not self._is_scheduled:
            self._schedule()

    def _schedule(self) -> None:
        self._is_scheduled = True
        asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        """Admit the calls that have arrived, and run steps."""
        lanes = self.lanes
        lanes.turn += 1
        try:
            calls, self._arrived = self._arrived, []
            if calls:
                self._sort(self.admission.admit_calls(calls))
            end = time.perf_counter_ns() + TURN_NS
            while lanes.ready:
                self._step(lanes.next())
                if time.perf_counter_ns() > end:
                    break
            while (found := lanes.next_beside()) is not None:
                self._step_beside(*found)
        finally:
            self._is_scheduled = False
            if self._arrived or lanes.ready:
                self._schedule()

    def _sort(self, calls: Sequence[HotCall]) -> None:
        """Put admitted calls into the lanes of their tenants."""
        by_tenant: dict[str, list[HotCall]] = {}
        for call in calls:
            by_tenant.setdefault(call.key.tenant_text, []).append(call)
        for tenant_text, of_tenant in by_tenant.items():
            lane = self.lanes.of(tenant_text, of_tenant[0].key.tenant_id)
            over = lane.add(of_tenant)
            self.lanes.line_up(lane)
            if over:
                refuse(over, too_many(lane))

    def _step(self, lane: Lane) -> None:
        """Run a lane's next step on the loop, or have it wait for a thread."""
        tenant = self.runtimes.find(lane.tenant_id)
        if tenant is None and self.runtimes.call(lane.tenant_id):
            self.lanes.hold(lane)
            return
        if tenant is None:
            refuse(lane.take_all(), Problem("definitions-unavailable", headers=_SOON))
            self.lanes.drop(lane)
            return
        room = self.recorder.room(lane.tenant_id)
        if not room:
            self.lanes.park(lane)
            return
        now, account = time.monotonic_ns(), lane.account
        account.is_of(tenant.read_at)
        largest = account.largest(now)
        if lane.next_bytes > largest:
            self.lanes.put_beside(lane, now)
            return
        step = lane.take(account.calls(min(AT_ONCE, room)), largest)
        started, work = time.thread_time_ns(), 0
        try:
            work = at_once(self._decide(tenant, step, _here))
        finally:
            self._charge(lane, step, time.thread_time_ns() - started, work)
            self.lanes.line_up(lane)

    def _step_beside(self, lane: Lane, line: Line) -> None:
        """Start a lane's next step on a thread."""
        tenant = self.runtimes.find(lane.tenant_id)
        if tenant is None or not lane.may_step:
            self.lanes.line_up(lane)
            return
        step = lane.take(lane.account.calls(BESIDE_AT_ONCE), MAX_BODY_BYTES)
        self.lanes.begun(lane, line)
        self._watch(self._make_beside(tenant, lane, line, step))

    async def _make_beside(self, tenant: Tenant, lane: Lane, line: Line, step: Step) -> None:
        spent = work = 0

        async def run(work: Callable[[], T]) -> T:
            nonlocal spent
            made, took = await self.lanes.run(work)
            spent += took
            return made

        try:
            work = await self._decide(tenant, step, run)
        finally:
            self._charge(lane, step, spent, work)
            self.lanes.ended(lane, line, spent)

    def _charge(self, lane: Lane, step: Step, spent: int, work: int) -> None:
        now = time.monotonic_ns()
        if lane.account.charge(len(step.calls), step.largest, spent, work, now):
            log.info(
                "decisions are heavy: they are made beside the loop",
                tenant=str(lane.tenant_id),
                milliseconds_each=round(spent / len(step.calls) / 1e6, 3),
            )

    async def _decide(self, tenant: Tenant, step: Step, run: Run) -> int:
        """Decide on calls of a tenant, except those that are refused or need a lookup.

        Args:
            tenant: the tenant, with its definitions.
            step: the calls.
            run: runs native work, here or on a thread.

        Returns:
            Units of work of the most expensive decision.
        """
        calls = step.calls
        try:
            signed = signed_among(tenant, calls)
            if signed:
                await run(partial(self.signatures.find, tenant, signed, self.clock()))
            read = await run(
                partial(
                    tenant.engine.read_calls,
                    [call.body for call in calls],
                    [call.endpoint.needs_content for call in calls],
                    self.idempotency.hash_key,
                    self.geo.current,
                )
            )
        except Exception as error:
            refuse(calls, error)
            return 0
        at = self.clock()
        refusals = read.refusals
        for number, refusal in refusals:
            answer(calls[number], refused(refusal))
        take = self.idempotency.take_again if step.are_looked_up else self.idempotency.take
        keyed = self._begin(calls, read, at, take)
        try:
            recovery = self.recorder.check(tenant.tenant_id)
            if self.runtimes.find(tenant.tenant_id) is not tenant:
                # The states were rebuilt while the events were read: the new engine wouldn't have
                # these decisions.
                raise unavailable()
            decided = await run(
                partial(
                    read.decide,
                    b"".join([call.decision_id or uuid7().bytes for call in calls]),
                    [call.key.id_text for call in calls],
                    at,
                    self.base_url(),
                    tenant.redactor,
                    keyed.deferred,
                    trace_ids_of(calls),
                )
            )
            block = Block(*decided)
            self.recorder.check_still(recovery)
            self._record(tenant, calls, keyed, block, at)
        except Exception as error:
            out = {number for number, _ in refusals}.union(keyed.deferred)
            left = [call for number, call in enumerate(calls) if number not in out]
            self._give_up(left, error, keyed.running)
            return 0
        return block.most_work

    def _begin(self, calls: Sequence[HotCall], read: Calls, now: int, take: Take) -> _Keyed:
        """Start the decisions of calls with an idempotency key.

        Calls with a key that is in use, or was perhaps used before, are looked up instead.
        """
        numbers, keys, fingerprints = read.keyed
        if not numbers:
            return _Keyed()
        used = sorted(take(keys, now))
        for at in used:
            self._look_up(calls[numbers[at]], keys[at], fingerprints[at])
        deferred = [numbers[at] for at in used]
        for at in reversed(used):
            del numbers[at], keys[at], fingerprints[at]
        return _Keyed(numbers, self.idempotency.begin(keys, fingerprints), deferred)

    def _look_up(self, call: HotCall, key: bytes, fingerprint: bytes) -> None:
        """Answer a call whose key was perhaps used before."""
        self._watch(self._answer_known(call, key, fingerprint))

    async def _answer_known(self, call: HotCall, key: bytes, fingerprint: bytes) -> None:
        try:
            known = await self.idempotency.find(key)
        except Exception as error:
            answer(call, error)
            return
        if known is not None:
            answer(call, replayed(known, fingerprint))
            return
        lane = self.lanes.of(call.key.tenant_text, call.key.tenant_id)
        lane.add_looked_up(call)
        self.lanes.line_up(lane)

    def _watch(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _record(
        self, tenant: Tenant, calls: Sequence[HotCall], keyed: _Keyed, block: Block, at: int
    ) -> None:
        """Hand decisions to the log; refuse the events that have none."""
        bodies = self.answers_of(block)
        kept = [bodies[number] for number in keyed.numbers]
        failed = [(calls[number], refused(error)) for number, error in block.failures]
        if block.count:
            logged = LogBlock(
                tenant.tenant_id, block.count, at, block.first_id, block.last_id, block.lines,
                block.index,
            )  # fmt: skip
            answers = zip(calls, bodies, strict=True)
            decided = [(call, body) for call, body in answers if body is not None]
            counts = (block.actions, block.outcomes, block.rule_errors, block.over_budget)
            problems = block.client_problems
            settled = _Decided(self, decided, keyed.running, kept, *counts, tenant, problems)
            self.recorder.submit(logged, settled)
        else:
            self._end(keyed.running, kept)
        for call, problem in failed:
            answer(call, problem)

    def _give_up(self, calls: Iterable[HotCall], error: Exception, running: Running | None) -> None:
        """Refuse calls that are not decided, and free their keys."""
        if running is not None:
            self._end(running, [None] * len(running.keys))
        refuse(calls, error)

    def warn_of_client(self, tenant: Tenant, problem: str, count: int) -> None:
        """Warn in the log that a tenant's events name clients without an address."""
        now, at = time.monotonic_ns(), (tenant.tenant_id, problem)
        before = self._warned.get(at)
        if before is not None and now - before < WARN_AGAIN_NS:
            return
        if len(self._warned) >= MOST_WARNED:
            self._warned.clear()
        self._warned[at] = now
        log.warning(
            "events name clients without an address: no policy about addresses applies to them",
            tenant=tenant.id_text,
            problem=problem,
            reason=PROBLEMS[problem],
            events=count,
        )

    def _end(self, running: Running | None, kept: Sequence[bytes | None]) -> None:
        if running is not None:
            self.idempotency.finish(running, kept, self.recorder.seq)


@attrs.frozen(eq=False)
class _Decided:
    """Calls that were decided together, until the decisions are durable."""

    queue: CallQueue
    calls: Sequence[tuple[HotCall, bytes]]
    """Calls with their answers."""
    running: Running | None
    kept: Sequence[bytes | None]
    """The decisions to keep under their idempotency keys."""
    actions: Sequence[tuple[str, str, int]]
    outcomes: Sequence[tuple[str, str, str, int]]
    rule_errors: int
    over_budget: int
    tenant: Tenant
    client_problems: Sequence[tuple[str, int]]

    def __call__(self, problem: Problem | None) -> None:
        """Report that the decisions are durable, or that they failed and count as not made."""
        queue = self.queue
        if problem is not None:
            queue._give_up([call for call, _ in self.calls], problem, self.running)
            return
        queue._end(self.running, self.kept)
        metrics = queue.metrics
        metrics.rule_errors += self.rule_errors
        metrics.over_budget += self.over_budget
        for code, count in self.client_problems:
            metrics.client_problems[code] = metrics.client_problems.get(code, 0) + count
            queue.warn_of_client(self.tenant, code, count)
        started = [call.started for call, _ in self.calls]
        metrics.answered(self.outcomes)
        metrics.decided(self.actions, started, time.perf_counter_ns())
        deliver(self.calls)


async def _here(work: Callable[[], T]) -> T:
    """Do work on the loop."""
    return work()


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Do work that waits for nothing, immediately."""
    try:
        work.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    raise RuntimeError("it waits")


def trace_ids_of(calls: Sequence[HotCall]) -> list[str | None] | None:
    """Return the trace of each call; None if none has one."""
    given = [call.traceparent for call in calls]
    return [trace_id_of(each) for each in given] if any(given) else None


def too_many(lane: Lane) -> Problem:
    """Return the refusal of a call when its tenant's queue is full."""
    after = min(max(1, round(lane.waiting * lane.account.cost / 1e9)), MOST_RETRY_SECONDS)
    return Problem(
        "rate-limited",
        f"{lane.waiting} calls of the tenant wait already; come back in {after} s",
        headers={"retry-after": str(after)},
    )


def replayed(known: Recorded, fingerprint: bytes) -> Outcome:
    """Return a key's first answer again, or a refusal if the body differs."""
    if known.fingerprint != fingerprint:
        return Problem("idempotency-key-reused", "the idempotency key was used with another body")
    return Answer(known.answer, headers=((b"idempotency-replayed", b"true"),))


def refused(refusal: EventError | str) -> Problem:
    """Return the refusal of an event that isn't decided.

    400 for text that isn't JSON, 422 for JSON that isn't an event.
    """
    if isinstance(refusal, EventError):
        if refusal.is_unreadable:
            return Problem("invalid-json", str(refusal))
        return problem_of(refusal)
    code, detail, errors = _REFUSALS[refusal]
    return Problem(code, detail, errors=errors)


_REFUSALS: Mapping[str, tuple[str, str, Sequence[ErrorDetail]]] = {
    "other-tenant": ("not-found", "there is no such tenant", ()),
    "empty": ("empty-payload", "`request` or `fields` must hold something", ()),
    "key-length": (
        "invalid-event",
        f"an idempotency key has 1 to {MAX_IDEMPOTENCY_KEY} characters",
        (ErrorDetail(detail="wrong length", pointer="/idempotency_key"),),
    ),
}
"""The problem for each reason why a readable event isn't decided."""
