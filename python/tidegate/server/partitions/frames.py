"""What server workers send each other over a Unix socket: frames, and who reads them.

A frame is its length in four bytes and an array of MessagePack: a kind, and what belongs to it.
Both ends are of one version, since one parent started them.

======== ============ ===================================================================
kind     goes to      content
======== ============ ===================================================================
HELLO    the gateway  nothing: the owner takes calls from now on
CALLS    the owner    number of the first, and for each call: endpoint, credential, request
                      id, body; the calls of one turn
DECIDED  the gateway  numbers of calls, and the answer of the decision of each
ANSWERED the gateway  number of a call, and its answer: status, headers, body, media type
REQUEST  the owner    number, and the ASGI scope of a request
RECEIVE  the gateway  number: the owner wants the next message of the caller
GIVEN    the owner    number, and that message
SENT     the gateway  number, and a message to the caller
ENDED    the gateway  number: the request is answered
ASKED    the owner    number, and what is asked
TOLD     the gateway  number, and the reply
PING     the owner    nothing
PONG     the gateway  nothing
======== ============ ===================================================================
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from enum import IntEnum
from typing import Any, cast

import msgspec


class Kind(IntEnum):
    """The kind of a frame."""

    HELLO = 0
    CALLS = 1
    DECIDED = 2
    ANSWERED = 3
    REQUEST = 4
    RECEIVE = 5
    GIVEN = 6
    SENT = 7
    ENDED = 8
    ASKED = 9
    TOLD = 10
    PING = 11
    PONG = 12


_SIZE = 4
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


def frame(*content: Any) -> bytes:
    """A frame: its kind first."""
    body = _encode(content)
    return len(body).to_bytes(_SIZE, "little") + body


class FrameProtocol(asyncio.Protocol):
    """One end of a connection."""

    transport: asyncio.Transport | None = None

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        """What has come of a frame that is not whole."""
        self._held = 0
        self._needed = 0
        """Bytes after which it is whole, or at least its length is known."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transport is no subclass.
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._parts:
            # A large frame comes in many pieces, which are put together once.
            self._parts.append(data)
            self._held += len(data)
            if self._held < self._needed:
                return
            data = b"".join(self._parts)
            self._parts = []
        place, end, needed = 0, len(data), _SIZE
        while end - place >= _SIZE:
            size = int.from_bytes(data[place : place + _SIZE], "little")
            needed = _SIZE + size
            if end - place < needed:
                break
            content = _decode(memoryview(data)[place + _SIZE : place + needed])
            place, needed = place + needed, _SIZE
            self.taken(content[0], content)
        if place < end:
            self._parts = [data[place:]]
            self._held, self._needed = end - place, needed

    def send(self, *content: Any) -> None:
        """Send a frame; where the connection is gone, nobody gets it."""
        if self.transport is not None:
            self.transport.write(frame(*content))

    @abstractmethod
    def taken(self, kind: int, content: list[Any]) -> None:
        """Take a frame, with its kind."""
