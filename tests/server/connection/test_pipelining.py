"""Requests sent ahead of their answers: one at a time, and bounded."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import attrs
from tests.server.connection.scene import (
    ALLOWED,
    KEY,
    PEPPER,
    Connection,
    Undecided,
    halves,
    keyed,
    request,
    turn,
)
from uvicorn.server import ServerState

from tidegate_server.connection.accept_limit import PAUSE_SECONDS
from tidegate_server.connection.bounds import MAX_HELD_BYTES
from tidegate_server.connection.protocol import Protocol, Shared
from tidegate_server.hot.admission import Admission
from tidegate_server.hot.hot_path import HotPath
from tidegate_server.hot.metrics import HotMetrics
from tidegate_server.hot.rate_limit import RateLimits
from tidegate_server.http.answer import Answer
from tidegate_server.http.limits import SEND_SECONDS
from tidegate_server.operators.key_ring import KeyRing, make_key
from tidegate_server.process import configuration
from tidegate_server.settings.service import ServerSettings
from tidegate_server.turns.call import HotCall


def test_pipelined_calls_take_the_same_way(connection: Connection, hot: Undecided) -> None:
    """A pipelined call is decided once the one before it is answered, and is not kept."""
    bodies = [b'"%d"' % number for number in range(50)]
    connection.receive(b"".join(request(body) for body in bodies))
    for body in bodies:
        turn(connection)
        assert hot.queue.answer() == body
        assert connection.sent[2] == ALLOWED.body
    assert not connection.transport.is_reading_paused
    assert connection.protocol.shared.bounds.held.total == 0


@attrs.frozen
class ByCredential:
    """Several hot paths, by the credentials whose calls they decide on."""

    paths: Mapping[bytes, HotPath]
    ways: Mapping[bytes, Callable[[HotCall], None]] = attrs.field(factory=dict)
    metrics: HotMetrics = attrs.field(factory=HotMetrics)

    def of(self, credential: bytes | None) -> HotPath | None:
        return self.paths.get(credential or b"")

    def way_of(self, credential: bytes) -> Callable[[HotCall], None] | None:
        return self.ways.get(credential)


def test_a_pipeline_over_several_hot_paths_is_answered_in_order(
    connection: Connection, hot: Undecided
) -> None:
    """A call goes to the hot path of its key, to another process or to the application, and the
    next begins once it is answered."""
    new, keys = make_key(bytes(range(42)), PEPPER), KeyRing(PEPPER)
    keyed(keys, 60_000, new)
    other = attrs.evolve(hot, admission=Admission(keys, RateLimits()))
    other_key = new.text
    away: list[HotCall] = []
    by_credential = ByCredential(
        {KEY.text.encode(): hot, other_key.encode(): other}, {b"away": away.append}
    )
    connection.protocol.shared.hot = by_credential

    async def application(scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    connection.protocol.app = application
    ways = [KEY.text, other_key, "unknown", "away", KEY.text, "away", "away", "unknown", other_key]
    ways += [other_key, KEY.text]
    requests = [request(b'"%d"' % at, key=key) for at, key in enumerate(ways)]
    for pieces in ([b"".join(requests)], [piece for each in requests for piece in halves(each)]):
        connection.receive(*pieces)
        for at, key in enumerate(ways):
            body = b'"%d"' % at
            for _ in range(6):
                connection.loop.run_until_complete(asyncio.sleep(PAUSE_SECONDS))
            if key == "away":
                [call] = away
                assert (call.credential, call.body) == (b"away", body)
                assert not any(connection.protocol.is_with(each) for each in (hot, other))
                assert connection.transport.written == b""
                away.clear()
                call.pass_on(Answer(body))
            elif key != "unknown":
                deciding, idle = (hot, other) if key == KEY.text else (other, hot)
                assert not idle.queue.calls
                assert connection.protocol.is_with(deciding)
                assert not connection.protocol.is_with(idle)
                [call] = deciding.queue.calls
                assert call.body == body
                assert connection.transport.written == b""
                deciding.queue.calls.clear()
                call.decided(body)
            assert connection.sent[2] == body
        assert not connection.protocol.is_with(hot)
    assert connection.protocol.server_state.total_requests == 2 * len(ways)


def test_refusals_of_a_pipeline_take_a_turn_each(connection: Connection, hot: Undecided) -> None:
    """The refusals of a long pipeline take a turn each and end in no recursion."""
    connection.receive(request(key="bad", length=2) * 2_000)
    turn(connection)
    assert 1 <= connection.transport.written.count(b"HTTP/1.1 401") <= 2
    turns, end = 1, time.monotonic() + 30
    while connection.transport.written.count(b"HTTP/1.1 401") < 2_000:
        assert time.monotonic() < end
        turn(connection)
        turns += 1
    assert turns >= 1_000


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
    bounds = connection.protocol.shared.bounds
    connection.receive(request(b"{" * 1_000, length=2_000))
    assert bounds.held.total == 1_000
    bounds.held.hold(None, MAX_HELD_BYTES)
    connection.receive(b"{")
    assert connection.sent[0] == b"HTTP/1.1 503 Service Unavailable"
    assert connection.transport.is_closed
    connection.protocol.connection_lost(None)
    assert bounds.held.total == MAX_HELD_BYTES


def test_requests_that_there_is_no_room_for_are_not_kept(
    connection: Connection, hot: Undecided
) -> None:
    """The one before them is answered, and says that the connection ends."""
    connection.protocol.shared.bounds.held.hold(None, MAX_HELD_BYTES)
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
    shared = Shared(hot)
    protocol = Protocol(
        shared,
        config=configuration(ServerSettings(), None, shared),
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
    assert protocol.shared.bounds.held.total == 0
    return most


def test_answers_that_nobody_takes_end_the_connection(hot: Undecided) -> None:
    """Answers that nobody takes fill no memory, and end the connection."""
    assert asyncio.run(unread(hot, SEND_SECONDS + 1)) < 200_000
