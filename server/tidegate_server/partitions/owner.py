"""The owner's side of links: it takes gateways' frames, and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from uuid_utils import uuid7

from tidegate_server.hot.given_id import GivenId, with_id
from tidegate_server.hot.handed_on import HandedOnCall
from tidegate_server.hot.hot_path import ENDPOINTS, HotPath
from tidegate_server.http.answer import Answer
from tidegate_server.http.problems import Problem
from tidegate_server.logging import log
from tidegate_server.partitions.frames import FrameProtocol, Kind
from tidegate_server.turns.call import answer, refuse

if TYPE_CHECKING:
    import socket

    from tidegate_server.operators.key_ring import ApiKey


class Owner:
    """The services that an owner offers to gateways.

    Args:
        hot: the hot path the hot path of its partition.
        application: the ASGI application that answers everything here.
        asked: replies to gateways' questions.
    """

    def __init__(
        self, hot: HotPath, application: Any, asked: Callable[[str], Awaitable[Any]]
    ) -> None:
        self.hot = hot
        self.application = application
        self.asked = asked
        self.run = str(uuid7())
        """Identifies this process: a gateway repeats calls only at another one."""
        self._server: asyncio.Server | None = None
        self._connections: set[_Connection] = set()

    async def start(self, listening: socket.socket) -> None:
        """Take connections from a listening Unix socket."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(
            lambda: _Connection(self, self._connections), sock=listening
        )

    async def drain(self, seconds: float) -> None:
        """Wait a while for other workers' requests in progress."""
        tasks = [task for each in self._connections for task in each.tasks.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    async def stop(self) -> None:
        """Stop accepting and close the connections; requests in progress are answered."""
        if self._server is not None:
            self._server.close()
        for each in list(self._connections):
            await each.finish()


class _ForwardedCall(HandedOnCall):
    """A hot call that a gateway forwarded; the gateway adds the request id to usual answers."""

    __slots__ = ("_connection", "_number")

    def __init__(
        self,
        connection: _Connection,
        number: int,
        path: str,
        credential: bytes,
        request_id: bytes | None,
        body: bytes,
        decision_id: bytes,
    ) -> None:
        hot = connection.owner.hot
        super().__init__(hot, ENDPOINTS[path], credential, request_id, body, decision_id)
        self._connection = connection
        self._number = number

    def give(self, made: Answer) -> None:
        self._connection.answered(self._number, made)

    def decided(self, body: bytes) -> None:
        if self._hot.tells_limits:
            self.answer(Answer(body))
        else:
            self._connection.decided(self._number, body)


class _Connection(FrameProtocol):
    """The link of one gateway."""

    def __init__(self, owner: Owner, connections: set[_Connection]) -> None:
        super().__init__()
        self.owner = owner
        self._connections = connections
        self._numbers: list[int] = []
        self._bodies: list[bytes] = []
        self._loop = asyncio.get_running_loop()
        self.tasks: dict[int, asyncio.Task[None]] = {}
        """Requests in progress, by number."""
        self._given: dict[int, asyncio.Queue[Any]] = {}
        self._beside: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._connections.add(self)
        self.send(Kind.HELLO, self.owner.run)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._connections.discard(self)
        for messages in self._given.values():
            messages.put_nowait({"type": "http.disconnect"})

    async def finish(self) -> None:
        """End the requests and the connection."""
        for task in list(self.tasks.values()):
            task.cancel()
        self._flush()
        if self.transport is not None:
            self.transport.close()

    def taken(self, kind: int, content: list[Any]) -> None:
        if kind == Kind.CALLS:
            self._take(content[1], content[2])
        elif kind == Kind.REQUEST:
            self._begin(content[1], GivenId(content[2], content[3]), content[4])
        elif kind == Kind.GIVEN:
            messages = self._given.get(content[1])
            if messages is not None:
                messages.put_nowait(content[2])
        elif kind == Kind.ASKED:
            self._keep(self._reply(content[1], content[2]))
        elif kind == Kind.PING:
            self.send(Kind.PONG)

    def _take(self, is_repeated: bool, of_turn: list[Any]) -> None:
        number, *columns = of_turn
        hot = self.owner.hot
        add = hot.queue.add
        hot.metrics.handed_on += len(columns[0])
        repeated: list[_ForwardedCall] = []
        for path, credential, request_id, body, decision_id in zip(*columns, strict=True):
            call = _ForwardedCall(self, number, path, credential, request_id, body, decision_id)
            number += 1
            if is_repeated:
                repeated.append(call)
            else:
                add(call)
        if repeated:
            self._keep(self._take_again(repeated))

    async def _take_again(self, calls: list[_ForwardedCall]) -> None:
        """Answer calls that were decided before, and have the others decided."""
        hot = self.owner.hot
        known: dict[bytes, Answer] = {}
        by_key: dict[ApiKey, list[_ForwardedCall]] = {}
        for call in calls:
            # The queue refuses calls with a key that is no longer valid.
            with suppress(Problem):
                call.key = hot.admission.key_of(call.credential)
                by_key.setdefault(call.key, []).append(call)
        try:
            for key, of_key in by_key.items():
                ids = [call.decision_id for call in of_key if call.decision_id is not None]
                known.update(await hot.recorded(key, ids))
        except Exception as error:
            refuse(calls, error)
            return
        log.info("calls that another owner left are taken", calls=len(calls), decided=len(known))
        for call in calls:
            found = known.get(call.decision_id or b"")
            if found is None:
                hot.queue.add(call)
            else:
                answer(call, found)

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    def decided(self, number: int, body: bytes) -> None:
        """Send the answer of a decision, with the others of this turn."""
        if not self._numbers:
            self._loop.call_soon(self._flush)
        self._numbers.append(number)
        self._bodies.append(body)

    def answered(self, number: int, made: Answer) -> None:
        """Send any answer."""
        self.send(Kind.ANSWERED, number, made.status, made.headers, made.body, made.content_type)

    def _flush(self) -> None:
        if self._numbers:
            self.send(Kind.DECIDED, self._numbers, self._bodies)
            self._numbers, self._bodies = [], []

    async def _reply(self, number: int, what: str) -> None:
        try:
            reply = await self.owner.asked(what)
        except Exception:
            log.exception("a gateway's question could not be answered", what=what)
            reply = None
        self.send(Kind.TOLD, number, reply)

    def _begin(self, number: int, given: GivenId, scope: dict[str, Any]) -> None:
        scope["asgi"] = {"version": "3.0", "spec_version": "2.3"}
        scope["headers"] = [(name, value) for name, value in scope["headers"]]
        for name in ("client", "server"):
            if scope[name] is not None:
                scope[name] = tuple(scope[name])
        self._given[number] = asyncio.Queue()
        self.tasks[number] = self._loop.create_task(self._answer(number, with_id(scope, given)))

    async def _answer(self, number: int, scope: dict[str, Any]) -> None:
        messages = self._given[number]

        async def receive() -> Any:
            if self.transport is None:
                return {"type": "http.disconnect"}
            self.send(Kind.RECEIVE, number)
            return await messages.get()

        async def send(message: Any) -> None:
            self.send(Kind.SENT, number, dict(message))

        try:
            await self.owner.application(scope, receive, send)
        except Exception:
            log.exception("a forwarded request failed", path=scope["path"])
        finally:
            self.send(Kind.ENDED, number)
            del self._given[number], self.tasks[number]
