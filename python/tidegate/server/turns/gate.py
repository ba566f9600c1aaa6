"""A gate for steps beside the loop, so that other changes can be made between two of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class Gate:
    """Lets steps begin unless somebody holds it shut; for the event loop's thread only.

    Args:
        opened: called when it is open again.
    """

    def __init__(self, opened: Callable[[], None]) -> None:
        self._opened = opened
        self._holders = 0
        self._waiting: list[asyncio.Future[None]] = []
        self.under_way = 0
        """Steps that have begun and not ended."""

    @property
    def is_shut(self) -> bool:
        """Whether no step may begin now."""
        return self._holders > 0

    def enter(self) -> None:
        """A step begins."""
        self.under_way += 1

    def leave(self) -> None:
        """A step has ended, and its decisions are on their way to the log."""
        self.under_way -= 1
        if self.under_way:
            return
        waiting, self._waiting = self._waiting, []
        for still in waiting:
            if not still.done():
                still.set_result(None)

    @asynccontextmanager
    async def shut(self) -> AsyncIterator[None]:
        """Between two steps: none is under way, and none begins before the end."""
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
