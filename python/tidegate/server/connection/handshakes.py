"""Connections that become TLS: bounded in number and time until they are.

The event loop's own server gives a connection to its protocol after the handshake, so nothing
bounds those who connect and stay silent: 9,000 of them took 435 MiB.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

MOST_UNFINISHED = 256
"""Handshakes under way; the oldest gives way to a newcomer.  An honest one takes milliseconds."""
HANDSHAKE_SECONDS = 5.0
ACCEPTED_AT_ONCE = 64
"""Connections that are accepted in one turn of the loop."""
PAUSE_SECONDS = 0.1
"""After an attempt to accept that failed, as when the process has too many files open."""


@attrs.define(eq=False)
class Handshakes:
    """Accepts connections, and gives those with TLS to a protocol; for the event loop's thread.

    Args:
        listening: a bound socket that does not block.
        context: of TLS.
        protocol: makes the protocol of a connection.
        most: handshakes that may be under way.
        seconds: for one.
    """

    listening: socket.socket
    context: ssl.SSLContext
    protocol: Callable[[], asyncio.BaseProtocol]
    most: int = MOST_UNFINISHED
    seconds: float = HANDSHAKE_SECONDS
    _unfinished: dict[socket.socket, None] = attrs.field(factory=dict, init=False)
    """The oldest first."""
    _tasks: set[asyncio.Task[None]] = attrs.field(factory=set, init=False)
    _resuming: asyncio.TimerHandle | None = attrs.field(default=None, init=False)

    def start(self) -> None:
        """Accept connections from now on."""
        self._resuming = None
        asyncio.get_running_loop().add_reader(self.listening, self._accept)

    def close(self) -> None:
        """Accept no more, and end what is no connection yet; the socket stays open."""
        asyncio.get_running_loop().remove_reader(self.listening)
        if self._resuming is not None:
            self._resuming.cancel()
        while self._unfinished:
            self._end_oldest()

    @property
    def unfinished(self) -> int:
        """Handshakes under way."""
        return len(self._unfinished)

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, _ = self.listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                loop = asyncio.get_running_loop()
                loop.remove_reader(self.listening)
                self._resuming = loop.call_later(PAUSE_SECONDS, self.start)
                return
            accepted.setblocking(False)
            if len(self._unfinished) >= self.most:
                self._end_oldest()
            self._unfinished[accepted] = None
            self._tasks.add(task := asyncio.create_task(self._shake_hands(accepted)))
            task.add_done_callback(self._tasks.discard)

    async def _shake_hands(self, accepted: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self.protocol,
                accepted,
                ssl=self.context,
                ssl_handshake_timeout=self.seconds,
            )
        except OSError:  # errors of TLS and timeouts are such errors
            accepted.close()
        finally:
            self._unfinished.pop(accepted, None)

    def _end_oldest(self) -> None:
        oldest = next(iter(self._unfinished))
        del self._unfinished[oldest]
        with suppress(OSError):
            # The loop sees the end of the connection, and with it that of the handshake.
            oldest.shutdown(socket.SHUT_RDWR)
