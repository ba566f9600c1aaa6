"""Links to owners over real sockets: at a death of an owner, and as an owner takes what is left."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
from tests.faults.target import Target
from tests.faults.traffic import RUNTIME as PATH
from tests.server.partitions.test_forwarding import callers
from uuid_utils import uuid7

from tidegate.server.framing import framed
from tidegate.server.partitions.forwarding import Forwarding
from tidegate.server.partitions.frames import FrameProtocol, Kind
from tidegate.server.partitions.link import Link

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
        if kind == Kind.CALLS:
            self.into.put_nowait((self, content))


def test_a_call_in_flight_at_a_death_is_asked_of_the_next_owner(tmp_path: Path) -> None:
    """The connection ends with a call in flight; the next process gets it under the same id, and
    its answer is the caller's."""

    async def run() -> None:
        loop, path = asyncio.get_running_loop(), str(tmp_path / "owner.socket")
        taken: asyncio.Queue[tuple[ScriptedOwner, list[Any]]] = asyncio.Queue()

        async def serve(name: str) -> asyncio.Server:
            Path(path).unlink(missing_ok=True)
            return await loop.create_unix_server(lambda: ScriptedOwner(name, taken), path)

        def send(_: int, is_repeated: bool, columns: msgspec.Raw) -> None:
            link.send_calls(is_repeated, columns)

        forwarding = Forwarding(send)
        forwarding.place(1, None)
        link = Link(path, 1, forwarding)
        running = asyncio.create_task(link.run())
        (call,) = callers(1)
        async with asyncio.timeout(SECONDS):
            first = await serve("a")
            forwarding.add(1, [call])
            owner, asked = await taken.get()
            second = await serve("b")
            owner.abort()
            other, again = await taken.get()
            assert (asked[1], again[1]) == (False, True)
            assert (owner.run, other.run) == ("a", "b")
            assert again[2] == asked[2]
            other.send(Kind.DECIDED, [again[2][0]], [b"decided once"])
            while call.text is None:
                await asyncio.sleep(0.001)
        assert call.text == b"decided once"
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        first.close()
        second.close()

    asyncio.run(run())


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
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
        body = msgspec.msgpack.encode([Kind.CALLS, is_repeated, [*columns, [EVENT] * count, ids]])
        self._socket.sendall(framed(body))
        found: dict[int, Any] = {}
        while len(found) < count:
            kind, *content = self._next()
            if kind == Kind.DECIDED:
                found.update(zip(content[0], content[1], strict=True))
            elif kind == Kind.ANSWERED:
                number, status, _, answer, _ = content
                found[number] = answer if status == 200 else status
        return {number - 1: each for number, each in found.items()}

    def close(self) -> None:
        self._socket.close()

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


def test_what_is_asked_again_needs_a_key_that_counts(target: Target) -> None:
    """Nobody gets a recorded answer, or a decision, by a key that is none."""
    gateway, ids = ScriptedGateway(target), [uuid7().bytes]
    gateway.ask(False, ids)
    assert gateway.ask(True, ids, b"tg_aaaaaaaaaaaaaaaa_" + b"b" * 52) == {0: 401}
    gateway.close()
