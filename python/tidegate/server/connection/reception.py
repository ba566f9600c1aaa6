"""Work beside decisions: one piece in each turn of the loop, from the addresses alternately.

A caller with hundreds of connections can have hundreds of requests ready in one turn of the loop.
The next decision of every tenant would wait for all of them.  So each turn begins one request of
the control plane, or writes one refusal.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable

HANDED_OVER_SECONDS = 0.0001
"""How long the loop leaves the interpreter to other threads while requests wait: long enough for
a sleeping thread to wake."""


class Reception:
    """Lines of waiting work; their first pieces are taken alternately.

    For the event loop's thread only.
    """

    def __init__(self) -> None:
        self._lines: dict[Hashable, deque[Callable[[], None]]] = {}
        self._order: deque[Hashable] = deque()
        """The lines that somebody stands in, by who is next."""
        self._scheduled: asyncio.AbstractEventLoop | None = None
        """The loop that has the next turn to make."""

    def add(
        self, loop: asyncio.AbstractEventLoop, line: Hashable, take_up: Callable[[], None]
    ) -> None:
        """Have something taken up in a turn to come.

        Args:
            loop: whose turn.
            line: whose it is: an address, or what stands for one.
            take_up: called once; it raises nothing.
        """
        waiting = self._lines.get(line)
        if waiting is None:
            waiting = self._lines[line] = deque()
            self._order.append(line)
        waiting.append(take_up)
        self._schedule(loop)

    async def turn(self, line: Hashable, seconds: float) -> None:
        """Return when it is the caller's turn.

        Args:
            line: as :meth:`add` has it.
            seconds: for which it does not stand in line yet.
        """
        loop = asyncio.get_running_loop()
        come = loop.create_future()

        def take_up() -> None:
            if not come.done():
                come.set_result(None)

        loop.call_later(seconds, self.add, loop, line, take_up)
        await come

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._scheduled is not loop:
            self._scheduled = loop
            loop.call_soon(self._take_up, loop)

    def _take_up(self, loop: asyncio.AbstractEventLoop) -> None:
        self._scheduled = None
        line = self._order.popleft()
        waiting = self._lines[line]
        take_up = waiting.popleft()
        if waiting:
            self._order.append(line)
        else:
            del self._lines[line]
        take_up()
        if self._order:
            self._schedule(loop)
            # The loop releases the interpreter often and takes it back at once.  The committing
            # thread wakes too late each time, and would have to wait for the switch interval.
            time.sleep(HANDED_OVER_SECONDS)
