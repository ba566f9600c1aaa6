"""Links to owners over real sockets: at a death of an owner, and as an owner takes what is left."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
from tests.faults.target import Target
from tests.faults.traffic import RUNTIME as PATH
from tests.server.partitions.test_forwarding import callers
from uuid_utils import uuid7

from tidegate_server.framing import framed
from tidegate_server.partitions.forwarding import Forwarding
from tidegate_server.partitions.frames import FrameProtocol, Kind
from tidegate_server.partitions.link import Link

EVENT = orjson.dumps({"request": {"method": "GET", "path": "/", "client_ip": "203.0.113.5"}})
SECONDS = 60.0


class ScriptedOwner(FrameProtocol):
    """An owner that greets, and puts the calls it gets into a queue."""

    def __init__(self, run: str, taken: asyncio.Queue[tuple[ScriptedOwner, list[Any]]]) -> None:
        super().__init__()
        self.run, self.into = run, taken

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.send(Kind.HELLO, self.run)

    def taken(self, kind: int, content: list[Any]) -> None:
        if kind == Kind.REQUEST:
            self.send(Kind.RECEIVE, content[1])
        if kind == Kind.PING:
            self.send(Kind.PONG)
        if kind in (Kind.CALLS, Kind.REQUEST, Kind.GIVEN):
            self.into.put_nowait((self, content))

    def answer(self, number: int, body: bytes) -> None:
        """Answer a request."""
        self.send(Kind.SENT, number, {"type": "http.response.start", "status": 200, "headers": []})
        self.send(Kind.SENT, number, {"type": "http.response.body", "body": body})
        self.send(Kind.ENDED, number)


class Owners:
    """Scripted owners on one path, and the link of a gateway to whichever is there."""

    def __init__(self, place: Path) -> None:
        self.taken: asyncio.Queue[tuple[ScriptedOwner, list[Any]]] = asyncio.Queue()
        self._path = place / "owner.socket"
        self._servers: list[asyncio.Server] = []
        self.forwarding = Forwarding(self._send_calls)
        self.forwarding.place(1, None)
        self.link = Link(str(self._path), 1, self.forwarding)

    def _send_calls(self, _: int, is_repeated: bool, columns: msgspec.Raw) -> None:
        self.link.send_calls(is_repeated, columns)

    async def serve(self, name: str) -> None:
        """Have an owner of this name take the next connection."""
        self._path.unlink(missing_ok=True)
        loop = asyncio.get_running_loop()
        made = lambda: ScriptedOwner(name, self.taken)  # noqa: E731 - a factory
        self._servers.append(await loop.create_unix_server(made, str(self._path)))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The link runs as long as the block, which has its time."""
        running = asyncio.create_task(self.link.run())
        try:
            async with asyncio.timeout(SECONDS):
                yield
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            for each in self._servers:
                each.close()


class Request:
    """A request at the gateway, and its answer."""

    def __init__(self, method: str, path: str, *parts: bytes, **headers: str) -> None:
        self._parts = list(parts) or [b""]
        self.scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [
                (name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()
            ],
            "client": None,
            "server": None,
        }
        self.status, self.headers, self.body = 0, {}, b""

    async def receive(self) -> dict[str, Any]:
        """The next part of the body, and then nothing."""
        if not self._parts:
            await asyncio.get_running_loop().create_future()
        part = self._parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(self._parts)}

    async def send(self, message: Any) -> None:
        """Take a message of the answer."""
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])
        self.body += message.get("body", b"")

    async def through(self, link: Link) -> None:
        """Have the owner answer."""
        await link.forward(self.scope, self.receive, self.send)


def test_a_call_in_flight_at_a_death_is_asked_of_the_next_owner(tmp_path: Path) -> None:
    """The connection ends with a call in flight; the next process gets it under the same id, and
    its answer is the caller's."""

    async def run() -> None:
        owners = Owners(tmp_path)
        (call,) = callers(1)
        async with owners.running():
            await owners.serve("a")
            owners.forwarding.add(1, [call])
            owner, asked = await owners.taken.get()
            await owners.serve("b")
            owner.abort()
            other, again = await owners.taken.get()
            assert (asked[1], again[1]) == (False, True)
            assert (owner.run, other.run) == ("a", "b")
            assert again[2] == asked[2]
            other.send(Kind.DECIDED, [again[2][0]], [b"decided once"])
            while call.text is None:
                await asyncio.sleep(0.001)
        assert call.text == b"decided once"

    asyncio.run(run())


KEYED = {"idempotency_key": "key"}
BATCH = "/api/v1/beacon/events"
REPEATABLE = {
    "batch": ("POST", BATCH, b"[1,", b"2]"),
    "proxy": ("GET", "/authz"),
    "read": ("GET", "/tenants"),
    "keyed change": ("POST", "/api/v1/tenants", b"{}"),
}
NOT_REPEATABLE = {
    "change": (("POST", "/api/v1/tenants", b"{}"), {}),
    "change that takes no key": (("POST", "/api/v1/sync/events", b"{}"), KEYED),
}


@pytest.mark.parametrize("what", REPEATABLE)
def test_a_request_in_flight_at_a_death_is_asked_of_the_next_owner(
    tmp_path: Path, what: str
) -> None:
    """The next process gets the request under the same id, with the body that the first one had,
    and its answer is the caller's."""
    method, path, *parts = REPEATABLE[what]
    asking = Request(method, path, *parts, **(KEYED if what == "keyed change" else {}))

    async def run() -> None:
        owners = Owners(tmp_path)
        async with owners.running():
            await owners.serve("a")
            answering = asyncio.create_task(asking.through(owners.link))
            owner, asked = await owners.taken.get()
            _, given = await owners.taken.get()
            await owners.serve("b")
            owner.abort()
            other, again = await owners.taken.get()
            _, given_again = await owners.taken.get()
            assert (owner.run, other.run) == ("a", "b")
            assert (asked[3], again[3]) == (False, True)
            assert (again[2], again[4]) == (asked[2], asked[4])
            assert given_again[2] == given[2]
            other.answer(again[1], b"once")
            await answering
        assert (asking.status, asking.body) == (200, b"once")

    asyncio.run(run())


@pytest.mark.parametrize("what", NOT_REPEATABLE)
def test_a_change_that_may_have_been_made_is_refused(tmp_path: Path, what: str) -> None:
    """Where no kept answer names the change, nobody is asked again: the refusal says what to do."""
    (method, path, *parts), headers = NOT_REPEATABLE[what]
    asking = Request(method, path, *parts, **headers)

    async def run() -> None:
        owners = Owners(tmp_path)
        async with owners.running():
            await owners.serve("a")
            answering = asyncio.create_task(asking.through(owners.link))
            owner, _ = await owners.taken.get()
            await owners.serve("b")
            owner.abort()
            await answering
            read = Request("GET", "/tenants")
            following = asyncio.create_task(read.through(owners.link))
            other, next_ = await _next_request(owners)
            assert other.run == "b"
            assert next_[4]["method"] == "GET"
            other.answer(next_[1], b"[]")
            await following
        problem = orjson.loads(asking.body)
        assert (asking.status, problem["code"]) == (503, "not-ready")
        assert "may have been made" in problem["detail"]
        assert asking.headers[b"retry-after"] == b"1"

    asyncio.run(run())


def test_an_owner_that_lives_is_asked_for_a_request_once(tmp_path: Path) -> None:
    """Where the connection ends and the process does not, a batch may still be decided: it is
    refused."""

    async def run() -> None:
        owners = Owners(tmp_path)
        batch = Request("POST", BATCH, b"[]")
        async with owners.running():
            await owners.serve("a")
            answering = asyncio.create_task(batch.through(owners.link))
            owner, _ = await owners.taken.get()
            owner.abort()
            await answering
        assert batch.status == 503

    asyncio.run(run())


async def _next_request(owners: Owners) -> tuple[ScriptedOwner, list[Any]]:
    while True:
        owner, content = await owners.taken.get()
        if content[0] == Kind.REQUEST:
            return owner, content


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[Target]:
    """A service of two workers; its tenant lives in the first partition."""
    place = tmp_path_factory.mktemp("link")
    settings = {"TIDEGATE_SERVER_WORKERS": "2", "TIDEGATE_WORKERS_PROCESSES": "1"}
    made = Target.make(place / "data", place / "log", settings)
    yield made
    made.end(signal.SIGTERM)


class ScriptedGateway:
    """A gateway of the first partition's owner."""

    def __init__(self, target: Target) -> None:
        self._key = target.api_key.encode()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(SECONDS)
        self._socket.connect(str(target.directory / "partition-0.socket"))
        assert self._next()[0] == Kind.HELLO

    def ask(self, is_repeated: bool, ids: list[bytes], key: bytes | None = None) -> dict[int, Any]:
        """Outcomes of calls, by their place: an answer's bytes, or the status of a refusal."""
        count = len(ids)
        columns = [1, [PATH] * count, [key or self._key] * count, [None] * count]
        self._send(Kind.CALLS, is_repeated, [*columns, [EVENT] * count, ids])
        found: dict[int, Any] = {}
        while len(found) < count:
            kind, *content = self._next()
            if kind == Kind.DECIDED:
                found.update(zip(content[0], content[1], strict=True))
            elif kind == Kind.ANSWERED:
                number, status, _, answer, _ = content
                found[number] = answer if status == 200 else status
        return {number - 1: each for number, each in found.items()}

    def ask_batch(self, is_repeated: bool, name: bytes, count: int) -> list[dict[str, Any]]:
        """The items of the answer to a batch."""
        number, body = 7, b"[%b]" % b",".join([EVENT] * count)
        request = Request("POST", BATCH, body, content_type="application/json")
        scope = {**request.scope, "path": BATCH, "scheme": "http"}
        scope["headers"].append((b"x-service-api-key", self._key))
        self._send(Kind.REQUEST, number, name, is_repeated, scope)
        made = b""
        while True:
            kind, _, *content = self._next()
            if kind == Kind.RECEIVE:
                message = {"type": "http.request", "body": body, "more_body": False}
                self._send(Kind.GIVEN, number, message)
            elif kind == Kind.SENT:
                made += content[0].get("body", b"")
            elif kind == Kind.ENDED:
                items: list[dict[str, Any]] = orjson.loads(made)
                return items

    def close(self) -> None:
        self._socket.close()

    def _send(self, *content: Any) -> None:
        self._socket.sendall(framed(msgspec.msgpack.encode(content)))

    def _next(self) -> list[Any]:
        read: list[Any] = msgspec.msgpack.decode(self._read(int.from_bytes(self._read(4))))
        return read

    def _read(self, count: int) -> bytes:
        read = b""
        while len(read) < count:
            more = self._socket.recv(count - len(read))
            assert more
            read += more
        return read


def decisions(target: Target) -> list[str]:
    """Ids of the tenant's decisions."""
    found = target.control("GET", f"{target.tenant}/decisions?limit=500").json()
    return [each["decision_id"] for each in found]


def test_what_is_asked_again_is_decided_once(target: Target) -> None:
    """An owner that is asked again answers from its log what is there, with the same bytes, and
    decides the rest under the ids that it got."""
    gateway, ids = ScriptedGateway(target), [uuid7().bytes for _ in range(4)]
    first = gateway.ask(False, ids[:2])
    gateway.close()
    gateway = ScriptedGateway(target)
    again = gateway.ask(True, ids)
    assert (again[0], again[1]) == (first[0], first[1])
    named = [orjson.loads(again[number])["decision_id"].replace("-", "") for number in range(4)]
    assert named == [each.hex() for each in ids]
    assert gateway.ask(True, ids) == again
    found = [each.replace("-", "") for each in decisions(target)]
    assert sorted(each for each in found if each in named) == sorted(named)
    gateway.close()


def test_a_batch_that_is_asked_again_is_decided_once(target: Target) -> None:
    """Each event of a batch has its id of the batch's, so the next owner knows what was decided."""
    gateway, name = ScriptedGateway(target), uuid7().bytes
    first = gateway.ask_batch(False, name, 3)
    again = gateway.ask_batch(True, name, 5)
    assert again[:3] == first
    assert {each["status"] for each in again} == {200}
    assert len({each["item_id"] for each in again}) == 5
    assert gateway.ask_batch(True, name, 5) == again
    gateway.close()


def test_what_is_asked_again_needs_a_key_that_counts(target: Target) -> None:
    """Nobody gets a recorded answer, or a decision, by a key that is none."""
    gateway, ids = ScriptedGateway(target), [uuid7().bytes]
    gateway.ask(False, ids)
    assert gateway.ask(True, ids, b"tg_aaaaaaaaaaaaaaaa_" + b"b" * 52) == {0: 401}
    gateway.close()
