"""A gateway's connection to the owner of another partition.

Hot calls go through ``forwarding.py``, which asks the next owner if one dies. Other requests wait a
few seconds while there is no owner. A request that was sent when its owner died goes to the next
owner too, if it may run again: batches under their previous ids, reads, and changes with an
idempotency key. Any other change is refused, as its outcome is unknown.
"""

from __future__ import annotations

import asyncio
import time
from enum import Enum
from typing import TYPE_CHECKING, Any

import attrs
from uuid_utils import uuid7

from tidegate_server.hot.hot_path import refusal
from tidegate_server.http.answer import Answer
from tidegate_server.http.exchange import respond
from tidegate_server.http.problems import OUTCOME_NOT_KNOWN, problem_of_reason
from tidegate_server.http.request import path_as_written
from tidegate_server.logging import log
from tidegate_server.partitions.forwarding import MOST_BYTES, away
from tidegate_server.partitions.frames import FrameProtocol, Kind, frame
from tidegate_server.routing import retry_policy

if TYPE_CHECKING:
    import msgspec

    from tidegate_server.http.exchange import Message, Receive, Scope, Send
    from tidegate_server.http.problems import Problem
    from tidegate_server.partitions.forwarding import Forwarding
    from tidegate_server.turns.call import HotCall

MOST_REQUESTS = 4_096
"""The most requests in progress at one owner; further ones are refused."""
SILENT_SECONDS = 5.0
"""An owner that stays silent this long is given up."""
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


class _Event(Enum):
    """Events of a request other than its owner's frames."""

    LOST = "the connection to the owner ended"
    OVER = "no owner is waited for any more"


@attrs.define(eq=False)
class _Request:
    """A request of the control plane, or a batch, in progress at the owner."""

    number: int
    scope: Scope
    receive: Receive
    send: Send
    is_repeatable: bool
    """Whether to ask the next owner if this one dies."""
    id: bytes = attrs.field(factory=lambda: uuid7().bytes)
    """The id that its decisions are made under."""
    events: asyncio.Queue[tuple[Kind | _Event, Any]] = attrs.field(factory=asyncio.Queue)
    asked_of: str | None = None
    """The run of the last owner that was asked."""
    is_with_owner: bool = False
    is_started: bool = False
    given: list[Message | None] = attrs.field(factory=list)
    """The caller's messages, kept for the next owner; None for those that aren't kept."""
    place: int = 0
    """The index of the message that the owner wants next."""
    turn: asyncio.Lock = attrs.field(factory=asyncio.Lock)
    """Only one message of the caller is awaited at a time."""


class Link:
    """The connection to one owner; use it only on the event loop's thread.

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
        self._run = ""
        self._kept_bytes = 0
        self._requests: dict[int, _Request] = {}
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._heard = time.monotonic()

    # The gateway's calls

    def send_calls(self, is_repeated: bool, columns: msgspec.Raw) -> None:
        """Hand over hot calls, in the form of :mod:`~tidegate_server.partitions.frames`."""
        self._send(frame(Kind.CALLS, is_repeated, columns))

    async def forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the owner answer a request."""
        if self._is_full():
            await respond(send, refusal(away(), path_as_written(scope), scope["headers"]))
            return
        self._note_use()
        self._number += 1
        number = self._number
        path = path_as_written(scope)
        is_repeatable = retry_policy.is_repeatable(scope["method"], path, scope["headers"])
        request = _Request(number, scope, receive, send, is_repeatable)
        self._requests[number] = request
        try:
            self._hand_over(request)
            await self._serve(request)
        finally:
            del self._requests[number]
            self._kept_bytes -= sum(_size(each) for each in request.given)

    async def ask(self, what: str) -> Any:
        """Ask the owner a question; return its reply.

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
        """Maintain the connection, for as long as the service runs."""
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

    # Maintaining the connection

    async def _look(self) -> None:
        """Give up an owner that is silent, or gone while something waits for it."""
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
        # Until the owner greets, it may be a dead one that the next will replace.
        self._waiting.append(data)
        self._waiting_bytes += len(data)

    def opened(self, connection: _Connection) -> None:
        """Note a connection that the owner hasn't noticed yet."""
        self._open = connection

    def greeted(self, run: str) -> None:
        """Note that the owner takes calls.

        Args:
            run: identifies its process.
        """
        self._heard = time.monotonic()
        self._run = run
        self._forwarding.place(self.partition, run)
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if waiting:
            self._send(b"".join(waiting))
        for request in self._requests.values():
            if not request.is_with_owner:
                self._hand_over(request)

    def lost(self, connection: _Connection) -> None:
        """Note that the connection ended; requests for an owner keep waiting."""
        if self._open is not connection:
            return
        self._open = None
        if connection.is_greeted:
            self._forwarding.place(self.partition, None)
            self._end(_Event.LOST)

    def _fail(self) -> None:
        """Refuse all requests in progress."""
        self._waiting, self._waiting_bytes = [], 0
        self._end(_Event.OVER)

    def _end(self, event: _Event) -> None:
        for request in self._requests.values():
            request.events.put_nowait((event, self._run))
        for reply in list(self._asked.values()):
            if not reply.done():
                reply.set_exception(away())

    def taken(self, kind: int, content: list[Any]) -> None:
        """Take a frame from the owner."""
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
                message = content[2] if kind == Kind.SENT else None
                request.events.put_nowait((Kind(kind), message))
        elif kind == Kind.TOLD:
            reply = self._asked.get(content[1])
            if reply is not None and not reply.done():
                reply.set_result(content[2])

    # One request

    def _hand_over(self, request: _Request) -> None:
        """Send a request to the owner, or to the next one that greets."""
        if not self.is_up:
            return
        if request.asked_of == self._run:
            # The connection ended, but not the owner: nobody knows what it does.
            request.events.put_nowait((_Event.OVER, None))
            return
        is_repeated, request.asked_of = request.asked_of is not None, self._run
        request.is_with_owner, request.place = True, 0
        scope = {name: request.scope.get(name) for name in _SCOPE}
        self._send(frame(Kind.REQUEST, request.number, request.id, is_repeated, scope))

    async def _serve(self, request: _Request) -> None:
        """Pass messages between caller and owner, until the request is answered."""
        giving: set[asyncio.Task[None]] = set()
        is_whole = False
        try:
            while True:
                kind, message = await request.events.get()
                if kind in (Kind.ENDED, _Event.OVER):
                    break
                if kind is _Event.LOST:
                    if not request.is_with_owner or message != request.asked_of:
                        continue
                    if request.is_started or not request.is_repeatable:
                        break
                    request.is_with_owner = False
                    self._hand_over(request)
                    continue
                if kind is Kind.RECEIVE:
                    # The owner may answer while it waits for the caller.
                    task = asyncio.create_task(self._give(request, request.place))
                    request.place += 1
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
            scope, problem = request.scope, _unanswered(request)
            await respond(request.send, refusal(problem, path_as_written(scope), scope["headers"]))
        elif not is_whole:
            raise ConnectionError("the owner ended before its answer was whole")

    async def _give(self, request: _Request, place: int) -> None:
        """Send one of the caller's messages to the owner."""
        owner = request.asked_of
        async with request.turn:
            while len(request.given) <= place:
                request.given.append(await request.receive())
                self._kept_bytes += _size(request.given[-1])
            message = request.given[place]
            if self._kept_bytes > MOST_BYTES:
                request.is_repeatable = False
            if not request.is_repeatable:
                self._kept_bytes -= _size(message)
                request.given[place] = None
        if request.is_with_owner and request.asked_of == owner and message is not None:
            self._send(frame(Kind.GIVEN, request.number, dict(message)))


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


def _size(message: Message | None) -> int:
    return 0 if message is None else len(message.get("body", b""))


def _unanswered(request: _Request) -> Problem:
    """Return why a request has no answer."""
    if request.asked_of is None or request.is_repeatable:
        return away()
    return problem_of_reason(OUTCOME_NOT_KNOWN)
