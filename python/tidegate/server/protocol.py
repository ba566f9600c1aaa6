"""HTTP/1.1 as the server speaks it: uvicorn's protocol with deadlines, bounds and a short way in.

The hot calls are answered here, without the ASGI messages between: about half of the cost of a
request is saved.  Everything else, and a hot call in an unusual form (pipelined, waiting for
``100 Continue``), takes uvicorn's way to the same application.  ``Protocol.hot`` set to None
turns the short way off.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

from uuid_utils import uuid7
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from tidegate.server.hot import ENDPOINTS, Answer, answer_request, finished, problem_answer
from tidegate.server.limits import (
    MAX_BODY_BYTES,
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    RECEIVE_SECONDS,
    too_large,
)
from tidegate.server.problems import Problem

if TYPE_CHECKING:
    from tidegate.server.api_keys import ApiKey
    from tidegate.server.hot import Endpoint, HotPath

_PATHS = {path.encode(): endpoint for path, endpoint in ENDPOINTS.items()}
_SWEEP_SECONDS = 1.0


class Protocol(HttpToolsProtocol):
    """One connection."""

    hot: ClassVar[HotPath | None] = None
    """Set before the server starts."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.receiving_since: float | None = None
        self.idle_since: float | None = None
        self._header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.receiving_since = self.loop.time()

    def on_message_begin(self) -> None:
        # What ASGI needs is made in `on_headers_complete`, for the requests that go its way.
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._header_bytes = 0
        self.receiving_since = self.loop.time()
        self.idle_since = None

    def on_url(self, url: bytes) -> None:
        self.url += url
        self._bound(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        elif name == b"content-length" and value[:1] == b"0" and value != b"0":
            # Others in front of us could read the length as octal, or not at all.
            self._refuse("malformed-request")
        self.headers.append((name, value))
        self._bound(len(name) + len(value))

    def on_headers_complete(self) -> None:
        if len(self.headers) > MAX_HEADERS:
            self._refuse("headers-too-large")
        if self.transport.is_closing():
            return
        endpoint = _PATHS.get(self.url)
        if (
            endpoint is None
            or self.hot is None
            or self.expect_100_continue
            or self.parser.get_method() != b"POST"
            or (self.cycle is not None and not self.cycle.response_complete)
        ):
            url, headers, expects = self.url, self.headers, self.expect_100_continue
            super().on_message_begin()
            self.url, self.expect_100_continue = url, expects
            self.headers += headers
            super().on_headers_complete()
            return
        keep_alive = self.parser.get_http_version() != "1.0" and self.parser.should_keep_alive()
        self.cycle = HotCycle(self, self.hot, endpoint, keep_alive)  # type: ignore[assignment]

    def on_body(self, body: bytes) -> None:
        if isinstance(self.cycle, HotCycle):
            self.cycle.add(body)
        elif not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        self.receiving_since = None
        if isinstance(self.cycle, HotCycle):
            self.cycle.start()
        elif not self.transport.is_closing():
            super().on_message_complete()

    def on_response_complete(self) -> None:
        if self.pipeline or not isinstance(self.cycle, HotCycle):
            super().on_response_complete()
            return
        self.server_state.total_requests += 1
        if not self.transport.is_closing():
            self.flow.resume_reading()
            # Instead of a timer a request: `close_late_connections` looks each second.
            self.idle_since = self.loop.time()

    def close_if_late(self, now: float) -> None:
        """Close when the present request, or the next, has been waited for long enough."""
        if self.receiving_since is not None:
            if now - self.receiving_since > RECEIVE_SECONDS:
                self._refuse("request-timeout")
        elif self.idle_since is not None and now - self.idle_since > self.timeout_keep_alive:
            self.transport.close()

    def _bound(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > MAX_HEADER_BYTES:
            self._refuse("headers-too-large")

    def send_400_response(self, msg: str) -> None:
        """What uvicorn says of that which is no HTTP."""
        del msg
        self._refuse("malformed-request")

    def send(self, answer: Answer, *, keep_alive: bool) -> None:
        """Write an answer, and close the connection unless it is kept."""
        headers = [*self.server_state.default_headers, *answer.headers]
        if not keep_alive:
            headers.append((b"connection", b"close"))
        head = b"%bcontent-type: %b\r\ncontent-length: %d\r\n%b\r\n" % (
            STATUS_LINE[answer.status],
            answer.content_type,
            len(answer.body),
            b"".join([b"%b: %b\r\n" % header for header in headers]),
        )
        self.transport.write(head + answer.body)
        if not keep_alive:
            self.transport.close()

    def _refuse(self, code: str) -> None:
        """Answer a request that will not be read to its end."""
        if not self.transport.is_closing():
            answer = problem_answer(Problem(code), "/", str(uuid7()))
            self.send(answer, keep_alive=False)


class HotCycle:
    """One hot call on a connection: what uvicorn's protocol expects of a cycle, and no more."""

    __slots__ = (
        "_endpoint",
        "_hot",
        "_key",
        "_protocol",
        "_refusal",
        "body",
        "disconnected",
        "headers",
        "keep_alive",
        "message_event",
        "more_body",
        "response_complete",
    )

    def __init__(
        self, protocol: Protocol, hot: HotPath, endpoint: Endpoint, keep_alive: bool
    ) -> None:
        self._protocol = protocol
        self._hot = hot
        self._endpoint = endpoint
        self._key: ApiKey | None = None
        self._refusal: Problem | None = None
        self.headers = protocol.headers
        self.body = b""
        self.keep_alive = keep_alive
        self.more_body = True
        self.disconnected = False
        self.response_complete = False
        self.message_event = _NOTHING
        try:
            self._key = hot.admit(self.headers)
        except Problem as problem:
            self._refusal = problem

    def add(self, body: bytes) -> None:
        """More of the body; what is refused already is not kept."""
        if self._refusal is not None:
            return
        if len(self.body) + len(body) > MAX_BODY_BYTES:
            self._refusal = too_large(MAX_BODY_BYTES)
            self.keep_alive = False
            self.start()
            return
        self.body = self.body + body if self.body else body

    def start(self) -> None:
        """The body is whole, or will not be waited for."""
        if self.response_complete or not self.more_body:
            return
        self.more_body = False
        hot, endpoint, headers = self._hot, self._endpoint, self.headers
        if self._refusal is not None or self._key is None:
            self._send(
                finished(hot, endpoint, headers, self._refusal or Problem("unauthenticated"))
            )
            return
        answer_request(hot, endpoint, headers, self.body, self._key, self._send)

    def _send(self, answer: Answer) -> None:
        if self.response_complete:
            return
        self.response_complete = True
        if self.disconnected:
            return
        self._protocol.send(answer, keep_alive=self.keep_alive)
        self._protocol.on_response_complete()


class _Nothing:
    """Stands where uvicorn's cycles have an event that wakes their reader."""

    def set(self) -> None:
        """Nobody waits."""


_NOTHING = _Nothing()


async def close_late_connections(connections: set[Any]) -> None:
    """Close, each second, the connections whose request is late."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(_SWEEP_SECONDS)
        now = loop.time()
        for connection in list(connections):
            if isinstance(connection, Protocol):
                connection.close_if_late(now)
