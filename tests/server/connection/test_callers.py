"""The caller of a request that a proxy brings."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs
import pytest
from tests.server.connection.scene import Transport, Undecided, request
from uvicorn.server import ServerState

from tidegate.edge.addresses import TrustedProxies
from tidegate_server.connection.bounds import Bounds
from tidegate_server.connection.protocol import Protocol, Shared
from tidegate_server.process import configuration
from tidegate_server.settings.service import ServerSettings

PROXY, STRANGER = "10.0.0.1", "192.0.2.66"


@attrs.define
class World:
    """Connections to an application that notes who asked, and answers when it is told to."""

    loop: asyncio.AbstractEventLoop
    shared: Shared
    seen: list[str | None] = attrs.field(factory=list)
    waiting: list[asyncio.Future[None]] = attrs.field(factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        client = scope["client"]
        self.seen.append(None if client is None else client[0])
        waiting = self.loop.create_future()
        self.waiting.append(waiting)
        await waiting
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def connect(self, peer: str) -> tuple[Protocol, Peer]:
        """A connection from an address; empty for a Unix socket."""
        settings = configuration(ServerSettings(), self, self.shared)
        settings.load()
        protocol = Protocol(
            self.shared, config=settings, server_state=ServerState(), app_state={}, _loop=self.loop
        )
        transport = Peer(peer)
        protocol.connection_made(transport)
        return protocol, transport

    def ask(self, protocol: Protocol, *headers: str) -> None:
        lines = ["GET /api/v1/me HTTP/1.1", "host: t", *headers]
        protocol.data_received("\r\n".join([*lines, "", ""]).encode())
        self.turn()

    def answer(self) -> None:
        for each in self.waiting:
            if not each.done():
                each.set_result(None)
        self.turn()

    def turn(self) -> None:
        for _ in range(10):
            self.loop.run_until_complete(asyncio.sleep(0))


class Peer(Transport):
    """A transport with another end."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = (address, 4711) if address else ""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._address if name == "peername" else default


@pytest.fixture
def world(hot: Undecided, shared: Shared) -> Any:
    """Connections of a server that trusts one proxy, and Unix sockets."""
    shared.proxies = TrustedProxies.of([PROXY, "unix"])
    loop = asyncio.new_event_loop()
    yield World(loop, shared)
    loop.close()


@pytest.mark.parametrize(
    ("peer", "headers", "client"),
    [
        (PROXY, ["x-forwarded-for: 203.0.113.9"], "203.0.113.9"),
        (PROXY, ["X-Forwarded-For: 198.51.100.1, 203.0.113.9"], "203.0.113.9"),
        (PROXY, ["x-forwarded-for: 198.51.100.1", "x-forwarded-for: 203.0.113.9"], "203.0.113.9"),
        (PROXY, ['forwarded: for="[2001:db8::9]:1"'], "2001:db8::9"),
        (PROXY, ["x-forwarded-for: 203.0.113.9", "forwarded: for=198.51.100.1"], PROXY),
        (PROXY, ["x-forwarded-for: nonsense"], PROXY),
        (PROXY, [], PROXY),
        ("", ["x-forwarded-for: 203.0.113.9"], "203.0.113.9"),
        ("", [], None),
        (STRANGER, ["x-forwarded-for: 203.0.113.9", "forwarded: for=203.0.113.9"], STRANGER),
    ],
)
def test_the_caller_is_whom_a_trusted_proxy_names(
    world: World, peer: str, headers: list[str], client: str | None
) -> None:
    """A stranger names nobody; where the proxy names nobody clearly, it is the caller itself."""
    protocol, _ = world.connect(peer)
    world.ask(protocol, *headers)
    assert world.seen == [client]


def test_each_request_of_a_proxy_s_connection_has_a_caller_of_its_own(world: World) -> None:
    """A proxy brings the requests of many clients on one connection."""
    protocol, _ = world.connect(PROXY)
    for client in ("203.0.113.1", "203.0.113.2"):
        world.ask(protocol, f"x-forwarded-for: {client}")
        assert world.shared.bounds.count_of(client) == 1
        world.answer()
        assert world.shared.bounds.count_of(client) == 0
    assert world.seen == ["203.0.113.1", "203.0.113.2"]


def test_a_client_has_its_share_of_a_proxy_s_connections(world: World) -> None:
    """One client's requests through a proxy leave room for those of other clients."""
    world.shared.bounds = Bounds(max_connections=10, max_per_address=2)
    made = [world.connect(PROXY) for _ in range(4)]
    for protocol, _ in made[:3]:
        world.ask(protocol, "x-forwarded-for: 203.0.113.9")
    assert [transport.written[:12] for _, transport in made] == [b"", b"", b"HTTP/1.1 503", b""]
    world.ask(made[3][0], "x-forwarded-for: 203.0.113.10")
    world.answer()
    assert world.seen == ["203.0.113.9", "203.0.113.9", "203.0.113.10"]
    for protocol, _ in made:
        protocol.connection_lost(None)
    assert world.shared.bounds.count_of("203.0.113.9") == 0
    assert not world.shared.bounds._count


def test_a_slow_body_gives_way_to_a_newcomer(world: World, hot: Undecided) -> None:
    """With all connections taken, an unfinished request is refused; calls with a key go on."""
    world.shared.bounds = Bounds(max_connections=4, max_per_address=4)
    keyed, keyed_transport = world.connect(STRANGER)
    keyed.data_received(request())
    hot.queue.answer()
    slow, slow_transport = world.connect(STRANGER)
    slow.data_received(
        b"POST /api/v1/auth/local/token HTTP/1.1\r\nhost: t\r\ncontent-length: 9\r\n"
    )
    busy, busy_transport = world.connect(STRANGER)
    world.ask(busy)
    _, idle_transport = world.connect(STRANGER)
    _, newcomer = world.connect("203.0.113.9")
    assert slow_transport.written.startswith(b"HTTP/1.1 503")
    assert slow_transport.is_closed
    _, another = world.connect("203.0.113.10")
    assert idle_transport.is_closed
    assert not any(each.is_closed for each in (keyed_transport, busy_transport, newcomer, another))
