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
from typing import TYPE_CHECKING

import attrs
from uuid_utils import uuid7

from tidegate.server.answer import Answer
from tidegate.server.call_queue import Call, CallQueue
from tidegate.server.headers import DATA_HEADERS
from tidegate.server.logging import log
from tidegate.server.problems import CONTENT_TYPE, Problem, problem_document, problem_of

if TYPE_CHECKING:
    from tidegate.server.answer import Done, Header, Outcome
    from tidegate.server.api_keys import ApiKey, KeyRing
    from tidegate.server.idempotency import IdempotencyKeys
    from tidegate.server.metrics import HotMetrics
    from tidegate.server.rate_limit import RateLimits
    from tidegate.server.recorder import Recorder
    from tidegate.server.runtime import Runtimes

KEY_HEADER = b"x-service-api-key"
REQUEST_ID_HEADER = b"x-request-id"
_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}")


@attrs.frozen
class Endpoint:
    """One of the hot calls."""

    name: str
    path: str
    needs_content: bool


BEACON = Endpoint("beacon", "/api/v1/beacon/event", needs_content=False)
RUNTIME = Endpoint("runtime", "/api/v1/runtime/mitigation", needs_content=True)
ENDPOINTS = {endpoint.path: endpoint for endpoint in (BEACON, RUNTIME)}


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
    queue: CallQueue = attrs.field(init=False, repr=False)

    @queue.default
    def _make_queue(self) -> CallQueue:
        return CallQueue(
            self.runtimes, self.idempotency, self.recorder, self.metrics, self.base_url, self.clock
        )

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

        Nearly every event takes no task and no future: it is decided on with all that came in
        this turn of the loop, and its answer is sent by the commit that holds it.
        """
        self.queue.add(Call(endpoint, key, body, done, time.perf_counter_ns()))


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
