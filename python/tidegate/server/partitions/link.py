"""A gateway's connection to the owner of another partition.

Hot calls go through ``forwarding.py``, which asks the next owner where one dies.  Other requests
wait while there is no owner, for a few seconds.  One that was sent when the connection ended is
refused: nobody knows what became of it, as when one process dies.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import attrs
from uuid_utils import uuid7

from tidegate.server.hot.hot_path import problem_answer
from tidegate.server.http.answer import Answer
from tidegate.server.http.exchange import respond
from tidegate.server.http.headers import given_request_id
from tidegate.server.http.request import path_as_written
from tidegate.server.logging import log
from tidegate.server.partitions.forwarding import MOST_BYTES, away
from tidegate.server.partitions.frames import FrameProtocol, Kind, frame

if TYPE_CHECKING:
    import msgspec

    from tidegate.server.http.exchange import Receive, Scope, Send
    from tidegate.server.partitions.forwarding import Forwarding
    from tidegate.server.turns.call import HotCall

MOST_REQUESTS = 4_096
"""Requests that may be under way at one owner; more are refused."""
SILENT_SECONDS = 5.0
"""An owner of which nothing is heard for so long is not waited for."""
TICK_SECONDS = 0.5
RETRY_SECONDS = 0.05
_SCOPE = (
    "type",
    "http_version",
    "method",
    "scheme",
    "path",
    "raw_path",
    "query_string",
    "root_path",
    "headers",
    "client",
    "server",
)


@attrs.define(eq=False)
class _Request:
    """A request of the control plane that is under way at the owner."""

    receive: Receive
    send: Send
    messages: asyncio.Queue[tuple[int, Any]] = attrs.field(factory=asyncio.Queue)
    is_started: bool = False


class Link:
    """The way to one owner; for the event loop's thread only.

    Args:
        path: of the owner's Unix socket.
        partition: its number.
        forwarding: the hot calls of this worker.
    """

    def __init__(self, path: str, partition: int, forwarding: Forwarding) -> None:
        self.partition = partition
        self._forwarding = forwarding
        self._path = path
        self._open: _Connection | None = None
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._number = 0
        self._requests: dict[int, _Request] = {}
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._heard = time.monotonic()

    # What the gateway does

    def send_calls(self, is_repeated: bool, columns: msgspec.Raw) -> None:
        """Hand over hot calls, as :mod:`~tidegate.server.partitions.frames` has them."""
        self._send(frame(Kind.CALLS, is_repeated, columns))

    async def forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the owner answer a request."""
        if self._is_full():
            await respond(send, _refusal(scope))
            return
        self._note_use()
        self._number += 1
        number = self._number
        request = self._requests[number] = _Request(receive, send)
        self._send(frame(Kind.REQUEST, number, {name: scope.get(name) for name in _SCOPE}))
        try:
            await self._serve(number, request, scope)
        finally:
            del self._requests[number]

    async def ask(self, what: str) -> Any:
        """Ask the owner; its reply.

        Raises:
            Problem: it is away.
        """
        self._note_use()
        self._number += 1
        number = self._number
        reply = self._asked[number] = asyncio.get_running_loop().create_future()
        self._send(frame(Kind.ASKED, number, what))
        try:
            return await reply
        finally:
            del self._asked[number]

    async def run(self) -> None:
        """Keep the connection, for as long as the service runs."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                await self._look()
                if self._open is None:
                    try:
                        await loop.create_unix_connection(lambda: _Connection(self), self._path)
                    except OSError:
                        await asyncio.sleep(RETRY_SECONDS)
                        continue
                await asyncio.sleep(TICK_SECONDS)
        finally:
            if self._open is not None and self._open.transport is not None:
                self._open.transport.close()
            self._fail()

    @property
    def is_up(self) -> bool:
        """Whether the owner takes calls."""
        return self._open is not None and self._open.is_greeted

    # How the connection is kept

    async def _look(self) -> None:
        """Give up an owner that is silent, or away while something is wanted of it."""
        if not (self.is_up or self._requests or self._asked):
            return
        if time.monotonic() - self._heard > SILENT_SECONDS:
            log.warning("the owner of a partition does not answer", partition=self.partition)
            if self._open is not None and self._open.transport is not None:
                self._open.transport.abort()
            self._fail()
        elif self.is_up:
            self._send(frame(Kind.PING))

    def _note_use(self) -> None:
        if not (self.is_up or self._requests or self._asked):
            self._heard = time.monotonic()

    def _is_full(self) -> bool:
        if len(self._requests) >= MOST_REQUESTS:
            return True
        held = self._waiting_bytes
        if self._open is not None and self._open.transport is not None:
            held += self._open.transport.get_write_buffer_size()
        return held > MOST_BYTES

    def _send(self, data: bytes) -> None:
        if self._open is not None and self._open.is_greeted and self._open.transport is not None:
            self._open.transport.write(data)
            return
        # Until the owner greets, it may be one that is gone, whose place the next one takes.
        self._waiting.append(data)
        self._waiting_bytes += len(data)

    def opened(self, connection: _Connection) -> None:
        """There is a connection, of which the owner does not know yet."""
        self._open = connection

    def greeted(self, run: str) -> None:
        """The owner takes calls.

        Args:
            run: names its process.
        """
        self._heard = time.monotonic()
        self._forwarding.place(self.partition, run)
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if waiting:
            self._send(b"".join(waiting))

    def lost(self, connection: _Connection) -> None:
        """The connection ended; what waits for an owner goes on waiting."""
        if self._open is not connection:
            return
        self._open = None
        if connection.is_greeted:
            self._forwarding.place(self.partition, None)
            self._fail()

    def _fail(self) -> None:
        """Refuse all requests that are under way."""
        self._waiting, self._waiting_bytes = [], 0
        for request in list(self._requests.values()):
            request.messages.put_nowait((Kind.ENDED, None))
        for reply in list(self._asked.values()):
            if not reply.done():
                reply.set_exception(away())

    def taken(self, kind: int, content: list[Any]) -> None:
        """Take what the owner sends."""
        self._heard = time.monotonic()
        if kind == Kind.DECIDED:
            self._forwarding.decided(content[1], content[2])
        elif kind == Kind.ANSWERED:
            call = self._forwarding.pop(content[1])
            if call is not None:
                status, headers, body, media_type = content[2:]
                given = tuple((name, value) for name, value in headers)
                _pass_on(call, Answer(body, status, given, media_type))
        elif kind in (Kind.RECEIVE, Kind.SENT, Kind.ENDED):
            request = self._requests.get(content[1])
            if request is not None:
                request.messages.put_nowait((kind, content[2] if kind == Kind.SENT else None))
        elif kind == Kind.TOLD:
            reply = self._asked.get(content[1])
            if reply is not None and not reply.done():
                reply.set_result(content[2])

    async def _serve(self, number: int, request: _Request, scope: Scope) -> None:
        """Pass messages between caller and owner, until the request is answered."""
        giving: set[asyncio.Task[None]] = set()
        is_whole = False
        try:
            while True:
                kind, message = await request.messages.get()
                if kind == Kind.ENDED:
                    break
                if kind == Kind.RECEIVE:
                    # The owner may answer while it waits for the caller.
                    task = asyncio.create_task(self._give(number, request.receive))
                    giving.add(task)
                    task.add_done_callback(giving.discard)
                    continue
                request.is_started = True
                if "headers" in message:
                    message["headers"] = [(name, value) for name, value in message["headers"]]
                is_whole = message["type"] == "http.response.body" and not message.get("more_body")
                await request.send(message)
        finally:
            for task in giving:
                task.cancel()
        if not request.is_started:
            await respond(request.send, _refusal(scope))
        elif not is_whole:
            raise ConnectionError("the owner ended before its answer was whole")

    async def _give(self, number: int, receive: Receive) -> None:
        message = await receive()
        self._send(frame(Kind.GIVEN, number, dict(message)))


class _Connection(FrameProtocol):
    """The socket of a link."""

    def __init__(self, link: Link) -> None:
        super().__init__()
        self._link = link
        self.is_greeted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._link.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._link.lost(self)

    def taken(self, kind: int, content: list[Any]) -> None:
        if kind == Kind.HELLO:
            self.is_greeted = True
            self._link.greeted(content[1])
        self._link.taken(kind, content)


def _pass_on(call: HotCall, made: Answer) -> None:
    try:
        call.pass_on(made)
    except Exception:
        log.exception("an answer could not be given")


def _refusal(scope: Scope) -> Answer:
    request_id = given_request_id(scope["headers"]) or str(uuid7())
    return problem_answer(away(), path_as_written(scope), request_id)
