"""A connection: the ways in give one answer, in order, and end as they should."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any
from uuid import UUID

import attrs
import orjson
import pytest
from structlog.testing import capture_logs
from tests.server.serving import Served
from uvicorn.server import ServerState

from tidegate.config import ServerSettings
from tidegate.server.connection.bounds import MAX_HELD_BYTES, Bounds
from tidegate.server.connection.protocol import Protocol
from tidegate.server.connection.reception import Reception
from tidegate.server.hot.admission import Admission
from tidegate.server.hot.hot_path import RUNTIME, HotPath
from tidegate.server.hot.key_ring import ApiKey, KeyRing, make_key
from tidegate.server.hot.metrics import HotMetrics
from tidegate.server.hot.rate_limit import RateLimits
from tidegate.server.http.answer import Answer
from tidegate.server.http.limits import RECEIVE_SECONDS, SEND_SECONDS
from tidegate.server.http.problems import Problem
from tidegate.server.process import KEEP_ALIVE_SECONDS, configuration
from tidegate.server.turns.call import HotCall

PEPPER = bytes(32)
KEY = make_key(bytes(42), PEPPER)
ALLOWED = Answer(b'{"action":{"type":"allow"}}')


class Transport(asyncio.Transport):
    """Keeps what is written, and says what was asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_reading_paused = False
        self.is_closed = False

    def write(self, data: Any) -> None:
        assert not self.is_closed
        self.written += data

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        self.is_reading_paused = True

    def resume_reading(self) -> None:
        self.is_reading_paused = False


@attrs.frozen
class Waiting:
    """Takes admitted calls, and leaves the decision to the test."""

    admission: Admission
    calls: list[HotCall] = attrs.field(factory=list)

    def add(self, call: HotCall) -> None:
        self.calls.extend(self.admission.admit_calls([call]))

    def answer(self, outcome: Answer | Exception = ALLOWED) -> bytes:
        """Decide the only call under way; its body."""
        [call] = self.calls
        assert call.endpoint is RUNTIME
        assert call.key.prefix == KEY.prefix
        self.calls.clear()
        body = call.body
        if outcome is ALLOWED:
            call.decided(ALLOWED.body)
        else:
            call.answer(outcome)
        return body


@attrs.frozen
class Undecided(HotPath):
    """A hot path whose decisions the test makes."""

    queue: Any = attrs.field(init=False)

    @queue.default
    def _make_waiting(self) -> Waiting:
        return Waiting(self.admission)


def keyed(keys: KeyRing, limit: int) -> None:
    """One key in the ring, with a limit of events a minute."""
    hashes = ((KEY.secret_hash, None),)
    keys.replace([ApiKey(UUID(int=1), UUID(int=2), KEY.prefix, limit, hashes)])


@pytest.fixture
def hot(monkeypatch: pytest.MonkeyPatch) -> Undecided:
    """The hot path of the connections, with one key."""
    keys = KeyRing(PEPPER)
    keyed(keys, 60_000)
    nothing: Any = None
    made = Undecided(
        Admission(keys, RateLimits()), nothing, nothing, nothing, HotMetrics(), lambda: "http://t"
    )
    monkeypatch.setattr(Protocol, "hot", made)
    monkeypatch.setattr(Protocol, "bounds", Bounds())
    return made


@attrs.frozen
class Connection:
    """A connection that was just made."""

    protocol: Protocol
    transport: Transport
    loop: asyncio.AbstractEventLoop

    def receive(self, *chunks: bytes) -> None:
        for chunk in chunks:
            self.protocol.data_received(chunk)

    @property
    def sent(self) -> tuple[bytes, set[bytes], bytes]:
        """Status line, headers and body of the one answer there is, which is forgotten."""
        head, _, body = self.transport.written.partition(b"\r\n\r\n")
        status, *headers = head.split(b"\r\n")
        self.transport.written = b""
        assert b"content-length: %d" % len(body) in headers
        return status, set(headers), body


@pytest.fixture
def connection(hot: Undecided) -> Iterator[Connection]:
    """A connection to the hot path and to nothing else."""
    loop = asyncio.new_event_loop()
    protocol = Protocol(
        config=configuration(ServerSettings(), None),
        server_state=ServerState(),
        app_state={},
        _loop=loop,
    )
    made = Connection(protocol, Transport(), loop)
    protocol.connection_made(made.transport)
    yield made
    loop.close()


def request(body: bytes = b"{}", *headers: bytes, key: str = KEY.text, length: int = 0) -> bytes:
    """A hot call in the plain form."""
    lines = (
        b"POST %b HTTP/1.1" % RUNTIME.path.encode(),
        b"host: t",
        b"x-service-api-key: " + key.encode(),
        b"content-type: application/json",
        *headers,
        b"content-length: %d" % (length or len(body)),
    )
    return b"\r\n".join((*lines, b"", body))


def halves(data: bytes) -> tuple[bytes, bytes]:
    """The same bytes in two chunks: no plain form any more."""
    return data[: len(data) // 2], data[len(data) // 2 :]


@pytest.mark.parametrize("headers", [(), (b"x-request-id: a-1",)])
@pytest.mark.parametrize(
    "outcome",
    [
        ALLOWED,
        Answer(b"{}", headers=((b"idempotency-replayed", b"true"),)),
        Problem("empty-payload"),
        Problem("overloaded", headers={"retry-after": "1"}),
    ],
)
def test_both_short_ways_send_the_same(
    connection: Connection, hot: Undecided, headers: tuple[bytes, ...], outcome: Answer | Problem
) -> None:
    """A call in one chunk and one in two have the same answer, of which only fresh ids differ."""
    data = request(b'{"fields":{}}', *headers)
    connection.receive(data)
    assert hot.queue.answer(outcome) == b'{"fields":{}}'
    turn(connection)
    plain = connection.sent
    connection.receive(*halves(data))
    assert hot.queue.answer(outcome) == b'{"fields":{}}'
    turn(connection)
    other = connection.sent
    if headers or isinstance(outcome, Answer):
        assert plain == other
    else:
        assert plain[0] == other[0]
    assert (b"x-request-id: a-1" in plain[1]) == bool(headers)
    assert connection.protocol.server_state.total_requests == 2


def test_the_rest_of_a_limit_is_sent_where_it_is_wanted(
    connection: Connection, hot: Undecided, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of a limit is in every decision's headers when the setting asks for it."""
    connection.receive(request())
    hot.queue.answer()
    assert not any(header.startswith(b"ratelimit") for header in connection.sent[1])
    telling = attrs.evolve(hot, tells_limits=True)
    monkeypatch.setattr(Protocol, "hot", telling)
    for chunks in ((request(),), halves(request())):
        connection.receive(*chunks)
        telling.queue.answer()
        _, headers, _ = connection.sent
        assert b'ratelimit-policy: "api-key";q=60000;w=60;tidegate-burst=6000' in headers
        assert any(header.startswith(b'ratelimit: "api-key";r=59') for header in headers)


def test_a_failure_is_logged_under_the_id_that_the_caller_gets(
    connection: Connection, hot: Undecided
) -> None:
    """A failure is logged under the request id that the caller gets."""
    connection.receive(request())
    with capture_logs() as logged:
        hot.queue.answer(ValueError("unforeseen"))
        turn(connection)
    status, _, body = connection.sent
    assert status == b"HTTP/1.1 500 Internal Server Error"
    assert {each["event"] for each in logged} == {"hot call failed", "refusal"}
    assert {each["request_id"] for each in logged} == {orjson.loads(body)["request_id"]}


def test_a_refused_credential_is_no_decision(connection: Connection, hot: Undecided) -> None:
    """Both ways answer 401, count it, and keep the connection."""
    data = request(key=KEY.text[:-1] + "b")
    for chunks in ((data,), halves(data)):
        connection.receive(*chunks)
        turn(connection)
        assert connection.sent[0] == b"HTTP/1.1 401 Unauthorized"
    assert not hot.queue.calls
    assert hot.metrics.refusals == {"unauthenticated": 2}
    assert not connection.transport.is_closed


def test_a_key_over_its_limit_is_refused(connection: Connection, hot: Undecided) -> None:
    """The plain form counts against the limit as every other form does."""
    keyed(hot.admission.keys, 10)
    connection.receive(request())
    hot.queue.answer()
    assert connection.sent[0] == b"HTTP/1.1 200 OK"
    connection.receive(request())
    turn(connection)
    status, headers, _ = connection.sent
    assert status == b"HTTP/1.1 429 Too Many Requests"
    assert any(each.startswith(b"retry-after: ") for each in headers)


def test_what_looks_like_a_request_in_a_body_is_body(
    connection: Connection, hot: Undecided
) -> None:
    """A chunk in the plain form counts as one only between two requests."""
    inner = request()
    connection.receive(request(b"", length=len(inner)), inner)
    assert hot.queue.answer() == inner


def test_a_chunk_after_half_a_head_is_no_request(connection: Connection, hot: Undecided) -> None:
    """A plain chunk in the middle of a head does not count as a request."""
    connection.receive(b"POST / HTTP/1.1\r\nx", request())
    assert connection.sent[0] == b"HTTP/1.1 400 Bad Request"
    assert not hot.queue.calls
    assert connection.transport.is_closed


def turn(connection: Connection) -> None:
    """Let the loop do what waits."""
    connection.loop.run_until_complete(asyncio.sleep(0))


def test_calls_are_answered_in_the_order_they_came(connection: Connection, hot: Undecided) -> None:
    """A second call that comes before the answer to the first waits for it, unread."""
    connection.receive(request(b'"first"'), request(b'"second"'))
    assert connection.transport.is_reading_paused
    turn(connection)
    assert hot.queue.answer() == b'"first"'
    assert connection.sent[2] == ALLOWED.body
    turn(connection)
    assert hot.queue.answer() == b'"second"'
    assert not connection.transport.is_reading_paused
    connection.receive(request(b'"third"'))
    assert hot.queue.answer() == b'"third"'


def test_a_stop_finishes_the_call_under_way(connection: Connection, hot: Undecided) -> None:
    """A stop answers the call under way and says that the connection ends; an idle one ends at
    once."""
    connection.receive(request())
    connection.protocol.shutdown()
    assert not connection.transport.is_closed
    hot.queue.answer()
    status, headers, body = connection.sent
    assert (status, body) == (b"HTTP/1.1 200 OK", ALLOWED.body)
    assert b"connection: close" in headers
    assert connection.transport.is_closed


def test_a_stop_closes_a_connection_between_two_calls(
    connection: Connection, hot: Undecided
) -> None:
    """The answer to the call before was sent."""
    connection.receive(request())
    hot.queue.answer()
    connection.protocol.shutdown()
    assert connection.transport.is_closed


@pytest.mark.parametrize("first", [ALLOWED, Answer(b"first"), Problem("overloaded")])
def test_a_call_is_answered_once(
    connection: Connection, hot: Undecided, first: Answer | Problem
) -> None:
    """A second answer to one call is not sent."""
    connection.receive(request())
    [call] = hot.queue.calls
    hot.queue.answer(first)
    call.decided(b"stale")
    call.answer(Answer(b"stale"))
    turn(connection)
    assert connection.transport.written.count(b"HTTP/1.1") == 1
    assert b"stale" not in connection.transport.written
    assert connection.protocol.server_state.total_requests == 1


def test_nothing_is_sent_to_a_caller_that_left(connection: Connection, hot: Undecided) -> None:
    """The decision is made and logged; its answer has nobody to go to."""
    connection.receive(request())
    connection.protocol.connection_lost(ConnectionResetError())
    hot.queue.answer()
    assert connection.transport.written == b""


def test_a_caller_that_reads_no_answers_sends_no_calls(
    connection: Connection, hot: Undecided
) -> None:
    """While answers cannot be written nothing is read, so that they do not fill the memory."""
    connection.receive(request())
    connection.protocol.pause_writing()
    hot.queue.answer()
    assert connection.transport.is_reading_paused
    connection.protocol.resume_writing()
    assert not connection.transport.is_reading_paused


def test_an_idle_connection_is_closed(connection: Connection, hot: Undecided) -> None:
    """An idle connection is closed by the time since its last answer; a call under way is never
    late."""
    protocol, loop = connection.protocol, connection.loop
    connection.receive(request())
    protocol.close_if_late(loop.time() + 2 * RECEIVE_SECONDS)
    assert not connection.transport.is_closed
    hot.queue.answer()
    protocol.close_if_late(loop.time() + KEEP_ALIVE_SECONDS - 1)
    assert not connection.transport.is_closed
    protocol.close_if_late(loop.time() + KEEP_ALIVE_SECONDS + 1)
    assert connection.transport.is_closed


def test_where_room_is_needed_a_caller_is_waited_for_less(
    connection: Connection, hot: Undecided, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Idle connections are closed, and requests that trickle refused, in a tenth of the time."""
    protocol, now = connection.protocol, connection.loop.time()
    protocol.close_if_late(now + KEEP_ALIVE_SECONDS / 5)
    assert not connection.transport.is_closed
    monkeypatch.setattr(protocol.bounds, "max_connections", 1)
    connection.receive(request()[:-1])
    protocol.close_if_late(now + RECEIVE_SECONDS / 5)
    assert connection.sent[0] == b"HTTP/1.1 408 Request Timeout"
    assert connection.transport.is_closed


def test_a_caller_that_sends_no_more_gets_its_answer(
    connection: Connection, hot: Undecided
) -> None:
    """The decision is made, and half of the connection is left for it; then it ends."""
    connection.receive(request())
    assert connection.protocol.eof_received()
    hot.queue.answer()
    assert connection.sent[0] == b"HTTP/1.1 200 OK"
    assert connection.transport.is_closed


def test_a_caller_that_sends_no_more_is_not_waited_for(connection: Connection) -> None:
    """Nothing of a request is there, or not all of it."""
    assert not connection.protocol.eof_received()
    connection.receive(request()[:-1])
    assert not connection.protocol.eof_received()


def test_a_request_that_does_not_arrive_is_refused(connection: Connection) -> None:
    """A request that does not arrive whole is refused, on any connection and in any form."""
    connection.receive(request()[:-1])
    connection.protocol.close_if_late(connection.loop.time() + RECEIVE_SECONDS + 1)
    assert connection.sent[0] == b"HTTP/1.1 408 Request Timeout"
    assert connection.transport.is_closed


def test_each_answer_has_the_present_usual_headers(connection: Connection, hot: Undecided) -> None:
    """The date of an answer is of its second."""
    state = connection.protocol.server_state
    for date in (b"Sun, 22 Nov 2026 00:00:00 GMT", b"Sun, 22 Nov 2026 00:00:01 GMT"):
        state.default_headers = [(b"date", date)]
        connection.receive(request())
        hot.queue.answer()
        assert b"date: " + date in connection.sent[1]


def test_without_a_hot_path_every_call_goes_to_the_application(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short ways are turned off, and nothing is lost."""
    monkeypatch.setattr(Protocol, "hot", None)
    asked = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        asked.append((scope["path"], (await receive())["body"]))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def play() -> None:
        connection.receive(request())
        for _ in range(5):
            await asyncio.sleep(0)

    connection.protocol.app = application
    connection.loop.run_until_complete(play())
    assert asked == [(RUNTIME.path, b"{}")]


def test_what_nobody_waits_for_any_more_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller that left before its turn has no work done."""
    monkeypatch.setattr(Protocol, "reception", Reception())
    begun: list[str] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        begun.append(scope["path"])

    async def play() -> None:
        for path in (b"gone", b"there"):
            made = Protocol(configuration(ServerSettings(), application), ServerState(), {})
            made.connection_made(Transport())
            made.data_received(b"GET /%b HTTP/1.1\r\nhost: t\r\n\r\n" % path)
            if path == b"gone":
                made.connection_lost(ConnectionResetError())
        while "/there" not in begun:
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(play(), 10))
    assert begun == ["/there"]


def test_health_is_answered_at_once(connection: Connection) -> None:
    """It waits for no turn; what a body says, or an id, changes nothing of the answer."""
    for more in (b"", b"x-request-id: a-1\r\n", b"content-length: 2\r\n"):
        connection.receive(b"GET /healthz HTTP/1.1\r\nhost: t\r\n" + more + b"\r\n")
        connection.receive(*([b"{}"] if b"length" in more else []))
        status, headers, body = connection.sent
        assert (status, body) == (b"HTTP/1.1 200 OK", b'{"status":"ok"}')
        assert (b"x-request-id: a-1" in headers) == (b"a-1" in more)
    assert not connection.transport.is_closed


def test_both_ways_to_health_send_the_same(served: Served, connection: Connection) -> None:
    """The short way says what the route says, but for ids and the length of the line."""
    connection.receive(b"GET /healthz HTTP/1.1\r\nhost: t\r\n\r\n")
    _, headers, body = connection.sent
    routed = served.http.get("/healthz")
    assert routed.content == body
    own = {each.split(b": ")[0].decode() for each in headers}
    assert own == set(routed.headers) - {"date", "server", "connection"}


def test_of_the_requests_of_many_connections_one_begins_in_a_turn(
    hot: Undecided, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever sends on all of them at once has no turn of the loop for itself."""
    monkeypatch.setattr(Protocol, "reception", Reception())
    begun: list[str] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        begun.append(scope["path"])

    async def play() -> list[int]:
        for number in range(20):
            made = Protocol(configuration(ServerSettings(), application), ServerState(), {})
            made.connection_made(Transport())
            made.data_received(b"GET /%d HTTP/1.1\r\nhost: t\r\n\r\n" % number)
        counts = []
        while len(begun) < 20:
            await asyncio.sleep(0)
            counts.append(len(begun))
        return counts

    counts = asyncio.run(asyncio.wait_for(play(), 10))
    assert max(after - before for before, after in pairwise([0, *counts])) == 1


def test_pipelined_calls_take_the_same_way(connection: Connection, hot: Undecided) -> None:
    """Each is decided once the one before it is answered; nothing else of them is kept."""
    bodies = [b'"%d"' % number for number in range(50)]
    connection.receive(b"".join(request(body) for body in bodies))
    for body in bodies:
        turn(connection)
        assert hot.queue.answer() == body
        assert connection.sent[2] == ALLOWED.body
    assert not connection.transport.is_reading_paused
    assert connection.protocol.bounds.held == 0


def test_refusals_of_a_pipeline_take_a_turn_each(connection: Connection, hot: Undecided) -> None:
    """The refusals of a long pipeline take a turn each and end in no recursion."""
    connection.receive(request(key="bad", length=2) * 2_000)
    turn(connection)
    assert 1 <= connection.transport.written.count(b"HTTP/1.1 401") <= 2
    for _ in range(4_000):
        turn(connection)
    assert connection.transport.written.count(b"HTTP/1.1 401") == 2_000


def test_a_request_behind_a_good_one_is_refused_after_its_answer(
    connection: Connection, hot: Undecided
) -> None:
    """The caller learns of the decision first; then the connection ends."""
    connection.receive(request() + b"no HTTP\r\n\r\n")
    turn(connection)
    assert connection.transport.written == b""
    hot.queue.answer()
    assert connection.sent[0] == b"HTTP/1.1 200 OK"
    turn(connection)
    assert connection.sent[0] == b"HTTP/1.1 400 Bad Request"
    assert connection.transport.is_closed


def test_a_body_that_is_cut_is_read_to_its_end(connection: Connection, hot: Undecided) -> None:
    """A body cut anywhere, of known length or in chunks, is read to its end and no further."""
    chunked = request().replace(b"content-length: 2", b"transfer-encoding: chunked")
    chunked = chunked.removesuffix(b"{}") + b"1;a=b\r\n{\r\n1\r\n}\r\n0\r\nx: y\r\n\r\n"
    data = request() + chunked + request()
    for place in range(len(data)):
        connection.receive(data[place : place + 1])
        for _ in range(2):
            turn(connection)
        if hot.queue.calls:
            assert hot.queue.answer() == b"{}"
            assert connection.sent[0] == b"HTTP/1.1 200 OK"
    assert connection.protocol.server_state.total_requests == 3


def test_bodies_that_do_not_arrive_are_bounded(connection: Connection, hot: Undecided) -> None:
    """Unfinished bodies of all connections share a bound, and dropped ones make room."""
    bounds = connection.protocol.bounds
    connection.receive(request(b"{" * 1_000, length=2_000))
    assert bounds.held == 1_000
    bounds.hold(None, MAX_HELD_BYTES)
    connection.receive(b"{")
    assert connection.sent[0] == b"HTTP/1.1 503 Service Unavailable"
    assert connection.transport.is_closed
    connection.protocol.connection_lost(None)
    assert bounds.held == MAX_HELD_BYTES


def test_requests_that_there_is_no_room_for_are_not_kept(
    connection: Connection, hot: Undecided
) -> None:
    """The one before them is answered, and says that the connection ends."""
    connection.protocol.bounds.hold(None, MAX_HELD_BYTES)
    connection.receive(request() + request())
    hot.queue.answer()
    status, headers, _ = connection.sent
    assert (status, b"connection: close" in headers) == (b"HTTP/1.1 200 OK", True)
    assert connection.transport.is_closed


async def unread(hot: Undecided, taken: float) -> int:
    """A connection over a real socket whose caller sends calls and reads no answers, as many as
    the server takes.

    Args:
        taken: seconds after which the server looks at it again.

    Returns:
        The most bytes that wait to be sent.
    """
    loop = asyncio.get_running_loop()
    theirs, ours = socket.socketpair()
    theirs.setblocking(False)
    protocol = Protocol(
        config=configuration(ServerSettings(), None),
        server_state=ServerState(),
        app_state={},
        _loop=loop,
    )
    await loop.connect_accepted_socket(lambda: protocol, ours)
    data, most, idle = request() * 100, 0, 0
    answer = Answer(b"x" * 10_000)
    with theirs:
        while idle < 50:
            idle += 1
            with suppress(BlockingIOError):
                theirs.send(data)
                idle = 0
            await asyncio.sleep(0)
            if hot.queue.calls:
                hot.queue.answer(answer)
                idle = 0
            most = max(most, protocol.transport.get_write_buffer_size())
        now = loop.time()
        protocol.close_if_late(now)
        assert not protocol.transport.is_closing()
        protocol.close_if_late(now + taken)
        assert protocol.transport.is_closing()
        for _ in range(3):
            await asyncio.sleep(0)
    assert protocol not in protocol.connections
    assert protocol.bounds.held == 0
    return most


def test_answers_that_nobody_takes_end_the_connection(hot: Undecided) -> None:
    """Answers that nobody takes fill no memory, and end the connection."""
    assert asyncio.run(unread(hot, SEND_SECONDS + 1)) < 200_000
