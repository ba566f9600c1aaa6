"""HTTP/1.1 as the server speaks it: uvicorn's protocol with deadlines, bounds and short ways in.

A request takes the first way that knows its form.  A hot call that arrives as one chunk in the
plain form (``PlainForm``) is read in one step.  Every other hot call is read by uvicorn's parser
and answered here, without the ASGI messages between.  Everything else, and a hot call in an unusual
form (pipelined, waiting for ``100 Continue``), takes uvicorn's way to the same application.
``Protocol.hot`` set to None turns the short ways off.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

import httptools
from uuid_utils import uuid7
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from tidegate.evaluation.native import PlainForm
from tidegate.server.answer import Answer
from tidegate.server.hot import ENDPOINTS, problem_answer
from tidegate.server.hot_cycle import HotCycle
from tidegate.server.limits import MAX_BODY_BYTES, MAX_HEADER_BYTES, MAX_HEADERS, RECEIVE_SECONDS
from tidegate.server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from tidegate.server.answer import Header
    from tidegate.server.hot import HotPath

PLAIN = PlainForm(list(ENDPOINTS.items()), MAX_HEADER_BYTES, MAX_BODY_BYTES)
"""The form of a hot call that is read in one step."""
_PATHS = {path.encode(): endpoint for path, endpoint in ENDPOINTS.items()}
_SWEEP_SECONDS = 1.0


class Protocol(HttpToolsProtocol):
    """One connection."""

    cycle: RequestResponseCycle | HotCycle | None  # type: ignore[assignment]
    hot: ClassVar[HotPath | None] = None
    """Set before the server starts."""
    _success: ClassVar[tuple[list[Header], bytes]] = ([], b"")
    """The usual headers, which uvicorn makes anew each second, and a success that begins so."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.receiving_since: float | None = None
        self.idle_since: float | None = None
        self._header_bytes = 0
        self._is_between = True
        """Whether the parser has read nothing of a request, or all of it."""
        self._call = HotCycle(self)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.receiving_since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        hot, cycle = self.hot, self.cycle
        if self._is_between and hot is not None and (cycle is None or cycle.response_complete):
            call = PLAIN.read(data)
            if call is not None and not self.transport.is_closing():
                if self.timeout_keep_alive_task is not None:
                    self._unset_keepalive_if_required()
                self.receiving_since = self.idle_since = None
                self.cycle = self._call
                self._call.take(hot, *call)
                return
        self._is_between = False
        self._unset_keepalive_if_required()
        self._parse(data)

    def _parse(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            [read] = upgrade.args
            self._stay(data[read:])
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")

    def _stay(self, rest: bytes) -> None:
        """Go on with a request that asked for another protocol, as if it had not (RFC 9110, 7.8).

        The parser ends with its headers, and reads no body: another one begins with them again.
        """
        if self.transport.is_closing():
            return
        asked = self.parser
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        line = b"%b %b HTTP/%b" % (asked.get_method(), self.url, asked.get_http_version().encode())
        headers = [header for header in self.headers if header[0] != b"upgrade"]
        self._parse(b"%b\r\n%b\r\n%b" % (line, lines(headers), rest))

    def on_message_begin(self) -> None:
        # What ASGI needs is made in `on_headers_complete`, for the requests that go its way.
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._header_bytes = 0
        self._is_between = False
        self.receiving_since = self.loop.time()
        self.idle_since = None

    def on_url(self, url: bytes) -> None:
        self.url += url
        self._bound(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        name, value = name.lower(), value.rstrip(b" \t")
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
        hosts = sum(name == b"host" for name, _ in self.headers)
        is_old = self.parser.get_http_version() == "1.0"
        if hosts > 1 or not (hosts or is_old) or self.parser.get_method() == b"CONNECT":
            self._refuse("malformed-request")
        if self.transport.is_closing() or self.parser.should_upgrade():
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
        keep_alive = not is_old and self.parser.should_keep_alive()
        self.cycle = self._call
        self._call.begin(self.hot, endpoint, self.headers, keep_alive)

    def on_body(self, body: bytes) -> None:
        if self.cycle is self._call:
            self._call.add(body)
        elif not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self.receiving_since = None
        self._is_between = True
        if self.cycle is self._call:
            self._call.start()
        elif not self.transport.is_closing():
            super().on_message_complete()

    def on_response_complete(self) -> None:
        if self.pipeline or self.cycle is not self._call:
            super().on_response_complete()
            return
        self.server_state.total_requests += 1
        if not self.transport.is_closing():
            if self.flow.read_paused and not self.flow.write_paused:
                self.flow.resume_reading()
            # Instead of a timer a request: `close_late_connections` looks each second.
            self.idle_since = self.loop.time()

    def pause_writing(self) -> None:
        """The caller does not read its answers: take no more calls from it, either."""
        super().pause_writing()
        self.flow.pause_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.pipeline and not self.transport.is_closing():
            self.flow.resume_reading()

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

    def send(self, answer: Answer, keep_alive: bool, request_id: bytes | None = None) -> None:
        """Write an answer, and close the connection unless it is kept.

        Args:
            request_id: the caller's, where the answer does not have one already.
        """
        head = begun(answer.status, answer.content_type, self.server_state.default_headers)
        self._send(head, lines(answer.headers), answer.body, keep_alive, request_id)

    def send_body(self, body: bytes, keep_alive: bool, request_id: bytes | None) -> None:
        """Write the usual answer: a success with a JSON body and no headers of its own."""
        usual = self.server_state.default_headers
        headers, head = Protocol._success
        if headers is not usual:
            head = begun(200, b"application/json", usual)
            Protocol._success = (usual, head)
        if keep_alive and request_id is None:
            self.transport.write(b"%b%d\r\n\r\n%b" % (head, len(body), body))
        else:
            self._send(head, b"", body, keep_alive, request_id)

    def _send(
        self, head: bytes, more: bytes, body: bytes, keep_alive: bool, request_id: bytes | None
    ) -> None:
        if request_id is not None:
            more += b"x-request-id: %b\r\n" % request_id
        if not keep_alive:
            more += b"connection: close\r\n"
        self.transport.write(b"%b%d\r\n%b\r\n%b" % (head, len(body), more, body))
        if not keep_alive:
            self.transport.close()

    def _refuse(self, code: str) -> None:
        """Answer a request that will not be read to its end."""
        if not self.transport.is_closing():
            answer = problem_answer(Problem(code), "/", str(uuid7()))
            self.send(answer, False)


def begun(status: int, content_type: bytes, usual: list[Header]) -> bytes:
    """The head of an answer, up to the length of its body."""
    what = b"%bcontent-type: %b\r\n" % (STATUS_LINE[status], content_type)
    return what + lines(usual) + b"content-length: "


def lines(headers: Iterable[Header]) -> bytes:
    """Headers as they are sent."""
    return b"".join([b"%b: %b\r\n" % header for header in headers])


async def close_late_connections(connections: set[Any]) -> None:
    """Close, each second, the connections whose request is late."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(_SWEEP_SECONDS)
        now = loop.time()
        for connection in list(connections):
            if isinstance(connection, Protocol):
                connection.close_if_late(now)
