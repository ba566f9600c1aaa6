"""Calls of the decision routes as parts of their callers' traces.

With a tracer each is a span, whose trace takes the place of the caller's. Without one the classes
here only say the caller's trace in the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.edge.forward_auth import PATH as AUTHZ
from tidegate_server.authz.authorize import is_for_proxies
from tidegate_server.connection.hot_cycle import HotCycle
from tidegate_server.hot.batch import PATH as BATCH
from tidegate_server.hot.hot_path import ENDPOINTS
from tidegate_server.http.request import path_as_written
from tidegate_server.telemetry.decision_in import decision_in
from tidegate_server.telemetry.trace_context import (
    DECISION,
    TRACEPARENT,
    TRACERESPONSE,
    given_traceparent,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from tidegate_server.connection.hot_cycle import Connection
    from tidegate_server.hot.hot_path import HotPath
    from tidegate_server.http.answer import Answer
    from tidegate_server.http.exchange import Message, Receive, Scope, Send
    from tidegate_server.telemetry.trace_context import Span, Tracer
    from tidegate_server.turns.call import Endpoint, HotCall

_ROUTES = frozenset((*ENDPOINTS, BATCH))


class TracedCycle(HotCycle):
    """A hot call on a connection that is a span.

    Args:
        connection: of the call.
        tracer: makes its span.
    """

    __slots__ = ("_span", "_tracer")

    def __init__(self, connection: Connection, tracer: Tracer) -> None:
        super().__init__(connection)
        self._tracer = tracer
        self._span: Span | None = None

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
        traceparent = self._begin_span(endpoint, traceparent)
        super().take(hot, add, endpoint, credential, request_id, traceparent, body)

    def start(self) -> None:
        if not self._is_started and self._known is None:
            self.traceparent = self._begin_span(self.endpoint, self.traceparent)
        super().start()

    def decided(self, body: bytes) -> None:
        self._end_span(200, body)
        super().decided(body)

    def _send(self, answer: Answer, request_id: bytes | None) -> None:
        self._end_span(answer.status, answer.body)
        super()._send(answer, request_id)

    def _begin_span(self, endpoint: Endpoint, traceparent: bytes | None) -> bytes:
        self._span = self._tracer.begin("POST", endpoint.path, traceparent)
        return self._span.traceparent

    def _end_span(self, status: int, body: bytes) -> None:
        span, self._span = self._span, None
        if span is not None:
            span.end(status, decision_in(body))


class TracedApplication:
    """Answers requests by another application, and says the traces of decision calls.

    Args:
        application: answers.
        tracer: makes spans of the calls; None if they aren't traced here.
    """

    def __init__(self, application: ASGIApp, tracer: Tracer | None) -> None:
        self._application = application
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        route = _route_of(path_as_written(scope))
        if route is None:
            await self._application(scope, receive, send)
            return
        traceparent = given_traceparent(scope["headers"])
        span = None
        if self._tracer is not None:
            span = self._tracer.begin(scope["method"], route, traceparent)
            traceparent = span.traceparent
            headers = [header for header in scope["headers"] if header[0] != TRACEPARENT]
            scope = {**scope, "headers": [*headers, (TRACEPARENT, traceparent)]}
        if traceparent is None:
            await self._application(scope, receive, send)
            return
        status, decision = 500, None
        said = (TRACERESPONSE, traceparent)

        async def answer(message: Message) -> None:
            nonlocal status, decision
            if message["type"] == "http.response.start":
                status, headers = message["status"], dict(message["headers"])
                if DECISION in headers:
                    decision_id, action = headers[DECISION].decode().split()
                    decision = decision_id, action
                others = [header for header in message["headers"] if header[0] != DECISION]
                message = {**message, "headers": [*others, said]}
            elif span is not None and route in ENDPOINTS:
                decision = decision_in(message.get("body", b""))
            await send(message)

        try:
            await self._application(scope, receive, answer)
        finally:
            if span is not None:
                span.end(status, decision)


def _route_of(path: str) -> str | None:
    """Return the route of a decision call; None for every other path."""
    if path in _ROUTES:
        return path
    return AUTHZ if is_for_proxies(path) else None
