"""The hot calls: one event in, one durable decision out.

In order: credential, rate limit, body, idempotency, decision, log.  Nothing here reads the
database but the rare look-up of a repeated idempotency key; the answer waits for the commit
that holds its decision.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

import attrs
from uuid_utils import uuid7

from tidegate.server.hot.call_queue import CallQueue
from tidegate.server.http.access_log import AccessLog
from tidegate.server.http.answer import Answer
from tidegate.server.http.headers import DATA_HEADERS, REQUEST_ID_HEADER, given_request_id
from tidegate.server.http.problems import CONTENT_TYPE, Problem, problem_document, problem_of
from tidegate.server.logging import log
from tidegate.server.turns.call import CallBack, Endpoint
from tidegate.server.turns.lanes import Lanes
from tidegate.stores.base import NotFoundError
from tidegate.stores.decision_log import decisions
from tidegate.stores.decision_log import log as log_rows

if TYPE_CHECKING:
    from tidegate.evaluation.native import Block
    from tidegate.operators.key_ring import ApiKey
    from tidegate.server.engines.engines import Runtimes
    from tidegate.server.hot.admission import Admission
    from tidegate.server.hot.call_queue import Elsewhere
    from tidegate.server.hot.idempotency import IdempotencyKeys
    from tidegate.server.hot.metrics import HotMetrics
    from tidegate.server.hot.recorder import Recorder
    from tidegate.server.http.answer import Done, Header, Outcome
    from tidegate.server.turns.call import HotCall


BEACON = Endpoint("beacon", "/api/v1/beacon/event", needs_content=False)
RUNTIME = Endpoint("runtime", "/api/v1/runtime/mitigation", needs_content=True)
ENDPOINTS = {endpoint.path: endpoint for endpoint in (BEACON, RUNTIME)}


class HotPaths(Protocol):
    """The hot paths of a process: one, or one for each partition that it decides for."""

    @property
    def metrics(self) -> HotMetrics:
        """Counts refusals of what is no call of any of them."""

    def of(self, credential: bytes | None) -> HotPath | None:
        """The one that decides on calls with a credential; None where it is not in this process.

        Args:
            credential: as it was sent; None where there is none.
        """

    def way_of(self, credential: bytes) -> Callable[[HotCall], None] | None:
        """Takes calls that another process decides; None where the application finds out.

        Args:
            credential: of calls of which no hot path is in this process, as it was sent.
        """


@attrs.frozen
class HotPath:
    """Everything a hot call needs, put together once.

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
    """The answers to the callers of a block's decisions."""
    elsewhere: Elsewhere | None = None
    """Hands calls to other processes that decide for other tenants; None when there are none."""
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
            self.elsewhere,
        )

    def of(self, credential: bytes | None) -> HotPath:  # noqa: ARG002 - the same form for all
        """See :class:`HotPaths`: this one takes every call."""
        return self

    def way_of(self, credential: bytes) -> None:
        """See :class:`HotPaths`: there is no other way."""

    def failed(
        self,
        problem: Problem,
        error: BaseException,
        endpoint: Endpoint,
        request_id: str,
        reason: str | None = None,
    ) -> None:
        """Count a refusal, and log an unexpected one.

        Args:
            reason: more than the problem's code says, for the log.
        """
        self.metrics.refused(problem.code)
        self.access.hot_refusal(endpoint.path, problem.status, problem.code, request_id, reason)
        if problem.code == "internal-error":
            log.error(
                "hot call failed", endpoint=endpoint.name, request_id=request_id, exc_info=error
            )

    async def recorded(self, key: ApiKey, ids: Sequence[bytes]) -> dict[bytes, Answer]:
        """The answers of decisions that are in the log already.

        Args:
            key: of the tenant.
            ids: 16 bytes each; of those that were not decided there is no answer.

        Raises:
            StoreUnavailableError: the log cannot be read.
        """
        return await asyncio.to_thread(self._find, key.tenant_id, ids)

    def _find(self, tenant_id: UUID, ids: Sequence[bytes]) -> dict[bytes, Answer]:
        found = {}
        with self.recorder.store.read() as connection:
            for each in ids:
                with suppress(NotFoundError):
                    seq = decisions.find(connection, tenant_id, UUID(bytes=each)).seq
                    found[each] = Answer(bytes(log_rows.read(connection, seq).decision().answer))
        return found

    async def decide(
        self, endpoint: Endpoint, key: ApiKey, body: bytes, decision_id: bytes | None = None
    ) -> Answer:
        """Decide on one event and give its answer.

        Args:
            endpoint: by which it came.
            key: of the admitted call.
            body: the event.
            decision_id: as of :class:`~tidegate.server.turns.call.HotCall`.

        Raises:
            Problem: with the status and code the caller is to see.
        """
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        def done(outcome: Outcome) -> None:
            if answered.done():
                return
            if isinstance(outcome, Answer):
                answered.set_result(outcome)
            else:
                answered.set_exception(outcome)

        self.begin(endpoint, key, body, done, decision_id)
        return self.with_limit(key, await answered)

    def with_limit(self, key: ApiKey, answer: Answer) -> Answer:
        """An answer with what is left of the key's limit, where that is wanted."""
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
    ) -> None:
        """Decide on one event; ``done`` gets the answer when it is durable.

        Nearly every event takes no task and no future: it is decided on with all that came in
        this turn of the loop, and its answer is sent by the commit that holds it.
        """
        started = time.perf_counter_ns()
        self.queue.add(CallBack(endpoint, key, body, done, started, decision_id))


def finished(
    hot: HotPath, endpoint: Endpoint, headers: Iterable[Header], outcome: Outcome
) -> Answer:
    """The answer for an outcome, with the caller's request id.

    Args:
        headers: of the request, names in lower case.
    """
    request_id = given_request_id(headers)
    if not isinstance(outcome, Answer):
        problem = problem_of(outcome)
        request_id = request_id or str(uuid7())
        hot.failed(problem, outcome, endpoint, request_id)
        return problem_answer(problem, endpoint.path, request_id)
    if request_id is None:
        return outcome
    echoed = (REQUEST_ID_HEADER, request_id.encode())
    headers = (*outcome.headers, echoed)
    return Answer(outcome.body, outcome.status, headers, outcome.content_type)


def problem_answer(problem: Problem, path: str, request_id: str) -> Answer:
    """A problem as an answer of a hot call."""
    more = {**DATA_HEADERS, **problem.headers, "x-request-id": request_id}
    return Answer(
        problem_document(problem, path, request_id),
        problem.status,
        tuple((name.lower().encode(), value.encode()) for name, value in more.items()),
        CONTENT_TYPE.encode(),
    )
