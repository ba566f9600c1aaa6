"""Received bytes of requests that can't be processed yet, by sender."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from tidegate_server.http.problems import Problem

if TYPE_CHECKING:
    from tidegate_server.http.exchange import Message, Receive


@attrs.define(eq=False)
class HeldBytes:
    """Counts bytes by holder; use it only on the event loop's thread.

    Only bytes that have arrived count, not the length that a head announces. When all together hold
    too much, those that hold more than an equal part are refused, so nobody keeps others from
    sending.

    Attributes:
        most_each: bytes that one holder may have.
        most: bytes of all.
    """

    most_each: int
    most: int
    total: int = attrs.field(default=0, init=False)
    _held: Counter[Hashable] = attrs.field(factory=Counter, init=False)

    def hold(self, holder: Hashable, more: int) -> None:
        """Count bytes that are held; a negative number releases them.

        Args:
            holder: None for unknown holders, which have no share of their own.
        """
        self.total += more
        self._held[holder] += more
        if not self._held[holder]:
            del self._held[holder]

    def is_full(self, holder: Hashable) -> bool:
        """Tell whether a holder has reached its limit."""
        held = self._held[holder]
        if holder is not None and held > self.most_each:
            return True
        return self.total > self.most and held * len(self._held) > self.most

    @contextmanager
    def receiving(self, holder: Hashable, receive: Receive) -> Iterator[Receive]:
        """Count the bytes of a body from their arrival to the end of the block.

        Args:
            holder: the sender.
            receive: ASGI's callable.

        Raises:
            Problem: ``overloaded``, from the callable the block gets: the holder has too much in
                progress.
        """
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            more = len(message.get("body", b""))
            size += more
            self.hold(holder, more)
            if self.is_full(holder):
                raise Problem("overloaded", "too much is under way", headers={"retry-after": "1"})
            return message

        try:
            yield counted
        finally:
            self.hold(holder, -size)
