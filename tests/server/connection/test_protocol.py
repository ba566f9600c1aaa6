"""A connection: the ways in give one answer, in order, and end as they should."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import attrs
import orjson
import pytest
from structlog.testing import capture_logs
from tests.server.connection.scene import (
    ALLOWED,
    KEY,
    Connection,
    Transport,
    Undecided,
    halves,
    keyed,
    request,
    turn,
)
from tests.server.serving import Served
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.server import ServerState

from tidegate_server.connection.protocol import Protocol, Shared
from tidegate_server.hot.hot_path import RUNTIME
from tidegate_server.http.answer import Answer
from tidegate_server.http.limits import RECEIVE_SECONDS
from tidegate_server.http.problems import Problem
from tidegate_server.process import KEEP_ALIVE_SECONDS, configuration
from tidegate_server.settings.service import ServerSettings


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
    connection: Connection, hot: Undecided
) -> None:
    """The rest of a limit is in every decision's headers when the setting asks for it."""
    connection.receive(request())
    hot.queue.answer()
    assert not any(header.startswith(b"ratelimit") for header in connection.sent[1])
    telling = attrs.evolve(hot, tells_limits=True)
    connection.protocol.shared.hot = telling
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
    connection: Connection, hot: Undecided
) -> None:
    """Idle connections are closed, and requests that trickle refused, in a tenth of the time."""
    protocol, now = connection.protocol, connection.loop.time()
    protocol.close_if_late(now + KEEP_ALIVE_SECONDS / 5)
    assert not connection.transport.is_closed
    protocol.shared.bounds.max_connections = 1
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


def test_without_a_hot_path_every_call_goes_to_the_application(connection: Connection) -> None:
    """The short ways are turned off, and nothing is lost."""
    connection.protocol.shared.hot = None
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


def test_a_slow_body_wakes_its_reader_once(connection: Connection) -> None:
    """Pieces of a body are gathered; the reader gets them together when the last has come."""
    connection.protocol.shared.hot = None
    messages = []

    async def application(_scope: Any, receive: Any, _send: Any) -> None:
        messages.append(await receive())

    async def play() -> None:
        for piece in (request(b"", length=4), b"{", b" ", b" ", b"}"):
            assert not messages
            connection.receive(piece)
            for _ in range(5):
                await asyncio.sleep(0)

    connection.protocol.app = application
    connection.loop.run_until_complete(play())
    assert messages == [{"type": "http.request", "body": b"{  }", "more_body": False}]


def test_a_large_body_is_taken_while_it_arrives(connection: Connection) -> None:
    """A body over the mark is handed on in parts, so that the rest of it can be read."""
    connection.protocol.shared.hot = None
    size, got = 4 * HIGH_WATER_LIMIT, []

    async def application(_scope: Any, receive: Any, _send: Any) -> None:
        while not got or got[-1]["more_body"]:
            got.append(await receive())

    async def play() -> None:
        connection.receive(request(b"", length=size))
        for _ in range(8):
            connection.receive(bytes(size // 8))
            for _ in range(5):
                await asyncio.sleep(0)
            assert not connection.transport.is_reading_paused

    connection.protocol.app = application
    connection.loop.run_until_complete(play())
    assert len(got) > 1
    assert sum(len(each["body"]) for each in got) == size


def test_a_call_whose_hot_path_ends_before_its_body_comes_goes_on(
    connection: Connection, hot: Undecided
) -> None:
    """The application answers it, and the connection goes on; the hot path never gets the call."""
    asked: list[bytes] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        asked.append((await receive())["body"])
        headers = [(b"content-length", b"0"), (b"x-path", scope["path"].encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    connection.protocol.app = application
    data = request(b'{"fields":{}}')
    for at in range(2):
        connection.protocol.shared.hot = hot
        connection.receive(data[:-5])
        assert not connection.protocol.is_with(hot)
        connection.protocol.shared.hot = None
        connection.receive(data[-5:])
        for _ in range(6):
            turn(connection)
        assert asked == [b'{"fields":{}}'] * (at + 1)
        status, headers, _ = connection.sent
        assert status == b"HTTP/1.1 200 OK"
        assert b"x-path: " + RUNTIME.path.encode() in headers
    assert not hot.queue.calls
    assert not connection.transport.is_closed
    assert connection.protocol.shared.bounds.held.total == 0


def test_what_nobody_waits_for_any_more_does_not_begin(shared: Shared) -> None:
    """A caller that left before its turn has no work done."""
    begun: list[str] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        begun.append(scope["path"])

    async def play() -> None:
        for path in (b"gone", b"there"):
            config = configuration(ServerSettings(), application, shared)
            made = Protocol(shared, config, ServerState(), {})
            made.connection_made(Transport())
            made.data_received(b"GET /%b HTTP/1.1\r\nhost: t\r\n\r\n" % path)
            if path == b"gone":
                made.connection_lost(ConnectionResetError())
        while "/there" not in begun:
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(play(), 10))
    assert begun == ["/there"]


def test_health_is_answered_at_once(connection: Connection) -> None:
    """A health check waits for no turn, and neither its body nor its id changes the answer."""
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
    hot: Undecided, shared: Shared
) -> None:
    """Of requests that many connections send at once, each turn of the loop begins one."""
    begun: list[str] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        begun.append(scope["path"])

    async def play() -> list[int]:
        for number in range(20):
            config = configuration(ServerSettings(), application, shared)
            made = Protocol(shared, config, ServerState(), {})
            made.connection_made(Transport())
            made.data_received(b"GET /%d HTTP/1.1\r\nhost: t\r\n\r\n" % number)
        counts = []
        while len(begun) < 20:
            await asyncio.sleep(0)
            counts.append(len(begun))
        return counts

    counts = asyncio.run(asyncio.wait_for(play(), 10))
    assert max(after - before for before, after in pairwise([0, *counts])) == 1


@pytest.mark.parametrize(
    "line",
    [
        b"GET  /healthz HTTP/1.1",
        b"GET /healthz  HTTP/1.1",
        b"GET   /healthz HTTP/1.1",
        b"GET /healthz HTTP/1.1 ",
        b"GET\t/healthz HTTP/1.1",
        b"GET /healthz#a HTTP/1.1",
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_a_request_line_that_others_could_divide_elsewhere_is_refused(
    connection: Connection, line: bytes, size: int
) -> None:
    """Two spaces in a request line are refused, in one piece and in many; one is answered."""
    for sent, status in ((b"GET /healthz HTTP/1.1", b"200"), (line, b"400")):
        whole = b"\r\n" + sent + b"\r\nhost: t\r\n\r\n"
        connection.receive(*(whole[at : at + size] for at in range(0, len(whole), size)))
        turn(connection)
        assert connection.sent[0].startswith(b"HTTP/1.1 " + status)
