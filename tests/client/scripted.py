"""A server on a real socket that answers as the script says, byte by byte if it must."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Self, TypeAlias

import attrs

BATCH = "/api/v1/beacon/events"
PROOF = "/api/v1/challenge/proof/verify"
ITEM = {"item_id": "i", "lookup_entity_id": None, "active_mitigation": None}


@attrs.frozen
class Received:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of the body, whether one or a batch."""
        return [json.loads(line) for line in self.body.splitlines()]


Step: TypeAlias = Callable[[Received, asyncio.StreamWriter], Awaitable[None]]


def reply(status: int, content: object, **headers: str) -> Step:
    """Answer with JSON."""

    async def step(_received: Received, writer: asyncio.StreamWriter) -> None:
        body = json.dumps(content).encode()
        kind = "application/problem+json" if status >= 400 else "application/json"
        fields = {"content-type": kind, "content-length": str(len(body)), **headers}
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
        head = "\r\n".join([f"HTTP/1.1 {status} X", *lines, "", ""])
        writer.write(head.encode() + body)

    return step


def problem(status: int, code: str, **headers: str) -> Step:
    """Refuse as the service does."""
    document = {"status": status, "code": code, "detail": f"a {code}", "request_id": "r-1"}
    return reply(status, document, **headers)


def items(*statuses: int) -> Step:
    """Answer a batch, one status an event."""
    return reply(
        200,
        [
            {"status": status, **ITEM}
            if status == 200
            else {"status": status, "problem": {"status": status, "code": f"c-{status}"}}
            for status in statuses
        ],
    )


async def usual(received: Received, writer: asyncio.StreamWriter) -> None:
    """Answer as a service in good health."""
    content: object = {"action": {"type": "allow"}, "reason": "no-match", "decision_id": "d"}
    if received.path == BATCH:
        content = [{"status": 200, **ITEM} for _ in received.events]
    elif received.path == PROOF:
        content = {"valid": True}
    elif "beacon" in received.path:
        content = ITEM
    await reply(200, content)(received, writer)


async def cut(_received: Received, writer: asyncio.StreamWriter) -> None:
    """Close the connection without an answer."""
    writer.close()


async def cut_midway(_received: Received, writer: asyncio.StreamWriter) -> None:
    """Close the connection in the middle of the body."""
    writer.write(b'HTTP/1.1 200 X\r\ncontent-length: 100\r\n\r\n{"action"')
    await writer.drain()
    writer.close()


async def hang(_received: Received, _writer: asyncio.StreamWriter) -> None:
    """Never answer."""
    await asyncio.Event().wait()


async def trickle(_received: Received, writer: asyncio.StreamWriter) -> None:
    """Answer one header after the other, without end."""
    writer.write(b"HTTP/1.1 200 X\r\n")
    while True:
        writer.write(b"x: x\r\n")
        await writer.drain()
        await asyncio.sleep(0.005)


class ScriptedServer:
    """Takes one step of its script for each request, and is in good health after the last."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.script: deque[Step] = deque()
        self.always: Step = usual
        self.received: list[Received] = []
        self._tls = tls
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self.port = 0

    @property
    def base_url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def events(self) -> list[dict[str, Any]]:
        """Every event received, again when it was sent again."""
        return [event for received in self.received for event in received.events]

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_error: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not writer.is_closing():
                received = await _read(reader)
                self.received.append(received)
                step = self.script.popleft() if self.script else self.always
                await step(received, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass  # the client is done
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(head[0].split()[1], headers, body)
