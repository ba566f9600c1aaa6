"""The port of a destination.

A destination has taken messages when `send` returns. After an earlier failure they are sent again,
so a consumer can get a message more than once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tidegate_server.publishing.messages import Message

ANSWER_SECONDS = 10.0
"""How long a destination may take for one batch."""


class NotTakenError(Exception):
    """A destination did not take a batch; the message says why, without secrets."""


class Destination(Protocol):
    """Takes messages, in order."""

    async def send(self, messages: Sequence[Message]) -> None:
        """Return when all messages are taken.

        Raises:
            NotTakenError: some may not have been taken.
        """

    async def close(self) -> None:
        """Release connections."""
