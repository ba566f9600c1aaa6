"""Connections that have to become TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack

import pytest
import uvloop

from tidegate_server.connection.handshakes import Handshakes
from tidegate_server.nodes.certificate import contexts

LISTENING, CALLING = contexts(bytes(32))


class Greeting(asyncio.Protocol):
    """Says hello to those who get as far as a connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.write(b"hello")


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.setblocking(False)
        yield made


def serve(
    listening: socket.socket,
    scene: Callable[[Handshakes], Awaitable[None]],
    most: int = 8,
    seconds: float = 30.0,
) -> None:
    """Play a scene with a port for TLS."""

    async def whole() -> None:
        made = Handshakes(listening, LISTENING, Greeting, most, seconds)
        made.start()
        await scene(made)
        made.close()
        await until(lambda: not made._tasks)

    uvloop.run(whole())


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.005)


def silent(listening: socket.socket) -> socket.socket:
    """A connection that says nothing."""
    made = socket.create_connection(listening.getsockname(), 30)
    made.setblocking(False)
    return made


async def greeted(listening: socket.socket, context: ssl.SSLContext = CALLING) -> bytes:
    """The first words of the server to a caller who speaks TLS."""
    reader, writer = await asyncio.open_connection(*listening.getsockname(), ssl=context)
    said = await reader.readexactly(5)
    writer.close()
    return said


def test_silent_connections_leave_room_for_others(listening: socket.socket) -> None:
    """However many there are, as many as may be stay; the oldest is closed for a newcomer."""

    async def scene(made: Handshakes) -> None:
        loop = asyncio.get_running_loop()
        with ExitStack() as stack:
            first = stack.enter_context(silent(listening))
            await until(lambda: made.unfinished == 1)
            for _ in range(40):
                stack.enter_context(silent(listening))
            async with asyncio.timeout(30):
                assert await loop.sock_recv(first, 1) == b""
                assert await greeted(listening) == b"hello"
            assert made.unfinished <= made.most
            await until(lambda: len(made._tasks) <= made.most)

    serve(listening, scene)


def test_a_handshake_has_a_time(listening: socket.socket) -> None:
    """A connection that stays silent for longer is closed."""

    async def scene(made: Handshakes) -> None:
        with silent(listening) as connection:
            async with asyncio.timeout(30):
                assert await asyncio.get_running_loop().sock_recv(connection, 1) == b""
            assert made.unfinished == 0

    serve(listening, scene, seconds=0.2)


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff", bytes(500)])
def test_other_protocols_are_cut_off(listening: socket.socket, said: bytes) -> None:
    """Bytes that aren't a handshake end the connection and nothing else."""

    async def scene(made: Handshakes) -> None:
        with silent(listening) as connection:
            connection.sendall(said)
            await until(lambda: made.unfinished == 1 or not made._tasks)
            assert await greeted(listening) == b"hello"
        await until(lambda: made.unfinished == 0)

    serve(listening, scene)


def test_a_stranger_has_no_connection(listening: socket.socket) -> None:
    """A certificate is asked for, and the handshake without it holds nothing."""
    stranger = ssl.create_default_context()
    stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE

    async def scene(made: Handshakes) -> None:
        with pytest.raises((OSError, asyncio.IncompleteReadError)):
            await greeted(listening, stranger)
        await until(lambda: made.unfinished == 0)

    serve(listening, scene)


def test_it_goes_on_when_no_file_can_be_opened(
    listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure to accept is tried again after a while."""
    accept = socket.socket.accept
    failures = [OSError(24, "Too many open files")]

    def failing(self: socket.socket) -> tuple[socket.socket, object]:
        if self is listening and failures:
            raise failures.pop()
        return accept(self)

    monkeypatch.setattr(socket.socket, "accept", failing)

    async def scene(_: Handshakes) -> None:
        assert await greeted(listening) == b"hello"
        assert not failures

    serve(listening, scene)
