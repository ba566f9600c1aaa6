"""Throttle other work next to decisions: one piece per turn of the loop, round robin by address.

A caller with hundreds of connections can have hundreds of requests ready in one turn of the loop.
The next decision of every tenant would wait for all of them. So each turn starts one request of the
control plane, or writes one refusal.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable

WORK_SECONDS = 0.001
"""How long turns take up work before a pause."""
PAUSE_SECONDS = 0.002
"""How long they then take up none: uvloop counts whole milliseconds, so this is one at least.

The loop releases the interpreter for each read but takes it back at once, and the committing thread
would have to wait for the switch interval. In a pause the loop waits for its connections, so that
other threads run, and still takes up a decision at once.
"""


class AcceptLimit:
    """Lines of waiting work, served in turns.

    Use it only on the event loop's thread.
    """

    def __init__(self) -> None:
        self._lines: dict[Hashable, deque[Callable[[], None]]] = {}
        self._order: deque[Hashable] = deque()
        """The lines with waiting work, in the order of their turns."""
        self._scheduled: asyncio.AbstractEventLoop | None = None
        """The loop that runs the next turn."""
        self._pause_at = 0.0

    def add(
        self, loop: asyncio.AbstractEventLoop, line: Hashable, take_up: Callable[[], None]
    ) -> None:
        """Schedule something for a later turn.

        Args:
            loop: the loop to run it.
            line: the caller's address, or a substitute for it.
            take_up: called once; it raises nothing.
        """
        waiting = self._lines.get(line)
        if waiting is None:
            waiting = self._lines[line] = deque()
            self._order.append(line)
        waiting.append(take_up)
        if self._scheduled is not loop:
            self._scheduled = loop
            self._pause_at = time.monotonic() + WORK_SECONDS
            loop.call_soon(self._take_up, loop)

    async def turn(self, line: Hashable, seconds: float) -> None:
        """Return when it is the caller's turn.

        Args:
            line: as for :meth:`add`.
            seconds: how long to wait before queueing.
        """
        loop = asyncio.get_running_loop()
        come = loop.create_future()

        def take_up() -> None:
            if not come.done():
                come.set_result(None)

        loop.call_later(seconds, self.add, loop, line, take_up)
        await come

    def _take_up(self, loop: asyncio.AbstractEventLoop) -> None:
        line = self._order.popleft()
        waiting = self._lines[line]
        take_up = waiting.popleft()
        if waiting:
            self._order.append(line)
        else:
            del self._lines[line]
        take_up()
        if not self._order:
            self._scheduled = None
        elif time.monotonic() < self._pause_at:
            loop.call_soon(self._take_up, loop)
        else:
            loop.call_later(PAUSE_SECONDS, self._resume, loop)

    def _resume(self, loop: asyncio.AbstractEventLoop) -> None:
        self._pause_at = time.monotonic() + WORK_SECONDS
        self._take_up(loop)
