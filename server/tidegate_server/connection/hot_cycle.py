"""A hot call on a connection, from its headers to its answer."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from time import perf_counter_ns
from typing import TYPE_CHECKING, Protocol

from tidegate_server.hot.admission import credential_of
from tidegate_server.hot.hot_path import finished, given_headers
from tidegate_server.http.answer import Answer
from tidegate_server.http.headers import given_request_id, request_id_of
from tidegate_server.http.limits import MAX_BODY_BYTES, too_large
from tidegate_server.http.problems import Problem
from tidegate_server.telemetry.trace_context import TRACERESPONSE, given_traceparent
from tidegate_server.turns.call import HotCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidegate_server.hot.hot_path import HotPath
    from tidegate_server.http.answer import Header, Outcome
    from tidegate_server.turns.call import Endpoint


class Connection(Protocol):
    """The parts of a connection that a call needs: see ``protocol.py``."""

    def hot_path(self) -> HotPath | None: ...
    def leave_to_application(self, body: bytes, keep_alive: bool) -> None: ...
    def take_up_later(self, work: Callable[[], None]) -> None: ...
    def send(self, answer: Answer, keep_alive: bool, request_id: bytes | None = None) -> None: ...
    def send_body(self, body: bytes, keep_alive: bool, request_id: bytes | None) -> None: ...
    def on_response_complete(self) -> None: ...


class _Nothing:
    """Stands in for the event that wakes the reader of uvicorn's cycles."""

    def set(self) -> None:
        """Do nothing, since nobody waits."""


_NOTHING = _Nothing()


class HotCycle(HotCall):
    """The hot call in progress on a connection: the minimum that uvicorn expects of a cycle.

    A connection has one call at a time, so it reuses this object for all of them.
    """

    __slots__ = (
        "_add",
        "_connection",
        "_has_passed",
        "_hot",
        "_is_answered",
        "_is_started",
        "_known",
        "_refusal",
        "disconnected",
        "keep_alive",
        "message_event",
        "response_complete",
        "traceparent",
    )
    _hot: HotPath | None
    """Decides the call; None if another process does."""
    _add: Callable[[HotCall], None]
    """Hands the complete call to another process."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._has_passed = False
        self.decision_id = self.traceparent = None
        self._refusal: Problem | None = None
        self._known: Answer | None = None
        self._is_started = self._is_answered = True
        self.keep_alive = True
        self.disconnected = False
        self.response_complete = True
        self.message_event = _NOTHING

    @property
    def has_key(self) -> bool:
        """Whether a call of the connection came with a valid API key."""
        return self._has_passed or hasattr(self, "key")

    def is_with(self, hot: HotPath) -> bool:
        """Tell whether a hot path has the call."""
        return self._is_started and not self.response_complete and self._hot is hot

    def take(
        self,
        hot: HotPath | None,
        add: Callable[[HotCall], None],
        endpoint: Endpoint,
        credential: bytes,
        request_id: bytes | None,
        traceparent: bytes | None,
        body: bytes,
    ) -> None:
        """Take a call that has arrived completely.

        Args:
            hot: decides; None if another process does.
            add: takes the call, to have it decided.
            credential: as it was sent.
            request_id: the caller's, safe to send back.
            traceparent: the caller's, if it is valid.
        """
        self.response_complete = self._is_answered = False
        self.keep_alive = True
        self._hot = hot
        self.endpoint = endpoint
        self.credential = credential
        self.request_id = request_id
        self.traceparent = traceparent
        self.body = body
        self.started = perf_counter_ns()
        add(self)

    def begin(
        self, hot: HotPath, endpoint: Endpoint, headers: list[Header], keep_alive: bool
    ) -> None:
        """Start a call whose headers have arrived."""
        self.response_complete = self._is_started = self._is_answered = False
        self.keep_alive = keep_alive
        self._hot = hot
        self.endpoint = endpoint
        self.credential = None
        request_id = given_request_id(headers)
        self.request_id = None if request_id is None else request_id.encode()
        self.traceparent = given_traceparent(headers)
        self.body = b""
        self._refusal = None
        try:
            self.key = hot.admission.admit(headers)
        except Problem as problem:
            self._refusal = problem

    def begin_elsewhere(
        self,
        add: Callable[[HotCall], None],
        endpoint: Endpoint,
        headers: list[Header],
        keep_alive: bool,
    ) -> None:
        """Start a call that another process decides; its headers have arrived.

        Args:
            add: takes the call when it is complete.
            headers: with one credential, and a body within the limit.
        """
        self.response_complete = self._is_started = self._is_answered = False
        self.keep_alive = keep_alive
        self._hot, self._add = None, add
        self.endpoint = endpoint
        self.credential = credential_of(headers)
        request_id = given_request_id(headers)
        self.request_id = None if request_id is None else request_id.encode()
        self.traceparent = given_traceparent(headers)
        self.body = b""
        self._refusal = None

    def begin_known(self, answer: Answer, headers: list[Header], keep_alive: bool) -> None:
        """Start a request that always has the same answer; its body is ignored."""
        self.response_complete = self._is_started = self._is_answered = False
        self.keep_alive = keep_alive
        self.request_id = request_id_of(headers).encode()
        self.traceparent = None
        self._refusal = None
        self._known = answer

    def add(self, body: bytes) -> None:
        """Append to the body; the body of a refused or known call isn't kept."""
        if self._refusal is not None or self._known is not None:
            return
        if len(self.body) + len(body) > MAX_BODY_BYTES:
            self._refusal = too_large(MAX_BODY_BYTES)
            self.keep_alive = False
            self.start()
            return
        self.body = self.body + body if self.body else body

    def start(self) -> None:
        """Act on the call: its body is complete, or isn't waited for."""
        if self._is_started:
            return
        self._is_started = True
        if self._known is not None:
            known, self._known = self._known, None
            self._is_answered = True
            self._send(known, self.request_id)
            return
        if self._refusal is not None:
            self.answer(self._refusal)
            return
        hot = self._hot
        if hot is None:
            self.started = perf_counter_ns()
            self._add(self)
            return
        if self._connection.hot_path() is not hot:
            # The term of its hot path ended while the body was arriving.
            self.response_complete = self._is_answered = True
            body, self.body = self.body, b""
            self._connection.leave_to_application(body, self.keep_alive)
            return
        self.started = perf_counter_ns()
        hot.queue.add(self)

    def answer(self, outcome: Outcome) -> None:
        """Send the outcome of the call, unless the caller has gone."""
        if self._is_answered:
            return
        self._is_answered = True
        if not isinstance(outcome, Answer):
            # A refused caller retries at once: a loop of refusals gets its share of each turn.
            self._connection.take_up_later(partial(self._refuse, outcome))
            return
        assert self._hot is not None
        self._send(self._hot.with_limit(self.key, outcome), self.request_id)

    def _refuse(self, problem: Exception) -> None:
        assert self._hot is not None
        given = given_headers(self)
        self._send(finished(self._hot, self.endpoint, given, problem), None)

    def _send(self, answer: Answer, request_id: bytes | None) -> None:
        if not self.disconnected:
            if self.traceparent is not None:
                more = (*answer.headers, (TRACERESPONSE, self.traceparent))
                answer = Answer(answer.body, answer.status, more, answer.content_type)
            self._connection.send(answer, self.keep_alive, request_id)
        self._end()

    def decided(self, body: bytes) -> None:
        if self._is_answered:
            return
        if self._hot is None:
            self._has_passed = True
        elif self._hot.tells_limits:
            self.answer(Answer(body))
            return
        self._is_answered = True
        if self.traceparent is not None:
            self._send(Answer(body), self.request_id)
            return
        if not self.disconnected:
            self._connection.send_body(body, self.keep_alive, self.request_id)
        self._end()

    def pass_on(self, made: Answer) -> None:
        if self._is_answered:
            return
        self._is_answered = True
        if made.status < HTTPStatus.BAD_REQUEST:
            self._has_passed = True
            self._send(made, None)
        else:
            self._connection.take_up_later(partial(self._send, made, None))

    def _end(self) -> None:
        self.response_complete = True
        self.body = b""
        if not self.disconnected:
            self._connection.on_response_complete()
