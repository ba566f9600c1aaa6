"""HTTP to the service: answers that never end."""

from __future__ import annotations

import asyncio

import pytest
from tests.client.scripted import Received, ScriptedServer

from tidegate.client import transport
from tidegate.client.errors import UnreachableError
from tidegate.client.transport import Transport


async def stall_midway(_received: Received, writer: asyncio.StreamWriter) -> None:
    """Answer less than the length says, and keep the connection."""
    writer.write(b'HTTP/1.1 200 X\r\ncontent-length: 100\r\n\r\n{"action"')
    await writer.drain()
    await asyncio.Event().wait()


def test_an_answer_that_stops_midway_is_not_waited_for(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A damaged length costs the caller a pause, and not all the time that a call may take."""
    monkeypatch.setattr(transport, "SILENCE_SECONDS", 0.05)
    server.script.append(stall_midway)

    async def scene() -> None:
        calls = Transport(server.base_url, "a-key", tls=None, allow_http=False)
        try:
            with pytest.raises(UnreachableError):
                await calls.send("GET", "/", {})
        finally:
            await calls.close()

    asyncio.run(scene())
