"""A link between two nodes: messages both ways on one connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, cast

import msgspec

from tidegate.server.logging import log
from tidegate.server.nodes.messages import LENGTH_BYTES, MAX_MESSAGE_BYTES, decode, framed

if TYPE_CHECKING:
    from tidegate.server.nodes.messages import Message

Received: TypeAlias = "Callable[[Link, Message], None]"
Lost: TypeAlias = "Callable[[Link], None]"


class Link(asyncio.Protocol):
    """One side of a link.

    Args:
        received: called with each message.
        lost: called once, when the connection is gone.
    """

    def __init__(self, received: Received, lost: Lost) -> None:
        self._received = received
        self._lost = lost
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self.peer = ""
        """What the other side calls itself."""

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def send(self, message: Message) -> None:
        """Send a message; one that cannot be sent is dropped, and ``lost`` says so."""
        if self._transport is not None and self.is_open:
            self._transport.write(framed(message))

    def abort(self) -> None:
        """End the link at once: nothing more is received."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transport with TLS does not say that it is one.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        place = 0
        while self.is_open and len(buffer) - place >= LENGTH_BYTES:
            size = int.from_bytes(buffer[place : place + LENGTH_BYTES])
            if size > MAX_MESSAGE_BYTES:
                log.error("a node sends what is no message", node=self.peer)
                self.abort()
                return
            end = place + LENGTH_BYTES + size
            if len(buffer) < end:
                break
            try:
                message = decode(bytes(buffer[place + LENGTH_BYTES : end]))
            except msgspec.DecodeError as error:
                log.error("a node sends what is no message", node=self.peer, reason=str(error))
                self.abort()
                return
            place = end
            self._received(self, message)
        del buffer[:place]

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._transport = None
        self._buffer.clear()
        self._lost(self)
