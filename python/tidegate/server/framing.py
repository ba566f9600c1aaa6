"""Frames: on a connection between processes, each message has its length before it."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import cast

import msgspec

from tidegate.server.logging import log

MAX_FRAME_BYTES = 128 * 1024 * 1024
"""A frame of a fellow process is shorter: calls and answers have bounds of their own."""
_LENGTH_BYTES = 4


def framed(body: bytes) -> bytes:
    """A message as it is sent: its length in four bytes, the highest first, and the message."""
    return len(body).to_bytes(_LENGTH_BYTES) + body


class FrameProtocol(asyncio.Protocol):
    """One end of a connection; what is no frame ends it."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.peer = ""
        """What the other end calls itself."""
        self._parts: list[bytes] = []
        """What has come of a frame that is not whole."""
        self._held = 0
        self._needed = 0
        """Bytes after which it is whole, or at least its length is known."""

    @property
    def is_open(self) -> bool:
        """Whether frames can be sent."""
        return self.transport is not None and not self.transport.is_closing()

    def send_frame(self, body: bytes) -> None:
        """Send a message; where the connection is gone, nobody gets it."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(framed(body))

    def abort(self) -> None:
        """End the connection at once: nothing more is received."""
        if self.transport is not None:
            self.transport.abort()

    @abstractmethod
    def received(self, body: memoryview) -> None:
        """Take a message.

        Raises:
            msgspec.DecodeError: it is none.
        """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses.
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.transport = None
        self._parts = []

    def data_received(self, data: bytes) -> None:
        if self._parts:
            # A large frame comes in many pieces, which are put together once.
            self._parts.append(data)
            self._held += len(data)
            if self._held < self._needed:
                return
            data = b"".join(self._parts)
            self._parts = []
        try:
            place = self._split(data)
        except msgspec.DecodeError as error:
            log.error(
                "the connection is ended: what was sent is no message, or one of a newer version",
                peer=self.peer,
                reason=str(error),
            )
            self.abort()
            return
        if place < len(data) and self.is_open:
            self._parts = [data[place:]]
            self._held = len(data) - place

    def _split(self, data: bytes) -> int:
        """Give the whole frames; where the next one begins."""
        place, end = 0, len(data)
        view = memoryview(data)
        while self.is_open:
            body = place + _LENGTH_BYTES
            if body > end:
                self._needed = _LENGTH_BYTES
                break
            size = int.from_bytes(data[place:body])
            if size > MAX_FRAME_BYTES:
                raise msgspec.DecodeError(f"a frame of {size} bytes is too long")
            if body + size > end:
                self._needed = _LENGTH_BYTES + size
                break
            place = body + size
            self.received(view[body:place])
        return place
