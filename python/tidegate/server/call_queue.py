"""Hot calls that arrived in one turn of the event loop, decided together.

A tenant's calls take two native steps: one reads their events, one decides on them in order and
writes what is answered and logged.  In between stands the rare: a call that is refused, and one
whose idempotency key was perhaps used before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import attrs
from uuid_utils import uuid7

from tidegate.errors import EventError
from tidegate.server.answer import Answer
from tidegate.server.idempotency import MAX_KEY_LENGTH
from tidegate.server.logging import log
from tidegate.server.problems import ErrorDetail, Problem, problem_of
from tidegate.stores.log import MAX_ROW_ENTRIES, LogBlock

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate.evaluation.native import Block, Calls
    from tidegate.server.answer import Done, Outcome
    from tidegate.server.api_keys import ApiKey
    from tidegate.server.hot import Endpoint
    from tidegate.server.idempotency import IdempotencyKeys, Recorded, Running
    from tidegate.server.metrics import HotMetrics
    from tidegate.server.recorder import Recorder
    from tidegate.server.runtime import Runtimes, Tenant

AT_ONCE = MAX_ROW_ENTRIES
"""Calls decided before others have their turn: some milliseconds, and a row of the log."""
_NO_OBJECT = "the event must be an object"
"""What the encoder says of JSON that is none; every other refusal without a pointer is of text
that is no JSON."""


@attrs.define(eq=False)
class Call:
    """One hot call, from its body to its answer."""

    endpoint: Endpoint
    key: ApiKey
    body: bytes
    done: Done
    started: int
    """Of the performance counter."""
    is_keyed: bool = False
    """It is decided on under an idempotency key."""
    is_looked_up: bool = False
    """Nothing is known of its idempotency key."""


@attrs.define(eq=False)
class CallQueue:
    """Where hot calls wait for the end of the loop's turn; for the event loop's thread only."""

    runtimes: Runtimes
    idempotency: IdempotencyKeys
    recorder: Recorder
    metrics: HotMetrics
    base_url: Callable[[], str]
    clock: Callable[[], int]
    _waiting: list[Call] = attrs.field(factory=list, init=False)
    _is_scheduled: bool = attrs.field(default=False, init=False)
    _looking: set[asyncio.Task[None]] = attrs.field(factory=set, init=False)
    """Look-ups under way: the loop itself keeps no task alive."""

    def add(self, call: Call) -> None:
        """Take a call; its ``done`` is called when the decision is durable, or with the reason
        why there is none.
        """
        self._waiting.append(call)
        if not self._is_scheduled:
            self._schedule()

    def _schedule(self) -> None:
        self._is_scheduled = True
        asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        """Decide on what has come."""
        calls, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
        self._is_scheduled = False
        if self._waiting:
            self._schedule()
        by_tenant: dict[UUID, list[Call]] = {}
        for call in calls:
            by_tenant.setdefault(call.key.tenant_id, []).append(call)
        for tenant_id, of_tenant in by_tenant.items():
            try:
                tenant = self.runtimes.find(tenant_id)
                if tenant is None:
                    raise Problem("definitions-unavailable", headers={"retry-after": "1"})
                read = tenant.engine.read_calls(
                    [call.body for call in of_tenant],
                    [call.endpoint.needs_content for call in of_tenant],
                    self.idempotency.hash_key,
                )
            except Exception as error:
                self._give_up(of_tenant, error)
            else:
                self._decide(tenant, of_tenant, read)

    def _decide(self, tenant: Tenant, calls: Sequence[Call], read: Calls) -> None:
        """Decide on calls of a tenant, but those that are refused or looked up."""
        at = self.clock()
        refusals = read.refusals
        for number, refusal in refusals:
            answer(calls[number], refused(refusal))
        aside, running = self._begin(calls, read, at)
        left = calls
        if refusals or aside:
            out = {number for number, _ in refusals}.union(aside)
            left = [call for number, call in enumerate(calls) if number not in out]
        try:
            self.recorder.check()
            block = read.decide(
                b"".join([uuid7().bytes for _ in calls]),
                [call.key.id_text for call in calls],
                at,
                self.base_url(),
                tenant.redactor,
                aside,
            )
            self._record(tenant, left, running, block, at)
        except Exception as error:
            self._give_up(left, error, running)

    def _begin(
        self, calls: Sequence[Call], read: Calls, now: int
    ) -> tuple[list[int], Running | None]:
        """Begin the decisions of calls with an idempotency key.

        Returns:
            The calls whose key is in use, or was perhaps used before: they are looked up.  And
            the others' keys, if they have any.
        """
        known = self.idempotency
        aside, keys, fingerprints = [], [], []
        for number, pair in enumerate(read.idempotency):
            if pair is None:
                continue
            call = calls[number]
            key, fingerprint = pair
            if call.is_looked_up:
                is_free = not known.is_running(key) and key not in keys
            else:
                is_free = known.take(key, now)
            if is_free:
                call.is_keyed = True
                keys.append(key)
                fingerprints.append(fingerprint)
            else:
                aside.append(number)
                self._look_up(call, key, fingerprint)
        return aside, known.begin(keys, fingerprints) if keys else None

    def _look_up(self, call: Call, key: bytes, fingerprint: bytes) -> None:
        """Answer a call whose key was perhaps used before."""
        looking = asyncio.get_running_loop().create_task(self._answer_known(call, key, fingerprint))
        self._looking.add(looking)
        looking.add_done_callback(self._looking.discard)

    async def _answer_known(self, call: Call, key: bytes, fingerprint: bytes) -> None:
        try:
            known = await self.idempotency.find(key)
        except Exception as error:
            answer(call, error)
            return
        if known is not None:
            answer(call, replayed(known, fingerprint))
        else:
            call.is_looked_up = True
            self.add(call)

    def _record(
        self, tenant: Tenant, calls: Sequence[Call], running: Running | None, block: Block, at: int
    ) -> None:
        """Hand decisions to the log; refuse the events that have none."""
        outcomes = list(zip(calls, block.answers, strict=True))
        decided = [(call, body) for call, body in outcomes if isinstance(body, bytes)]
        if len(decided) < len(calls):
            for call, outcome in outcomes:
                if isinstance(outcome, EventError):
                    answer(call, refused(outcome))
        kept = [
            body if isinstance(body, bytes) else None for call, body in outcomes if call.is_keyed
        ]
        if not decided:
            self._end(running, kept)
            return
        logged = LogBlock(
            tenant.tenant_id, block.count, at, block.first_id, block.last_id, block.lines,
            block.index,
        )  # fmt: skip
        settled = _Decided(self, decided, running, kept, block.actions, block.rule_errors)
        self.recorder.submit(logged, settled)

    def _give_up(
        self, calls: Iterable[Call], error: Exception, running: Running | None = None
    ) -> None:
        """Refuse calls that are not decided on, and free their keys."""
        if running is not None:
            self._end(running, [None] * len(running.keys))
        for call in calls:
            answer(call, error)

    def _end(self, running: Running | None, kept: Sequence[bytes | None]) -> None:
        if running is not None:
            self.idempotency.finish(running, kept, self.recorder.seq)


@attrs.frozen(eq=False)
class _Decided:
    """Calls that were decided on together, until that is durable."""

    queue: CallQueue
    calls: Sequence[tuple[Call, bytes]]
    """Each with its answer."""
    running: Running | None
    kept: Sequence[bytes | None]
    """What their idempotency keys are to give."""
    actions: Sequence[tuple[str, str, int]]
    rule_errors: int

    def __call__(self, problem: Problem | None) -> None:
        """The decisions are durable; or not, and then they count as not made."""
        queue = self.queue
        if problem is not None:
            queue._give_up([call for call, _ in self.calls], problem, self.running)
            return
        queue._end(self.running, self.kept)
        metrics = queue.metrics
        metrics.rule_errors += self.rule_errors
        started = [call.started for call, _ in self.calls]
        metrics.decided(self.actions, started, time.perf_counter_ns())
        for call, body in self.calls:
            answer(call, Answer(body))


def answer(call: Call, outcome: Outcome) -> None:
    """Answer a call; what goes wrong with that is not for the others to bear."""
    try:
        call.done(outcome)
    except Exception:
        log.exception("an answer could not be given")


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
