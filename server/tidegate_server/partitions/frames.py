"""Frames that server workers send each other over a Unix socket.

A frame holds an array of MessagePack: a kind, and what belongs to it.
Both ends are of one version, since one parent started them.

======== ============ ===================================================================
kind     goes to      content
======== ============ ===================================================================
HELLO    the gateway  which run of the owner takes calls from now on
CALLS    the owner    whether an owner before this one was asked; number of the first, and for
                      each call: endpoint, credential, request id, body, decision id; the calls
                      of one turn
DECIDED  the gateway  numbers of calls, and the answer of the decision of each
ANSWERED the gateway  number of a call, and its answer: status, headers, body, media type
REQUEST  the owner    number, id, whether an owner before this one was asked, and the ASGI scope of
                      a request; its decisions are made under the id
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

from abc import abstractmethod
from enum import IntEnum
from typing import Any

import msgspec

from tidegate_server import framing
from tidegate_server.framing import framed


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


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


def frame(*content: Any) -> bytes:
    """Return a frame, with its kind first."""
    return framed(_encode(content))


class FrameProtocol(framing.FrameProtocol):
    """One end of a connection between workers."""

    def received(self, body: memoryview) -> None:
        content = _decode(body)
        self.taken(content[0], content)

    def send(self, *content: Any) -> None:
        """Send a frame; without a connection it is dropped."""
        self.send_frame(_encode(content))

    @abstractmethod
    def taken(self, kind: int, content: list[Any]) -> None:
        """Take a frame of a kind."""
