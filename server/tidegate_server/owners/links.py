"""A link between two processes: messages in both directions over one connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from tidegate_server.framing import FrameProtocol
from tidegate_server.owners.messages import decode, encode

if TYPE_CHECKING:
    from tidegate_server.owners.messages import Message

Received: TypeAlias = "Callable[[Link, Message], None]"
Lost: TypeAlias = "Callable[[Link], None]"


class Link(FrameProtocol):
    """One side of a link.

    Args:
        received: called with each message.
        lost: called once, when the connection is gone.
    """

    def __init__(self, received: Received, lost: Lost) -> None:
        super().__init__()
        self._received = received
        self._lost = lost

    def send(self, message: Message) -> None:
        """Send a message; if it can't be sent it is dropped, and ``lost`` reports it."""
        self.send_frame(encode(message))

    def received(self, body: memoryview) -> None:
        self._received(self, decode(body))

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._lost(self)
