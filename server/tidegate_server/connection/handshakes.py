"""Connections before TLS is established, with limits on their number and time.

The event loop's own server gives a connection to its protocol after the handshake, so nothing
limits clients that connect and stay silent: 9,000 of them took 435 MiB.
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
"""The most handshakes in progress; the oldest is dropped for a newcomer.

An honest one takes milliseconds.
"""
HANDSHAKE_SECONDS = 5.0
ACCEPTED_AT_ONCE = 64
"""How many connections are accepted in one turn of the loop."""
PAUSE_SECONDS = 0.1
"""The pause after a failed accept, as when the process has too many files open."""


@attrs.define(eq=False)
class Handshakes:
    """Accepts connections, and hands those with TLS to a protocol; for the event loop's thread.

    Args:
        listening: a bound, non-blocking socket.
        context: the TLS context.
        protocol: creates the protocol of a connection.
        most: the most handshakes in progress.
        seconds: the time limit of a handshake.
    """

    listening: socket.socket
    context: ssl.SSLContext
    protocol: Callable[[], asyncio.BaseProtocol]
    most: int = MOST_UNFINISHED
    seconds: float = HANDSHAKE_SECONDS
    _unfinished: dict[socket.socket, None] = attrs.field(factory=dict, init=False)
    """Handshakes in progress, oldest first."""
    _tasks: set[asyncio.Task[None]] = attrs.field(factory=set, init=False)
    _resuming: asyncio.TimerHandle | None = attrs.field(default=None, init=False)

    def start(self) -> None:
        """Accept connections from now on."""
        self._resuming = None
        asyncio.get_running_loop().add_reader(self.listening, self._accept)

    def close(self) -> None:
        """Stop accepting, and end unfinished handshakes; the socket stays open."""
        asyncio.get_running_loop().remove_reader(self.listening)
        if self._resuming is not None:
            self._resuming.cancel()
        while self._unfinished:
            self._end_oldest()

    @property
    def unfinished(self) -> int:
        """Handshakes in progress."""
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
        except OSError:  # TLS errors and timeouts are such errors
            accepted.close()
        finally:
            self._unfinished.pop(accepted, None)

    def _end_oldest(self) -> None:
        oldest = next(iter(self._unfinished))
        del self._unfinished[oldest]
        with suppress(OSError):
            # The loop notices the end of the connection, and so the end of the handshake.
            oldest.shutdown(socket.SHUT_RDWR)
