"""A hot call on a connection, from its headers to its answer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidegate.server.answer import Answer
from tidegate.server.hot import REQUEST_ID_HEADER, finished, given_request_id
from tidegate.server.limits import MAX_BODY_BYTES, too_large
from tidegate.server.problems import Problem

if TYPE_CHECKING:
    from tidegate.server.answer import Header, Outcome
    from tidegate.server.api_keys import ApiKey
    from tidegate.server.hot import Endpoint, HotPath
    from tidegate.server.protocol import Protocol


class _Nothing:
    """Stands where uvicorn's cycles have an event that wakes their reader."""

    def set(self) -> None:
        """Nobody waits."""


_NOTHING = _Nothing()


class HotCycle:
    """The hot call that a connection has under way: what uvicorn expects of a cycle, and no more.

    A connection has one at a time, so it has one of these for all of them.
    """

    __slots__ = (
        "_body",
        "_count",
        "_endpoint",
        "_hot",
        "_is_started",
        "_key",
        "_protocol",
        "_refusal",
        "_request_id",
        "disconnected",
        "keep_alive",
        "message_event",
        "response_complete",
    )
    _hot: HotPath
    _endpoint: Endpoint
    _request_id: bytes | None

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._count = 0
        self._body = b""
        self._key: ApiKey | None = None
        self._refusal: Problem | None = None
        self._is_started = True
        self.keep_alive = True
        self.disconnected = False
        self.response_complete = True
        self.message_event = _NOTHING

    def answer_plain(
        self, hot: HotPath, endpoint: Endpoint, key: bytes, request_id: bytes | None, body: bytes
    ) -> None:
        """Answer a call that is there as a whole.

        Args:
            key: the credential as it was sent.
            request_id: the caller's, which can be sent back.
        """
        self.response_complete = False
        self._count += 1
        self._hot = hot
        self._endpoint = endpoint
        self._request_id = request_id
        try:
            admitted = hot.admit_key(key)
        except Problem as problem:
            self._answer(self._count, problem)
            return
        hot.begin(endpoint, admitted, body, partial(self._answer, self._count))

    def admit(
        self, hot: HotPath, endpoint: Endpoint, headers: list[Header], keep_alive: bool
    ) -> None:
        """Begin with a call of which the headers are there."""
        self.response_complete = self._is_started = False
        self._count += 1
        self._hot = hot
        self._endpoint = endpoint
        request_id = given_request_id(headers)
        self._request_id = None if request_id is None else request_id.encode()
        self._body = b""
        self._key = self._refusal = None
        self.keep_alive = keep_alive
        try:
            self._key = hot.admit(headers)
        except Problem as problem:
            self._refusal = problem

    def add(self, body: bytes) -> None:
        """More of the body; what is refused already is not kept."""
        if self._refusal is not None:
            return
        if len(self._body) + len(body) > MAX_BODY_BYTES:
            self._refusal = too_large(MAX_BODY_BYTES)
            self.keep_alive = False
            self.start()
            return
        self._body = self._body + body if self._body else body

    def start(self) -> None:
        """The body is whole, or will not be waited for."""
        if self._is_started:
            return
        self._is_started = True
        body, self._body = self._body, b""
        if self._key is None or self._refusal is not None:
            self._answer(self._count, self._refusal or Problem("unauthenticated"))
            return
        done = partial(self._answer, self._count)
        self._hot.begin(self._endpoint, self._key, body, done)

    def _answer(self, call: int, outcome: Outcome) -> None:
        """Send what became of a call, unless nobody is there any more.

        Args:
            call: its number: an answer never goes to a call that came later.
        """
        if self.response_complete or call != self._count:
            return
        self.response_complete = True
        request_id = self._request_id
        if not isinstance(outcome, Answer):
            given = () if request_id is None else ((REQUEST_ID_HEADER, request_id),)
            outcome = finished(self._hot, self._endpoint, given, outcome)
            request_id = None
        if not self.disconnected:
            self._protocol.send(outcome, self.keep_alive, request_id)
            self._protocol.on_response_complete()
