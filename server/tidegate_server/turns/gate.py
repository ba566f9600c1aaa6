"""A gate for steps off the loop, so that other changes can be made between two steps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class Gate:
    """Lets steps start unless somebody holds it shut; use it only on the event loop's thread.

    Args:
        opened: called when it opens again.
    """

    def __init__(self, opened: Callable[[], None]) -> None:
        self._opened = opened
        self._holders = 0
        self._waiting: list[asyncio.Future[None]] = []
        self.under_way = 0
        """Steps in progress."""

    @property
    def is_shut(self) -> bool:
        """Whether no step may start now."""
        return self._holders > 0

    def enter(self) -> None:
        """Count a step that starts."""
        self.under_way += 1

    def leave(self) -> None:
        """Count a step that ended, with its decisions on their way to the log."""
        self.under_way -= 1
        if self.under_way:
            return
        waiting, self._waiting = self._waiting, []
        for still in waiting:
            if not still.done():
                still.set_result(None)

    @asynccontextmanager
    async def shut(self) -> AsyncIterator[None]:
        """Hold the gate shut for the block: no step is in progress, and none starts."""
        self._holders += 1
        try:
            while self.under_way:
                still = asyncio.get_running_loop().create_future()
                self._waiting.append(still)
                await still
            yield
        finally:
            self._holders -= 1
            if not self._holders:
                self._opened()
