"""Items 6 and 7 of the attacks: connections that only send."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs
from tests.attack.attack import Attack, Outcome, Scale, encoded
from tests.attack.control import EVENT
from tests.attack.documents import samples
from tests.attack.served import World
from tests.faults.traffic import RUNTIME

CHUNK = 16 * 1024
ENDLESS: dict[str, bytes] = {
    "value": b"GET /healthz HTTP/1.1\r\nhost: attack\r\nx-a: ",
    "name": b"GET /healthz HTTP/1.1\r\nhost: attack\r\nx-",
    "target": b"GET /healthz?",
    "folded": b"POST /api/v1/runtime/mitigation HTTP/1.1\r\nhost: attack\r\nx-service-api-key: ",
}
"""Requests whose header goes on from here."""
CONNECTIONS, INODE = Path("/proc/net/tcp"), 9
"""The system's list of connections, and the position of the inode in a row."""
STANDS_SECONDS = 45.0
"""A connection of which the server took nothing for so long is one that it has to close; before
that it still works off what was sent, some of it into the buffers of the system."""
READ_BYTES = 4_096
"""A pipelining caller reads at most this much of its answers."""


@attrs.define
class Sender:
    """One connection that sends until it may not."""

    base_url: str
    until: float
    ends: Counter[str]

    async def send(self, parts: Iterator[bytes], reads: bool, throttle: float = 0) -> None:
        """Send all parts; then wait, for some seconds past the time, to be closed.

        Args:
            reads: whether what the server answers is taken.
        """
        where = urlsplit(self.base_url)
        connection = socket.socket()
        connection.setblocking(False)
        if not reads:
            # The system also takes bytes on behalf of a caller that does not read.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, READ_BYTES)
        try:
            address = (where.hostname, where.port)
            await asyncio.get_running_loop().sock_connect(connection, address)
            reader, writer = await asyncio.open_connection(sock=connection, limit=READ_BYTES)
        except OSError:
            self.ends["not connected"] += 1
            return
        moved = [time.monotonic()]
        ending = asyncio.create_task(_ended(reader, writer, reads))
        sending = asyncio.create_task(self._write(writer, parts, moved))
        await asyncio.wait({ending}, timeout=self.until + throttle - time.monotonic())
        stands = time.monotonic() - moved[0] > STANDS_SECONDS
        self.ends[ending.result() if ending.done() else "open" if stands else "served"] += 1
        for task in (sending, ending):
            task.cancel()
        await asyncio.gather(sending, ending, return_exceptions=True)
        writer.transport.abort()

    async def _write(
        self, writer: asyncio.StreamWriter, parts: Iterator[bytes], moved: list[float]
    ) -> None:
        """Send, and note when the last part was taken."""
        with suppress(OSError):
            for part in parts:
                writer.write(part)
                await writer.drain()
                moved[0] = time.monotonic()


async def _ended(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reads: bool) -> str:
    """The server's end of the connection: the status it gave, or nothing but the end."""
    first = b""
    with suppress(OSError):
        if reads:
            first = await reader.readline()
            while await reader.read(READ_BYTES):
                pass
        else:
            # A caller that neither reads nor writes does not see the end.
            while not (writer.transport.is_closing() or _has_ended(writer)):
                await asyncio.sleep(1.0)
    return first.split(b" ")[1].decode() if first.startswith(b"HTTP/") else "closed"


def _has_ended(writer: asyncio.StreamWriter) -> bool:
    """Whether no process holds the server's side of a connection any more.

    Its end may stand in the server's system behind answers that nobody takes: then it is not seen
    from here.
    """
    here, there = (writer.get_extra_info(name)[1] for name in ("sockname", "peername"))
    for row in CONNECTIONS.read_text().splitlines()[1:]:
        fields = row.split()
        if fields[1].endswith(f":{there:04X}") and fields[2].endswith(f":{here:04X}"):
            return fields[INODE] == "0"
    return True


@attrs.frozen
class Headers(Attack):
    """Headers without an end."""

    name = "headers"
    what = "200 connections, each with a header that never ends"
    bounds_growth = bounds_peak = True

    base_url: str
    connections: int
    most: int

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Headers:
        return cls(world.base_url, scale.headers, scale.header_bytes)

    async def run(self, until: float) -> Outcome:
        outcome = Outcome()
        sender = Sender(self.base_url, until, outcome.statuses)
        kinds = list(ENDLESS.values())
        await asyncio.gather(
            *(
                sender.send(self._endless(kinds[number % len(kinds)]), reads=True)
                for number in range(self.connections)
            )
        )
        still = outcome.statuses["open"]
        outcome.require(not still, f"{still} endless headers were never refused")
        return outcome

    def _endless(self, begun: bytes) -> Iterator[bytes]:
        yield begun
        for _ in range(self.most // CHUNK):
            yield b"a" * CHUNK


@attrs.frozen
class Pipelining(Attack):
    """Calls whose answers nobody reads."""

    name = "pipelining"
    what = "40 connections, 15 MB of calls in all, no answer is read"
    bounds_growth = bounds_peak = True

    base_url: str
    calls: tuple[bytes, ...]
    connections: int
    each_bytes: int
    throttle: float

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Pipelining:
        tenant = world.tenant("Pipelining")
        world.must(tenant.tokens["Admin"], "PUT", f"{tenant.path}/definitions", samples())
        event: dict[str, Any] = {"request": EVENT["request"]}
        hot = encoded("POST", RUNTIME, json.dumps(event).encode(), api_key=world.key(tenant))
        calls = (encoded("GET", "/healthz"), hot, encoded("GET", "/openapi.json"))
        each = scale.pipelined_bytes // scale.connections
        return cls(world.base_url, calls, scale.connections, each, scale.throttle)

    async def run(self, until: float) -> Outcome:
        outcome = Outcome()
        sender = Sender(self.base_url, until, outcome.statuses)
        await asyncio.gather(
            *(
                sender.send(self._many(self.calls[number % 3]), False, self.throttle)
                for number in range(self.connections)
            )
        )
        still = outcome.statuses["open"]
        late = f"{still} connections that read nothing stand and were never closed"
        outcome.require(not (still and self.throttle), late)
        return outcome

    def _many(self, call: bytes) -> Iterator[bytes]:
        at_once = max(CHUNK // len(call), 1)
        for _ in range(self.each_bytes // (at_once * len(call))):
            yield call * at_once
