"""The hot calls: one event in, one durable decision out.

The order is credential, rate limit, body, idempotency, decision, log. Only the rare lookup of a
repeated idempotency key reads the database. The answer waits for the commit of its decision.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol

import attrs
from uuid_utils import uuid7

from tidegate_server.geo.databases import GeoDatabases
from tidegate_server.hot.call_queue import CallQueue
from tidegate_server.http.access_log import AccessLog, in_trace
from tidegate_server.http.answer import Answer
from tidegate_server.http.headers import (
    DATA_HEADERS,
    REQUEST_ID_HEADER,
    given_request_id,
    request_id_of,
)
from tidegate_server.http.problems import CONTENT_TYPE, Problem, problem_document, problem_of
from tidegate_server.logging import log
from tidegate_server.telemetry.trace_context import TRACEPARENT, given_traceparent, trace_id_of
from tidegate_server.turns.call import CallBack, Endpoint
from tidegate_server.turns.lanes import Lanes

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate.evaluation.native import Block
    from tidegate_server.engines.engines import Runtimes
    from tidegate_server.hot.admission import Admission
    from tidegate_server.hot.idempotency import IdempotencyKeys
    from tidegate_server.hot.metrics import HotMetrics
    from tidegate_server.hot.recorder import Recorder
    from tidegate_server.http.answer import Done, Header, Outcome
    from tidegate_server.operators.key_ring import ApiKey
    from tidegate_server.turns.call import HotCall


BEACON = Endpoint("beacon", "/api/v1/beacon/event", needs_content=False)
RUNTIME = Endpoint("runtime", "/api/v1/runtime/mitigation", needs_content=True)
ENDPOINTS = {endpoint.path: endpoint for endpoint in (BEACON, RUNTIME)}


def _nothing(_tenant_id: UUID, _ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
    """Find no decision, as in a process that no gateway forwards calls to."""
    return {}


class HotPaths(Protocol):
    """The hot paths of a process: one, or one per partition that the process owns."""

    @property
    def metrics(self) -> HotMetrics:
        """Counts refusals of requests that aren't a call of any hot path."""

    def of(self, credential: bytes | None) -> HotPath | None:
        """Return the hot path that decides calls with a credential; None if this process has none.

        Args:
            credential: as it was sent; None if the call has none.
        """

    def way_of(self, credential: bytes) -> Callable[[HotCall], None] | None:
        """Return how to pass calls to another process that decides; None to ask the application.

        Args:
            credential: as it was sent, of calls that no hot path in this process decides.
        """


@attrs.frozen
class HotPath:
    """Everything a hot call needs, assembled once.

    Its methods run on the event loop's thread only.
    """

    admission: Admission
    runtimes: Runtimes
    idempotency: IdempotencyKeys
    recorder: Recorder
    metrics: HotMetrics
    base_url: Callable[[], str]
    clock: Callable[[], int] = time.time_ns
    tells_limits: bool = False
    lanes: Lanes = attrs.field(factory=Lanes)
    access: AccessLog = attrs.field(factory=AccessLog)
    answers_of: Callable[[Block], Sequence[bytes | None]] = attrgetter("answers")
    """Returns the answers to the callers of a block's decisions."""
    look_up: Callable[[UUID, Sequence[bytes]], Mapping[bytes, bytes]] = _nothing
    """Returns the answers of a tenant's decisions in the log, by id; called on a worker thread."""
    geo: GeoDatabases = attrs.field(factory=lambda: GeoDatabases([]))
    """Says where clients are."""
    queue: CallQueue = attrs.field(init=False, repr=False)

    @queue.default
    def _make_queue(self) -> CallQueue:
        return CallQueue(
            self.admission,
            self.runtimes,
            self.idempotency,
            self.recorder,
            self.metrics,
            self.base_url,
            self.clock,
            self.lanes,
            self.answers_of,
            self.geo,
        )

    def of(self, credential: bytes | None) -> HotPath:  # noqa: ARG002 - the same form for all
        """Return this hot path, which takes every call; see :class:`HotPaths`."""
        return self

    def way_of(self, credential: bytes) -> None:
        """Return None, as no other process decides; see :class:`HotPaths`."""

    def failed(
        self,
        problem: Problem,
        error: BaseException,
        endpoint: Endpoint,
        request_id: str,
        trace_id: str | None,
        reason: str | None = None,
    ) -> None:
        """Count a refusal, and log an unexpected one.

        Args:
            trace_id: of the caller's trace, if any.
            reason: detail beyond the problem's code, for the log.
        """
        self.metrics.refused(problem.code)
        path, status, code = endpoint.path, problem.status, problem.code
        self.access.hot_refusal(path, status, code, request_id, trace_id, reason)
        if problem.code == "internal-error":
            log.error(
                "hot call failed",
                endpoint=endpoint.name,
                request_id=request_id,
                **in_trace(trace_id),
                exc_info=error,
            )

    async def recorded(self, key: ApiKey, ids: Sequence[bytes]) -> dict[bytes, Answer]:
        """Return the answers of decisions that are already in the log.

        Args:
            key: of the tenant.
            ids: 16 bytes each; ids that were not decided get no answer.

        Raises:
            StoreUnavailableError: the log cannot be read.
        """
        found = await asyncio.to_thread(self.look_up, key.tenant_id, ids)
        return {each: Answer(answer) for each, answer in found.items()}

    async def decide(
        self,
        endpoint: Endpoint,
        key: ApiKey,
        body: bytes,
        decision_id: bytes | None = None,
        traceparent: bytes | None = None,
    ) -> Answer:
        """Decide on one event and return its answer.

        Args:
            endpoint: the endpoint it came through.
            key: of the admitted call.
            body: the event.
            decision_id: as of :class:`~tidegate_server.turns.call.HotCall`.
            traceparent: likewise.

        Raises:
            Problem: with the status and code for the caller.
        """
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        def done(outcome: Outcome) -> None:
            if answered.done():
                return
            if isinstance(outcome, Answer):
                answered.set_result(outcome)
            else:
                answered.set_exception(outcome)

        self.begin(endpoint, key, body, done, decision_id, traceparent)
        return self.with_limit(key, await answered)

    def with_limit(self, key: ApiKey, answer: Answer) -> Answer:
        """Add the remaining limit of the key to an answer, if the limit is reported."""
        if not self.tells_limits:
            return answer
        now = self.admission.monotonic()
        verdict = self.admission.limits.verdict(key.id_text, key.rate_limit_per_minute, now, True)
        more = ((name.encode(), value.encode()) for name, value in verdict.headers().items())
        return Answer(answer.body, answer.status, (*answer.headers, *more), answer.content_type)

    def begin(
        self,
        endpoint: Endpoint,
        key: ApiKey,
        body: bytes,
        done: Done,
        decision_id: bytes | None = None,
        traceparent: bytes | None = None,
    ) -> None:
        """Start deciding on one event; ``done`` gets the answer when it is durable.

        Nearly every event needs no task and no future: it is decided with all others of this turn
        of the loop, and the commit that contains it sends its answer.
        """
        started = time.perf_counter_ns()
        self.queue.add(CallBack(endpoint, key, body, done, started, decision_id, traceparent))


def given_headers(call: HotCall) -> tuple[Header, ...]:
    """Return the headers of a hot call that its answer and its log line depend on."""
    request_id, traceparent = call.request_id, call.traceparent
    given = () if request_id is None else ((REQUEST_ID_HEADER, request_id),)
    return given if traceparent is None else (*given, (TRACEPARENT, traceparent))


def finished(
    hot: HotPath, endpoint: Endpoint, headers: Sequence[Header], outcome: Outcome
) -> Answer:
    """Return the answer for an outcome, with the caller's request id.

    Args:
        headers: of the request, names in lower case.
    """
    request_id = given_request_id(headers)
    if not isinstance(outcome, Answer):
        problem = problem_of(outcome)
        request_id = request_id or str(uuid7())
        trace_id = trace_id_of(given_traceparent(headers))
        hot.failed(problem, outcome, endpoint, request_id, trace_id)
        return problem_answer(problem, endpoint.path, request_id)
    if request_id is None:
        return outcome
    echoed = (REQUEST_ID_HEADER, request_id.encode())
    headers = (*outcome.headers, echoed)
    return Answer(outcome.body, outcome.status, headers, outcome.content_type)


def refusal(problem: Problem, path: str, headers: Iterable[Header]) -> Answer:
    """Return a problem as the answer to a request with these headers."""
    return problem_answer(problem, path, request_id_of(headers))


def problem_answer(problem: Problem, path: str, request_id: str) -> Answer:
    """Return a problem as the answer of a hot call."""
    more = {**DATA_HEADERS, **problem.headers, "x-request-id": request_id}
    return Answer(
        problem_document(problem, path, request_id),
        problem.status,
        tuple((name.lower().encode(), value.encode()) for name, value in more.items()),
        CONTENT_TYPE.encode(),
    )
