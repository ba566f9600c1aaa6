"""``python -m tests.attack.probe``: the other tenant, and whoever asks ``/healthz``.

Both send at fixed times, whether or not earlier calls were answered, and count the time of an
answer from when its call should have been sent: a server that stops for a second is seen by
every call of that second.  Commands come on standard input, figures go out on standard output.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import os
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import attrs
import uvloop
from tests.attack.expectations import HEALTH_EVERY, RATE

CHANNELS = 8
"""Connections of the other tenant."""
UNANSWERED_SECONDS = 60.0
NICENESS = -5
"""Niceness where the system allows it: the server is measured, not other users of a processor."""
HEALTH = b"GET /healthz HTTP/1.1\r\nhost: probe\r\n\r\n"


@attrs.define
class Series:
    """The answers of one kind of call in one span: milliseconds, statuses, and what got none."""

    took: list[float] = attrs.field(factory=list)
    statuses: Counter[int] = attrs.field(factory=Counter)
    dropped: int = 0
    open: int = 0

    def figures(self) -> dict[str, Any]:
        """Figures for the harness; an open call counts with its waiting time so far."""
        return {
            "took": [round(each, 3) for each in self.took],
            "statuses": {str(status): count for status, count in self.statuses.items()},
            "dropped": self.dropped + self.open,
        }


@attrs.define
class Span:
    """The calls between two commands."""

    series: dict[str, Series] = attrs.field(
        factory=lambda: {name: Series() for name in ("victim", "kept", "fresh")}
    )


@attrs.frozen
class Call:
    """A call: when it should have been sent, and to whose figures it counts."""

    due: float
    series: Series
    request: bytes


class Channel(asyncio.Protocol):
    """One connection, with at most one call on it."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._transport: Any = None
        self._call: Call | None = None
        self._received = b""
        self._wanted = 0

    @property
    def is_open(self) -> bool:
        """Whether a call can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        if self._call is not None:
            self._transport.write(self._call.request)

    def send(self, call: Call) -> None:
        """Send a call, now or when the connection is there."""
        self._call, self._received, self._wanted = call, b"", 0
        if self._transport is not None:
            self._transport.write(call.request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._wanted:
            head, separator, _ = self._received.partition(b"\r\n\r\n")
            if not separator:
                return
            _, _, length = head.lower().partition(b"content-length:")
            self._wanted = len(head) + 4 + int(length.split(b"\r\n", 1)[0] or 0)
        if len(self._received) >= self._wanted and self._call is not None:
            call, self._call = self._call, None
            self._stream.answered(self, call, int(self._received[9:12]))

    def connection_lost(self, exc: Exception | None) -> None:
        call, self._call, self._transport = self._call, None, None
        self._stream.lost(self, call)

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()


class Stream:
    """Calls of one kind, at a rate, over a few connections that are kept, or a new one each."""

    def __init__(self, name: str, address: tuple[str, int], rate: float, channels: int) -> None:
        self._name = name
        self._address = address
        self._every = 1.0 / rate
        self._is_fresh = not channels
        self._room = channels
        self._idle: list[Channel] = []
        self._waiting: deque[Call] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self.span = Span()

    def start(self, requests: Iterator[bytes]) -> None:
        """Send from now on."""
        self._requests = requests
        self._tick(time.monotonic())

    def _tick(self, due: float) -> None:
        # The loop's own clock counts whole milliseconds, and stands still within a turn.
        while due <= time.monotonic():
            series = self.span.series[self._name]
            series.open += 1
            self._waiting.append(Call(due, series, next(self._requests)))
            due += self._every
        self._send()
        asyncio.get_running_loop().call_later(due - time.monotonic(), self._tick, due)

    def _send(self) -> None:
        while self._waiting:
            while self._idle and not self._idle[-1].is_open:
                self._idle.pop()
            if self._idle:
                self._idle.pop().send(self._waiting.popleft())
            elif self._is_fresh or self._room:
                self._room -= not self._is_fresh
                task = asyncio.ensure_future(self._connect(self._waiting.popleft()))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            else:
                return

    async def _connect(self, call: Call) -> None:
        channel = Channel(self)
        channel.send(call)
        try:
            await asyncio.get_running_loop().create_connection(lambda: channel, *self._address)
        except OSError:
            self.lost(channel, call)

    def answered(self, channel: Channel, call: Call, status: int) -> None:
        """Count an answer, and go on with what waits."""
        call.series.open -= 1
        call.series.took.append((time.monotonic() - call.due) * 1000)
        call.series.statuses[status] += 1
        if self._is_fresh:
            channel.close()
            return
        self._idle.append(channel)
        self._send()

    def lost(self, channel: Channel, call: Call | None) -> None:
        """A connection ended: what was on it is dropped, and another takes its place."""
        if call is not None:
            call.series.open -= 1
            call.series.dropped += 1
        if not self._is_fresh:
            self._room += 1


async def probe(base_url: str, requests: list[bytes], commands: asyncio.StreamReader) -> None:
    """Send until the commands end; each ``end`` prints the figures since its ``begin``."""
    where = urlsplit(base_url)
    address = (str(where.hostname), where.port or 80)
    streams = [
        Stream("victim", address, RATE, CHANNELS),
        Stream("kept", address, 1 / HEALTH_EVERY, 1),
        Stream("fresh", address, 1 / HEALTH_EVERY, 0),
    ]
    for stream, sent in zip(streams, (requests, [HEALTH], [HEALTH]), strict=True):
        stream.start(itertools.cycle(sent))
    span = Span()
    while command := (await commands.readline()).strip():
        current, span = span, Span()
        for stream in streams:
            stream.span = span
        if command == b"end":
            deadline = time.monotonic() + UNANSWERED_SECONDS
            while any(each.open for each in current.series.values()):
                if time.monotonic() > deadline:
                    break
                await asyncio.sleep(0.02)
            figures = {name: each.figures() for name, each in current.series.items()}
            print(json.dumps(figures), flush=True)


async def main() -> None:
    """Read the address and the calls from the first line, then obey commands."""
    commands = asyncio.StreamReader(limit=2**26)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(commands), sys.stdin
    )
    given = json.loads(await commands.readline())
    gc.disable()
    await probe(given["base_url"], [each.encode() for each in given["requests"]], commands)


if __name__ == "__main__":
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    uvloop.run(main())
