"""Frames: messages on a connection between processes, each preceded by its length."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import cast

import msgspec

from tidegate_server.logging import log

MAX_FRAME_BYTES = 128 * 1024 * 1024
"""The limit of a peer's frames, which are shorter: calls and answers have their own bounds."""
_LENGTH_BYTES = 4


def framed(body: bytes) -> bytes:
    """Return a message as it is sent: its length in four bytes, big-endian, then the message."""
    return len(body).to_bytes(_LENGTH_BYTES) + body


class FrameProtocol(asyncio.Protocol):
    """One end of a connection; invalid frames end it."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.peer = ""
        """The other end's name for itself."""
        self._parts: list[bytes] = []
        """The parts received of an incomplete frame."""
        self._held = 0
        self._needed = 0
        """The number of bytes that complete it, or at least reveal its length."""

    @property
    def is_open(self) -> bool:
        """Whether frames can be sent."""
        return self.transport is not None and not self.transport.is_closing()

    def send_frame(self, body: bytes) -> None:
        """Send a message; without a connection it is dropped."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(framed(body))

    def abort(self) -> None:
        """Close the connection at once: nothing more is received."""
        if self.transport is not None:
            self.transport.abort()

    @abstractmethod
    def received(self, body: memoryview) -> None:
        """Take a message.

        Raises:
            msgspec.DecodeError: it isn't a valid message.
        """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports aren't subclasses.
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.transport = None
        self._parts = []

    def data_received(self, data: bytes) -> None:
        if self._parts:
            # A large frame arrives in many pieces, which are joined once.
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
        """Take the complete frames; return where the next one begins."""
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
