"""HTTP/1.1 for the server: uvicorn's protocol with its own lifecycle.

A connection has one request at a time, in a known stage. Bytes after that request are kept
unparsed, and nothing more is read until it is answered. So answers and refusals are in the order of
the requests, and nobody can make the server hold more than one read. After each request other
connections have their turn of the loop.

A request takes the first path that knows its form. A hot call that arrives as one chunk in the
plain form (``PlainForm``) is read in one step. Every other hot call is read by uvicorn's parser and
answered here, without ASGI messages. Everything else, and a hot call that waits for ``100
Continue``, takes uvicorn's path to the same application. Setting ``Shared.hot`` to None turns the
short paths off. A call whose hot path is not in this process is forwarded to another process if
only its key can get it refused, and takes uvicorn's path otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.utils import get_remote_addr

from tidegate.edge.addresses import TrustedProxies
from tidegate.evaluation.native import PlainForm
from tidegate_server.connection.accept_limit import AcceptLimit
from tidegate_server.connection.bounds import Bounds, share_of
from tidegate_server.connection.framing import body_length, line_problem, piece_end, request_line
from tidegate_server.connection.hot_cycle import HotCycle
from tidegate_server.connection.traced import TracedCycle
from tidegate_server.connection.writing import answer_bytes, lines, refusal, success_bytes
from tidegate_server.hot.admission import credential_of, is_refused_by_key_alone
from tidegate_server.hot.hot_path import ENDPOINTS
from tidegate_server.http.answer import Answer
from tidegate_server.http.headers import DATA_HEADERS
from tidegate_server.http.limits import (
    MAX_BATCH_BYTES,
    MAX_BODY_BYTES,
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    RECEIVE_SECONDS,
    SEND_SECONDS,
)
from tidegate_server.http.problems import Problem
from tidegate_server.telemetry.trace_context import read_traceparent

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from tidegate_server.hot.hot_path import HotPath, HotPaths
    from tidegate_server.telemetry.trace_context import Tracer
    from tidegate_server.turns.call import Endpoint, HotCall

PLAIN = PlainForm(list(ENDPOINTS.items()), MAX_HEADER_BYTES, MAX_BODY_BYTES)
"""The form of a hot call that is read in one step."""
_PATHS = {path.encode(): endpoint for path, endpoint in ENDPOINTS.items()}
_HEALTH = b"/healthz"
HEALTHY = Answer(
    b'{"status":"ok"}',
    headers=tuple((name.lower().encode(), value.encode()) for name, value in DATA_HEADERS.items()),
)
"""The same answer as the route gives to all other requests."""
_PIECES = 1_000
"""Pieces of a request that are read before others get their turn: half a millisecond."""
_SWEEP_SECONDS = 1.0
_CROWDED_PART = 0.1
"""The part of its time that a connection keeps when others need the room."""
_LATER = {"retry-after": "1"}
_NAMING = (b"x-forwarded-for", b"forwarded")
"""Headers by which a proxy names its client."""


class Stage(Enum):
    """The stage of a connection."""

    BETWEEN = auto()
    """No part of the next request has arrived."""
    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    """The request is complete, and not answered."""


# In Python 3.11 each lookup of a member costs a call.
BETWEEN, HEAD, BODY, ANSWER = Stage


@attrs.define(eq=False)
class Shared:
    """The state that all connections of a server share.

    Attributes:
        hot: the hot paths of the process; None turns the short paths off. A node replaces them when
            it gains or loses a partition.
        bounds: the limits of connections.
        proxies: the proxies that are trusted to name the caller.
        reception: where requests wait until they are begun.
        tracer: makes spans of calls; None if they aren't traced here.
    """

    hot: HotPaths | None = None
    bounds: Bounds = attrs.field(factory=Bounds)
    proxies: TrustedProxies = attrs.field(factory=lambda: TrustedProxies.of(()))
    accept_limit: AcceptLimit = attrs.field(factory=AcceptLimit)
    tracer: Tracer | None = None


class Protocol(HttpToolsProtocol):
    """One connection.

    Args:
        shared: the state shared with the server's other connections.
        arguments: of uvicorn.
        options: of uvicorn.
    """

    cycle: RequestResponseCycle | HotCycle | None  # type: ignore[assignment]

    def __init__(self, shared: Shared, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.shared = shared
        self._stage = BETWEEN
        self._since = self.loop.time()
        """When the stage began; kept for stages with a deadline."""
        self._unread_since: float | None = None
        """Since when the caller has left answers unread."""
        self._rest = b""
        self._place = 0
        """Where the unread part of the received bytes begins."""
        self._held = 0
        self._framing = 0
        """Bytes of the head, or of a chunked body since its last content."""
        self._line = b""
        """The request line as it was received."""
        self._left = 0
        """Bytes of the body still to come; -1 if only its chunks tell."""
        self._dropped = 0
        """Bytes of the body that came after the answer."""
        self._is_counted = False
        self._peer: tuple[str, int] | None = None
        self._is_proxied = False
        self._share: str | None = None
        """The caller; behind a trusted proxy it is known from a request's head to its answer."""
        tracer = shared.tracer
        self._call = HotCycle(self) if tracer is None else TracedCycle(self, tracer)

    def is_with(self, hot: HotPath) -> bool:
        """Tell whether a hot path has a call of this connection."""
        return self._call.is_with(hot)

    # The transport's side

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._peer = get_remote_addr(transport)
        self._is_proxied = self.shared.proxies.trust(self._peer[0] if self._peer else "")
        self._share = None if self._is_proxied else share_of(self._peer)
        if self.shared.bounds.enter(self._share, self):
            self._is_counted = True
            super().connection_made(transport)
            return
        self.transport = transport
        self._refuse(Problem("overloaded", "too many connections are open", headers=_LATER))

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._rest, self.cycle = b"", None
        self._account()
        if self._is_counted:
            self._is_counted = False
            self.shared.bounds.leave(self._share, self)

    def give_way(self) -> bool:
        if self._stage is ANSWER or self._call.has_key or self.transport.is_closing():
            return False
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        elif self._stage is BETWEEN:
            self.transport.close()
        else:
            self._refuse(Problem("overloaded", "others need the connection", headers=_LATER))
        return True

    def data_received(self, data: bytes) -> None:
        if self._rest:
            self._keep(self._rest[self._place :] + data, 0)
            return
        if self._stage is BETWEEN and (paths := self.shared.hot) is not None:
            call = PLAIN.read(data)
            if call is not None and not self.transport.is_closing():
                hot = paths.of(call[1])
                add = paths.way_of(call[1]) if hot is None else hot.queue.add
                if add is not None:
                    self._stage = ANSWER
                    self.cycle = self._call
                    endpoint, credential, request_id, sent, body = call
                    trace = None if sent is None else read_traceparent(sent)
                    self._call.take(hot, add, endpoint, credential, request_id, trace, body)
                    return
        self._read(data, 0)

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Handle the end of the caller's data; return whether it still gets its answer."""
        if self._stage is not ANSWER or self.cycle is None or self.scheme == "https":
            return None
        self.cycle.keep_alive = False
        return True

    def pause_writing(self) -> None:
        """Stop taking calls from a caller that doesn't read its answers."""
        super().pause_writing()
        self.flow.pause_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._go_on()

    def close_if_late(self, now: float) -> None:
        """Close when the caller has kept us waiting too long.

        Args:
            now: of the loop's clock, in seconds.
        """
        if self.transport.get_write_buffer_size():
            if self._unread_since is None:
                self._unread_since = now
            elif now - self._unread_since > SEND_SECONDS:
                self.transport.abort()
            return
        self._unread_since = None
        part = _CROWDED_PART if self.shared.bounds.is_crowded else 1.0
        waited = now - self._since
        if self._stage is BETWEEN:
            if waited > self.timeout_keep_alive * part and not self._rest:
                self.transport.close()
        elif self._stage is not ANSWER and waited > RECEIVE_SECONDS * part:
            self._refuse(Problem("request-timeout"))

    # From bytes to requests

    def _read(self, data: bytes, place: int) -> None:
        """Read on, at most to the end of a request; the rest has to wait.

        Args:
            place: where to begin, in bytes.
        """
        is_ended = self._stage is ANSWER
        for _ in range(_PIECES):
            if place == len(data) or is_ended or self.transport.is_closing():
                break
            end = self._piece_end(data, place)
            self._feed(data[place:end])
            place = end
            is_ended = self._stage in (BETWEEN, ANSWER)
        if place < len(data):
            self._keep(data, place)
        elif self._stage is BODY and self.cycle is self._call:
            self._account()
            self._bound()

    def _piece_end(self, data: bytes, place: int) -> int:
        if self._stage is BODY and self._left >= 0:
            return min(len(data), place + max(1, self._left))
        return piece_end(data, place)

    def _feed(self, piece: bytes) -> None:
        """Give the parser a piece, unless too much of it isn't content."""
        if self._stage is BETWEEN:
            self._stage, self._since, self._framing = HEAD, self.loop.time(), 0
            self._line = b""
        # A body of known length has no framing; in chunks, content resets the count.
        if self._left < 0 or self._stage is HEAD:
            self._framing += len(piece)
        if self._stage is HEAD and self._framing > MAX_HEADER_BYTES:
            self._refuse(Problem("headers-too-large"))
            return
        if self._stage is HEAD and not self._line.endswith(b"\n"):
            self._line = request_line(self._line + piece)
        try:
            self._parse(piece)
        except httptools.HttpParserError:
            self._refuse(Problem("malformed-request"))
            return
        if self._framing > MAX_HEADER_BYTES:
            self._refuse(Problem("headers-too-large", "too much of the body is no content"))

    def _parse(self, piece: bytes) -> None:
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            if not self.transport.is_closing():
                self._stay()

    def _stay(self) -> None:
        """Ignore a request's wish for another protocol, and handle it as usual (RFC 9110, 7.8).

        The parser stops after its headers and reads no body, so another parser starts with them
        again.
        """
        asked = self.parser
        self.parser = httptools.HttpRequestParser(self)
        line = b"%b %b HTTP/%b" % (asked.get_method(), self.url, asked.get_http_version().encode())
        headers = [header for header in self.headers if header[0] != b"upgrade"]
        self.parser.feed_data(b"%b\r\n%b\r\n" % (line, lines(headers)))

    def _keep(self, data: bytes, place: int) -> None:
        """Keep bytes that can't be read yet, and stop reading from the caller meanwhile."""
        if self.transport.is_closing():
            return
        self.flow.pause_reading()
        self._rest, self._place = data, place
        self._account()
        if self._stage is not ANSWER:
            self.loop.call_soon(self._go_on)
        elif self.shared.bounds.held.is_full(self._share) and self.cycle is not None:
            self.cycle.keep_alive = False

    def _go_on(self) -> None:
        """Read kept bytes if it is their turn, then more from the caller."""
        if self._stage is ANSWER or self.flow.write_paused or self.transport.is_closing():
            return
        if self._rest:
            data, self._rest = self._rest, b""
            if self._place:
                self._read(data, self._place)
            else:
                self.data_received(data)
            self._account()
        is_asked = self.cycle is self._call or self._body_waiting() <= HIGH_WATER_LIMIT
        if not self._rest and is_asked:
            self.flow.resume_reading()

    def _body_waiting(self) -> int:
        """Return the bytes of a body that arrived and weren't taken."""
        if self.cycle is None or self.cycle.response_complete:
            return 0
        is_taken = self.cycle is self._call and self._stage is ANSWER
        return 0 if is_taken else len(self.cycle.body)

    def _account(self) -> None:
        """Count the bytes held for this connection."""
        held = len(self._rest) + self._body_waiting()
        if held != self._held:
            self.shared.bounds.held.hold(self._share, held - self._held)
            self._held = held

    def _bound(self) -> None:
        if self._held and self.shared.bounds.held.is_full(self._share):
            self._refuse(Problem("overloaded", "too much is under way", headers=_LATER))

    # The parser's side

    def on_message_begin(self) -> None:
        # State for ASGI is created in `on_headers_complete`, for the requests that need it.
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._left = 0

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._stage is BODY:  # a trailer, which is ignored here
            return
        name, value = name.lower(), value.rstrip(b" \t")
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))
        if len(self.headers) > MAX_HEADERS:
            self._refuse(Problem("headers-too-large", f"there are more than {MAX_HEADERS}"))

    def on_headers_complete(self) -> None:
        method, version = self.parser.get_method(), self.parser.get_http_version()
        problem = line_problem(self._line, method, version, self.url)
        length = problem or body_length(method, version, self.url, self.headers)
        if isinstance(length, Problem):
            self._refuse(length)
            return
        if self.transport.is_closing() or self.parser.should_upgrade():
            return
        if self._is_proxied and not self._recognise():
            return
        self._stage = BODY
        self._left = length
        self._framing = self._dropped = 0
        endpoint = _PATHS.get(self.url)
        keep_alive = version != "1.0" and self.parser.should_keep_alive()
        if self.shared.hot is None or self.expect_100_continue:
            self._begin_application()
        elif endpoint is not None and method == b"POST":
            self._begin_hot(endpoint, keep_alive)
        elif self.url == _HEALTH and method == b"GET" and self.scheme == "http":
            # Called each second to end unresponsive connections; it waits for nobody.
            self.cycle = self._call
            self._call.begin_known(HEALTHY, self.headers, keep_alive)
        else:
            self._begin_application()

    def _begin_hot(self, endpoint: Endpoint, keep_alive: bool) -> None:
        hot = self.hot_path()
        if hot is not None:
            self.cycle = self._call
            self._call.begin(hot, endpoint, self.headers, keep_alive)
        elif (way := self._way()) is not None:
            self.cycle = self._call
            self._call.begin_elsewhere(way, endpoint, self.headers, keep_alive)
        else:
            self._begin_application()

    def _way(self) -> Callable[[HotCall], None] | None:
        """Return how to forward a call whose headers arrived; None if the application has to."""
        credential = credential_of(self.headers)
        if self.shared.hot is None or credential is None or not 0 <= self._left <= MAX_BODY_BYTES:
            return None
        return self.shared.hot.way_of(credential) if is_refused_by_key_alone(self.headers) else None

    def hot_path(self) -> HotPath | None:
        """Return the hot path for a call whose headers arrived; None if not in this process now."""
        return None if self.shared.hot is None else self.shared.hot.of(credential_of(self.headers))

    def leave_to_application(self, body: bytes, keep_alive: bool) -> None:
        """Have the application answer a call that has arrived completely."""
        self._begin_application()
        if self.cycle is not None:
            self.cycle.keep_alive = keep_alive
        super().on_body(body)
        super().on_message_complete()
        self._account()

    def _begin_application(self) -> None:
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers += headers
        super().on_headers_complete()

    def _recognise(self) -> bool:
        """Identify the caller that the proxy names; return whether there is room for it."""
        named = [[v.decode("latin-1") for n, v in self.headers if n == name] for name in _NAMING]
        peer = self._peer[0] if self._peer else ""
        address = self.shared.proxies.client(peer, *named)
        # If no caller is named clearly, the proxy itself is the caller.
        self.client = (address, 0) if address and address != peer else self._peer
        if self._belongs_to(share_of(self.client)):
            return True
        self._refuse(Problem("overloaded", "too many connections are open", headers=_LATER))
        return False

    def _belongs_to(self, share: str | None) -> bool:
        """Count the connection and its held bytes for a caller; False if it has too many."""
        if share == self._share or not self._is_counted:
            return True
        if not self.shared.bounds.move(self._share, share, self):
            return False
        held = self._held
        self.shared.bounds.held.hold(self._share, -held)
        self.shared.bounds.held.hold(share, held)
        self._share = share
        return True

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self.take_up_later(partial(self._begin, cycle, app))

    def _begin(self, cycle: RequestResponseCycle, app: Any) -> None:
        if not cycle.disconnected:  # It was refused meanwhile, or the caller has gone.
            super()._start_asgi_task(cycle, app)

    def take_up_later(self, work: Callable[[], None]) -> None:
        """Do something for the caller when it is the turn of its address."""
        self.shared.accept_limit.add(self.loop, self._share, work)

    def on_body(self, body: bytes) -> None:
        if self._left >= 0:
            self._left -= len(body)
        self._framing = 0
        if self.transport.is_closing():
            return
        if self.cycle is self._call:
            self._call.add(body)
            return
        if self.cycle is None:
            return
        if self.cycle.response_complete:
            self._dropped += len(body)
            if self._dropped > MAX_BATCH_BYTES:
                self.transport.close()
            return
        self.cycle.body += body
        # Readers need the whole body. uvicorn wakes them for each piece, and then thousands of slow
        # bodies hold the loop. A body over the mark has to be taken before more of it is read.
        if len(self.cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
            self.cycle.message_event.set()
        self._account()
        self._bound()

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade() or self.transport.is_closing():
            return
        self._stage = ANSWER
        if self.cycle is self._call:
            self._call.start()
        elif self.cycle is not None and self.cycle.response_complete:
            self._next()  # It was answered before it was complete.
        else:
            super().on_message_complete()

    # Answers

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self._stage is ANSWER and not self.transport.is_closing():
            self._next()

    def _next(self) -> None:
        """Go on after a request that is complete and answered."""
        self._stage = BETWEEN
        if self._is_proxied:
            self._belongs_to(None)
        # Instead of a timer a request: `close_late_connections` looks each second.
        self._since = self.loop.time()
        if self._held or self.flow.read_paused:
            self._account()
            if self._rest:
                # A caller that doesn't wait for answers gets its share of each turn, too.
                self.take_up_later(self._go_on)
            else:
                self._go_on()

    def send(self, answer: Answer, keep_alive: bool, request_id: bytes | None = None) -> None:
        """Write an answer, and close the connection unless it is kept.

        Args:
            request_id: the caller's, if the answer doesn't have one already.
        """
        usual = self.server_state.default_headers
        self.transport.write(answer_bytes(answer, usual, keep_alive, request_id))
        if not keep_alive:
            self.transport.close()

    def send_body(self, body: bytes, keep_alive: bool, request_id: bytes | None) -> None:
        """Write the usual answer: a success with a JSON body and no headers of its own."""
        usual = self.server_state.default_headers
        self.transport.write(success_bytes(body, usual, keep_alive, request_id))
        if not keep_alive:
            self.transport.close()

    def _refuse(self, problem: Problem) -> None:
        """Answer a request that won't be read to its end, and close."""
        if self.transport.is_closing():
            return
        if self._stage is BODY and self.cycle is not None:
            if not isinstance(self.cycle, HotCycle) and self.cycle.response_started:
                self.transport.close()  # It has its answer, or part of it.
                return
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.shared.hot is not None:
            self.shared.hot.metrics.refused(problem.code)
        self.send(refusal(problem), False)


async def close_late_connections(connections: set[Any]) -> None:
    """Close late connections each second."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(_SWEEP_SECONDS)
        now = loop.time()
        for connection in list(connections):
            if isinstance(connection, Protocol):
                connection.close_if_late(now)
