"""The server process: its sockets and its interpreter."""

from __future__ import annotations

import asyncio
import socket

import structlog.testing
import uvloop

from tidegate_server.process import ACCEPTED_AT_ONCE, accepting, listen, proxies_of
from tidegate_server.settings.service import ServerSettings


def test_a_turn_of_the_loop_accepts_many_connections() -> None:
    """Callers who connect at the same moment are all accepted within one turn of the loop."""
    accepted: list[asyncio.BaseTransport] = []

    class Noting(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted.append(transport)

    async def scene() -> None:
        loop = asyncio.get_running_loop()
        listening = listen(ServerSettings(port=0))
        servers = [await loop.create_server(Noting, sock=each) for each in accepting(listening)]
        address = listening.getsockname()
        callers = [socket.create_connection(address) for _ in range(ACCEPTED_AT_ONCE)]
        # The first turn polls the sockets, the second one calls the protocols.
        for _ in range(2):
            await asyncio.sleep(0)
        assert len(accepted) == ACCEPTED_AT_ONCE
        for each in [*callers, *accepted, *servers]:
            each.close()

    uvloop.run(scene())


def test_a_proxy_that_names_nobody_is_warned_of() -> None:
    """Behind a proxy that isn't trusted all callers are one, and the log says so."""
    with structlog.testing.capture_logs() as said:
        named = proxies_of(ServerSettings(behind_proxy=True, trusted_proxies="10.0.0.0/8, unix"))
        assert not said
        nobody = proxies_of(ServerSettings(behind_proxy=True))
    assert named.client("10.0.0.1", ["203.0.113.9"]) == "203.0.113.9"
    assert nobody.client("10.0.0.1", ["203.0.113.9"]) == "10.0.0.1"
    assert "server.trusted_proxies" in said[0]["event"]
