"""The hot calls: one event in, one durable decision out.

In order: credential, rate limit, body, idempotency, decision, log.  Nothing here reads the
database but the rare look-up of a repeated idempotency key; the answer waits for the commit
that holds its decision.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

import attrs
import orjson
from uuid_utils import uuid7

from tidegate.errors import EventError
from tidegate.evaluation.native import envelope
from tidegate.server.entries import NO_ERRORS, log_entry
from tidegate.server.headers import DATA_HEADERS
from tidegate.server.idempotency import MAX_KEY_LENGTH
from tidegate.server.logging import log
from tidegate.server.problems import (
    CONTENT_TYPE,
    ErrorDetail,
    Problem,
    problem_document,
    problem_of,
)

if TYPE_CHECKING:
    from tidegate.evaluation.native import Envelope
    from tidegate.policy.served import Served
    from tidegate.server.api_keys import ApiKey, KeyRing
    from tidegate.server.idempotency import IdempotencyKeys, Recorded
    from tidegate.server.metrics import HotMetrics
    from tidegate.server.rate_limit import RateLimits
    from tidegate.server.recorder import Recorder
    from tidegate.server.runtime import Runtimes, Tenant

Header: TypeAlias = tuple[bytes, bytes]

KEY_HEADER = b"x-service-api-key"
REQUEST_ID_HEADER = b"x-request-id"
_NO_OBJECT = "the event must be an object"
"""What the encoder says of JSON that is none; every other refusal without a pointer is of text
that is no JSON."""
_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}")


@attrs.frozen
class Endpoint:
    """One of the hot calls: its path, and how it answers."""

    name: str
    path: str
    answer: Callable[[Served, str, str], bytes]
    """From the decision, its id and the server's address to the body."""
    needs_content: bool


def runtime_answer(served: Served, decision_id: str, base_url: str) -> bytes:
    """The runtime decision of the interface specification, with ``decision_id`` and ``reason``."""
    if served.action != "challenge":
        return served.answer
    redirect = f"{base_url}/api/v1/challenge/{decision_id}"
    return orjson.dumps(
        {
            "action": {"type": "challenge", "challenge": {"redirect_url": redirect}},
            "reason": served.reason,
            "decision_id": decision_id,
        }
    )


def beacon_answer(served: Served, decision_id: str, _base_url: str) -> bytes:
    """The beacon event response of the interface specification."""
    entity = b"null" if served.entity_id is None else b'"%s"' % served.entity_id.encode()
    active = b"null" if served.mode is None else b'{"decision":"%s"}' % served.mode.encode()
    return b'{"item_id":"%s","lookup_entity_id":%s,"active_mitigation":%s}' % (
        decision_id.encode(),
        entity,
        active,
    )


BEACON = Endpoint("beacon", "/api/v1/beacon/event", beacon_answer, needs_content=False)
RUNTIME = Endpoint("runtime", "/api/v1/runtime/mitigation", runtime_answer, needs_content=True)
ENDPOINTS = {endpoint.path: endpoint for endpoint in (BEACON, RUNTIME)}


@attrs.frozen
class Answer:
    """What is sent: a status, headers beside the usual ones, and a JSON body."""

    body: bytes
    status: int = 200
    headers: tuple[Header, ...] = ()
    content_type: bytes = b"application/json"


Outcome: TypeAlias = Answer | Exception
Done: TypeAlias = Callable[[Outcome], None]


@attrs.frozen
class HotPath:
    """Everything a hot call needs, put together once.

    Its methods run on the event loop's thread only.
    """

    keys: KeyRing
    limits: RateLimits
    runtimes: Runtimes
    idempotency: IdempotencyKeys
    recorder: Recorder
    metrics: HotMetrics
    base_url: Callable[[], str]
    clock: Callable[[], int] = time.time_ns
    monotonic: Callable[[], int] = time.monotonic_ns
    looking: set[asyncio.Task[None]] = attrs.field(factory=set, init=False, repr=False)
    """Look-ups under way: the loop itself keeps no task alive."""

    def admit(self, headers: list[Header]) -> ApiKey:
        """The key of a request, once its limit has room: before anything of the body is read.

        Raises:
            Problem: 400, 401, 415 or 429.
        """
        key, content_type = self.credential(headers)
        self.count(key)
        if content_type is None or not is_json(content_type):
            raise Problem("unsupported-media-type", "send `content-type: application/json`")
        return key

    def credential(self, headers: list[Header]) -> tuple[ApiKey, bytes | None]:
        """The key of a request, and its content type.

        Raises:
            Problem: 400, 401 or 415.
        """
        text = content_type = None
        for name, value in headers:
            if name == KEY_HEADER:
                if text is not None:
                    raise Problem("malformed-request", "`x-service-api-key` is there twice")
                text = value
            elif name == b"content-type":
                content_type = value
            elif name == b"content-encoding" and value.lower() != b"identity":
                raise Problem("unsupported-media-type", "send the body without content-encoding")
        return self._key(text), content_type

    def admit_key(self, text: bytes) -> ApiKey:
        """The key of a request of which all else is as it should be, once its limit has room.

        Raises:
            Problem: 401 or 429.
        """
        key = self._key(text)
        self.count(key)
        return key

    def _key(self, text: bytes | None) -> ApiKey:
        key = None if text is None else self.keys.find(text, self.clock())
        if key is None:
            raise Problem("unauthenticated", "send a valid API key in `x-service-api-key`")
        return key

    def count(self, key: ApiKey) -> None:
        """Count one event against the limit of its key.

        Raises:
            Problem: ``rate-limited``.
        """
        now = self.monotonic()
        if not self.limits.allow(key.id_text, key.rate_limit_per_minute, now):
            verdict = self.limits.verdict(key.id_text, key.rate_limit_per_minute, now, False)
            detail = f"the key has {verdict.limit} a minute; come back in {verdict.retry_after} s"
            raise Problem("rate-limited", detail, headers=verdict.headers())

    def failed(self, problem: Problem, error: BaseException, endpoint: Endpoint) -> None:
        """Count a refusal, and log one that nobody foresaw."""
        self.metrics.refused(problem.code)
        if problem.code == "internal-error":
            log.error("hot call failed", endpoint=endpoint.name, exc_info=error)

    async def decide(self, endpoint: Endpoint, key: ApiKey, body: bytes) -> Answer:
        """One event to its answer.

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

        self.begin(endpoint, key, body, done)
        return await answered

    def begin(self, endpoint: Endpoint, key: ApiKey, body: bytes, done: Done) -> None:
        """One event to its answer, which ``done`` is called with when it is durable.

        Nearly every event takes no task and no future: it is decided here and now, and its
        answer is sent by the commit that holds it.
        """
        try:
            started = time.perf_counter_ns()
            tenant = self.runtimes.find(key.tenant_id)
            if tenant is None:
                raise Problem("definitions-unavailable", headers={"retry-after": "1"})
            found = self._envelope(endpoint, tenant, body)
            call = Call(self, endpoint, key, tenant, found.source, body, started, done)
            if found.idempotency_key is not None:
                call.identity = self.idempotency.identify(
                    tenant.tenant_id, endpoint.name.encode(), found.idempotency_key
                )
                call.fingerprint = self.idempotency.fingerprint(body)
                if not self.idempotency.is_new(call.identity):
                    self._look_up(call)
                    return
            call.decide()
        except Exception as error:
            done(error)

    def _look_up(self, call: Call) -> None:
        """Answer a call whose key was perhaps seen before."""
        looking = asyncio.get_running_loop().create_task(self._answer_known(call))
        self.looking.add(looking)
        looking.add_done_callback(self.looking.discard)

    async def _answer_known(self, call: Call) -> None:
        try:
            while True:
                known = await self.idempotency.find(call.identity)
                if known is not None:
                    call.done(replayed(known, call.fingerprint))
                    return
                if not self.idempotency.is_running(call.identity):
                    break
            call.decide()
        except Exception as error:
            call.done(error)

    def _envelope(self, endpoint: Endpoint, tenant: Tenant, body: bytes) -> Envelope:
        try:
            found = envelope(body)
        except EventError as error:
            raise refused_event(error) from None
        if found.tenant_id is not None and found.tenant_id.lower() != tenant.id_text:
            raise Problem("not-found", "there is no such tenant")
        if found.empty and endpoint.needs_content:
            raise Problem("empty-payload", "`request` or `fields` must hold something")
        text = found.idempotency_key
        if text is not None and not 0 < len(text) <= MAX_KEY_LENGTH:
            raise Problem(
                "invalid-event",
                f"an idempotency key has 1 to {MAX_KEY_LENGTH} characters",
                errors=[ErrorDetail(detail="wrong length", pointer="/idempotency_key")],
            )
        return found


@attrs.define(eq=False)
class Call:
    """One hot call from its decision to its answer; called when the decision is durable."""

    hot: HotPath
    endpoint: Endpoint
    key: ApiKey
    tenant: Tenant
    source: str | None
    body: bytes
    started: int
    done: Done
    identity: bytes = b""
    """Of the idempotency key; empty without one."""
    fingerprint: bytes = b""
    answer: bytes = b""
    action: str = ""
    has_errors: bool = False

    def decide(self) -> None:
        """Decide and hand the decision to the log.

        Raises:
            Problem: nothing was decided.
        """
        hot = self.hot
        hot.recorder.check()
        received_at = hot.clock()
        decision_id = str(uuid7())
        try:
            served = self.tenant.engine.serve(self.body, received_at, decision_id)
        except EventError as error:
            raise refused_event(error) from None
        if self.identity:
            hot.idempotency.begin(self.identity, self.fingerprint, received_at)
        try:
            self._record(served, decision_id, received_at)
        except BaseException:
            if self.identity:
                hot.idempotency.finish(self.identity, None, hot.recorder.seq)
            raise

    def _record(self, served: Served, decision_id: str, received_at: int) -> None:
        hot = self.hot
        self.answer = self.endpoint.answer(served, decision_id, hot.base_url())
        self.action = served.action
        self.has_errors = not served.record.endswith(NO_ERRORS)
        idempotency = (self.identity, self.fingerprint) if self.identity else None
        duration = time.perf_counter_ns() - self.started
        block = log_entry(
            self.tenant, self.key, self.endpoint.name, self.source, decision_id, received_at,
            duration, served, self.answer, self.body, idempotency,
        )  # fmt: skip
        hot.recorder.submit(block, self)

    def __call__(self, problem: Problem | None) -> None:
        """The decision is durable; or not, and then it counts as not made."""
        hot = self.hot
        if self.identity:
            answer = self.answer if problem is None else None
            hot.idempotency.finish(self.identity, answer, hot.recorder.seq)
        if problem is not None:
            self.done(problem)
            return
        hot.metrics.rule_errors += self.has_errors
        hot.metrics.decided(self.endpoint.name, self.action, time.perf_counter_ns() - self.started)
        self.done(Answer(self.answer))


def replayed(known: Recorded, fingerprint: bytes) -> Answer:
    """The first answer of a key, once more.

    Raises:
        Problem: the body is another one.
    """
    if known.fingerprint != fingerprint:
        raise Problem("idempotency-key-reused", "the idempotency key was used with another body")
    return Answer(known.answer, headers=((b"idempotency-replayed", b"true"),))


def refused_event(error: EventError) -> Problem:
    """400 for text that is no JSON, 422 for JSON that is no event."""
    if not error.pointer and error.offset is not None and error.message != _NO_OBJECT:
        return Problem("invalid-json", str(error))
    return problem_of(error)


def is_json(content_type: bytes) -> bool:
    """Whether a content type is JSON, in UTF-8 if it names a character set."""
    if content_type == b"application/json":
        return True
    kind, _, parameters = content_type.lower().partition(b";")
    charset = parameters.replace(b" ", b"").replace(b'"', b"")
    return kind.strip() == b"application/json" and charset in (b"", b"charset=utf-8")


def finished(
    hot: HotPath, endpoint: Endpoint, headers: Iterable[Header], outcome: Outcome
) -> Answer:
    """What is sent for an outcome, with the caller's request id.

    Args:
        headers: of the request, names in lower case.
    """
    request_id = given_request_id(headers)
    if not isinstance(outcome, Answer):
        problem = problem_of(outcome)
        hot.failed(problem, outcome, endpoint)
        return problem_answer(problem, endpoint.path, request_id or str(uuid7()))
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


def given_request_id(headers: Iterable[Header]) -> str | None:
    """The request id that the caller sent, when it is one that can be sent back."""
    for name, value in headers:
        if name == REQUEST_ID_HEADER and _REQUEST_ID.fullmatch(value):
            return value.decode()
    return None
