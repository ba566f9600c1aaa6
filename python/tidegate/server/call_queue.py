"""Hot calls that arrived in one turn of the event loop, decided together.

A tenant's calls take two native steps: one reads their events, one decides on them in order and
writes what is answered and logged.  In between stands the rare: a call that is refused, and one
whose idempotency key was perhaps used before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import attrs
from uuid_utils import uuid7

from tidegate.errors import EventError
from tidegate.server.answer import Answer
from tidegate.server.hot_call import answer, deliver, refuse
from tidegate.server.idempotency import MAX_KEY_LENGTH
from tidegate.server.problems import ErrorDetail, Problem, problem_of
from tidegate.stores.log import MAX_ROW_ENTRIES, LogBlock

if TYPE_CHECKING:
    from tidegate.evaluation.native import Block, Calls
    from tidegate.server.admission import Admission
    from tidegate.server.answer import Outcome
    from tidegate.server.hot_call import HotCall
    from tidegate.server.idempotency import IdempotencyKeys, Recorded, Running
    from tidegate.server.metrics import HotMetrics
    from tidegate.server.recorder import Recorder
    from tidegate.server.runtime import Runtimes, Tenant

Take: TypeAlias = Callable[[Sequence[bytes], int], "set[int]"]
"""Takes idempotency keys, at a time; gives the places of those that are not to be had."""
AT_ONCE = MAX_ROW_ENTRIES
"""Calls decided before others have their turn: some milliseconds, and a row of the log."""
_NO_OBJECT = "the event must be an object"
"""What the encoder says of JSON that is none; every other refusal without a pointer is of text
that is no JSON."""


@attrs.frozen(eq=False)
class _Keyed:
    """The calls of a turn that have an idempotency key."""

    numbers: Sequence[int] = ()
    """Those that are decided on."""
    running: Running | None = None
    """Their keys."""
    aside: Sequence[int] = ()
    """Those that are looked up."""


@attrs.define(eq=False)
class CallQueue:
    """Where hot calls wait for the end of the loop's turn; for the event loop's thread only."""

    admission: Admission
    runtimes: Runtimes
    idempotency: IdempotencyKeys
    recorder: Recorder
    metrics: HotMetrics
    base_url: Callable[[], str]
    clock: Callable[[], int]
    _waiting: list[HotCall] = attrs.field(factory=list, init=False)
    _looked_up: list[HotCall] = attrs.field(factory=list, init=False)
    """Calls of which nothing was found under their idempotency keys."""
    _is_scheduled: bool = attrs.field(default=False, init=False)
    _looking: set[asyncio.Task[None]] = attrs.field(factory=set, init=False)
    """Look-ups under way: the loop itself keeps no task alive."""

    def add(self, call: HotCall) -> None:
        """Take a call; it is told when its decision is durable, or why there is none."""
        self._waiting.append(call)
        if not self._is_scheduled:
            self._schedule()

    def _schedule(self) -> None:
        self._is_scheduled = True
        asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        """Decide on what has come."""
        calls, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
        looked_up, self._looked_up = self._looked_up, []
        self._is_scheduled = False
        if self._waiting:
            self._schedule()
        self._read(self.admission.let_in(calls), self.idempotency.take)
        if looked_up:
            self._read(looked_up, self.idempotency.take_again)

    def _read(self, calls: Sequence[HotCall], take: Take) -> None:
        """Read calls that are let in, tenant by tenant, and decide on them.

        Args:
            calls: in order.
            take: how their idempotency keys are taken.
        """
        by_tenant: dict[str, list[HotCall]] = {}
        for call in calls:
            by_tenant.setdefault(call.key.tenant_text, []).append(call)
        for of_tenant in by_tenant.values():
            try:
                tenant = self.runtimes.find(of_tenant[0].key.tenant_id)
                if tenant is None:
                    raise Problem("definitions-unavailable", headers={"retry-after": "1"})
                read = tenant.engine.read_calls(
                    [call.body for call in of_tenant],
                    [call.endpoint.needs_content for call in of_tenant],
                    self.idempotency.hash_key,
                )
            except Exception as error:
                refuse(of_tenant, error)
            else:
                self._decide(tenant, of_tenant, read, take)

    def _decide(self, tenant: Tenant, calls: Sequence[HotCall], read: Calls, take: Take) -> None:
        """Decide on calls of a tenant, but those that are refused or looked up."""
        at = self.clock()
        refusals = read.refusals
        for number, refusal in refusals:
            answer(calls[number], refused(refusal))
        keyed = self._begin(calls, read, at, take)
        try:
            self.recorder.check()
            block = read.decide(
                b"".join([uuid7().bytes for _ in calls]),
                [call.key.id_text for call in calls],
                at,
                self.base_url(),
                tenant.redactor,
                keyed.aside,
            )
            self._record(tenant, calls, keyed, block, at)
        except Exception as error:
            out = {number for number, _ in refusals}.union(keyed.aside)
            left = [call for number, call in enumerate(calls) if number not in out]
            self._give_up(left, error, keyed.running)

    def _begin(self, calls: Sequence[HotCall], read: Calls, now: int, take: Take) -> _Keyed:
        """Begin the decisions of calls with an idempotency key.

        Those whose key is in use, or was perhaps used before, are looked up and not begun.
        """
        numbers, keys, fingerprints = read.keyed
        if not numbers:
            return _Keyed()
        used = sorted(take(keys, now))
        for at in used:
            self._look_up(calls[numbers[at]], keys[at], fingerprints[at])
        aside = [numbers[at] for at in used]
        for at in reversed(used):
            del numbers[at], keys[at], fingerprints[at]
        return _Keyed(numbers, self.idempotency.begin(keys, fingerprints), aside)

    def _look_up(self, call: HotCall, key: bytes, fingerprint: bytes) -> None:
        """Answer a call whose key was perhaps used before."""
        looking = asyncio.get_running_loop().create_task(self._answer_known(call, key, fingerprint))
        self._looking.add(looking)
        looking.add_done_callback(self._looking.discard)

    async def _answer_known(self, call: HotCall, key: bytes, fingerprint: bytes) -> None:
        try:
            known = await self.idempotency.find(key)
        except Exception as error:
            answer(call, error)
            return
        if known is not None:
            answer(call, replayed(known, fingerprint))
            return
        self._looked_up.append(call)
        if not self._is_scheduled:
            self._schedule()

    def _record(
        self, tenant: Tenant, calls: Sequence[HotCall], keyed: _Keyed, block: Block, at: int
    ) -> None:
        """Hand decisions to the log; refuse the events that have none."""
        bodies = block.answers
        kept = [bodies[number] for number in keyed.numbers]
        failed = [(calls[number], refused(error)) for number, error in block.failures]
        if block.count:
            logged = LogBlock(
                tenant.tenant_id, block.count, at, block.first_id, block.last_id, block.lines,
                block.index,
            )  # fmt: skip
            answers = zip(calls, bodies, strict=True)
            decided = [(call, body) for call, body in answers if body is not None]
            counts = (block.actions, block.rule_errors, block.over_budget)
            settled = _Decided(self, decided, keyed.running, kept, *counts)
            self.recorder.submit(logged, settled)
        else:
            self._end(keyed.running, kept)
        for call, problem in failed:
            answer(call, problem)

    def _give_up(self, calls: Iterable[HotCall], error: Exception, running: Running | None) -> None:
        """Refuse calls that are not decided on, and free their keys."""
        if running is not None:
            self._end(running, [None] * len(running.keys))
        refuse(calls, error)

    def _end(self, running: Running | None, kept: Sequence[bytes | None]) -> None:
        if running is not None:
            self.idempotency.finish(running, kept, self.recorder.seq)


@attrs.frozen(eq=False)
class _Decided:
    """Calls that were decided on together, until that is durable."""

    queue: CallQueue
    calls: Sequence[tuple[HotCall, bytes]]
    """Each with its answer."""
    running: Running | None
    kept: Sequence[bytes | None]
    """What their idempotency keys are to give."""
    actions: Sequence[tuple[str, str, int]]
    rule_errors: int
    over_budget: int

    def __call__(self, problem: Problem | None) -> None:
        """The decisions are durable; or not, and then they count as not made."""
        queue = self.queue
        if problem is not None:
            queue._give_up([call for call, _ in self.calls], problem, self.running)
            return
        queue._end(self.running, self.kept)
        metrics = queue.metrics
        metrics.rule_errors += self.rule_errors
        metrics.over_budget += self.over_budget
        started = [call.started for call, _ in self.calls]
        metrics.decided(self.actions, started, time.perf_counter_ns())
        deliver(self.calls)


def replayed(known: Recorded, fingerprint: bytes) -> Outcome:
    """The first answer of a key, once more; a refusal when the body is another one."""
    if known.fingerprint != fingerprint:
        return Problem("idempotency-key-reused", "the idempotency key was used with another body")
    return Answer(known.answer, headers=((b"idempotency-replayed", b"true"),))


def refused(refusal: EventError | str) -> Problem:
    """What the caller is told of an event that is not decided on.

    400 for text that is no JSON, 422 for JSON that is no event.
    """
    if isinstance(refusal, EventError):
        is_text = not refusal.pointer and refusal.offset is not None
        if is_text and refusal.message != _NO_OBJECT:
            return Problem("invalid-json", str(refusal))
        return problem_of(refusal)
    if refusal == "other-tenant":
        return Problem("not-found", "there is no such tenant")
    if refusal == "empty":
        return Problem("empty-payload", "`request` or `fields` must hold something")
    return Problem(
        "invalid-event",
        f"an idempotency key has 1 to {MAX_KEY_LENGTH} characters",
        errors=[ErrorDetail(detail="wrong length", pointer="/idempotency_key")],
    )
