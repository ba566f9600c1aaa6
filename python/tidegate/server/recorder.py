"""From the event loop to the decision log: decisions wait here for the commit that holds them.

One batch is under way at a time; what is decided meanwhile makes up the next.  Each commit costs
the loop one wake-up, however many answers it sets free.

When a commit fails, what waited is refused and nothing more is decided: the engines' states hold
decisions that the log does not.  The recorder then tries, about each second, to write again, has
the states rebuilt from the log, and goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tidegate.server.logging import log
from tidegate.server.problems import Problem
from tidegate.stores.base import StoreUnavailableError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tidegate.stores.base import Store
    from tidegate.stores.log import LogEntry

RETRY_SECONDS = 1.0
MAX_WAITING = 20_000
"""Decisions that may wait for a commit: more than a second's worth would be answered late."""


class Recorder:
    """The way into a store's decision log; its methods run on the event loop's thread.

    Args:
        store: where the log is.
        seq: number of the last decision in the log.
        rebuild: makes the engines' states anew from the log, after a failure.
    """

    def __init__(self, store: Store, seq: int, rebuild: Callable[[], Awaitable[None]]) -> None:
        self._store = store
        self._rebuild = rebuild
        self._committed = seq
        self._entries: list[LogEntry] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._under_way = 0
        self._is_scheduled = False
        self._recovery: asyncio.Task[None] | None = None

    @property
    def seq(self) -> int:
        """Number that the last decision made so far has, or will have when it is committed."""
        return self._committed + self._under_way + len(self._entries)

    @property
    def waiting(self) -> int:
        """Decisions that are made and not yet durable."""
        return self._under_way + len(self._entries)

    @property
    def is_available(self) -> bool:
        """Whether decisions can be recorded, as far as is known."""
        return self._recovery is None

    def check(self) -> None:
        """Refuse before a decision is made that could not be recorded.

        Raises:
            Problem: ``decision-log-unavailable`` or ``overloaded``.
        """
        if self._recovery is not None:
            raise unavailable()
        if len(self._entries) >= MAX_WAITING:
            raise Problem("overloaded", headers={"retry-after": "1"})

    async def append(self, entry: LogEntry) -> None:
        """Return when the entry is durable.

        Raises:
            Problem: it could not be written, and counts as not decided.
        """
        done = asyncio.get_running_loop().create_future()
        self._entries.append(entry)
        self._waiting.append(done)
        if not self._is_scheduled and not self._under_way:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._submit)
        await done

    async def drain(self) -> None:
        """Return when nothing waits any more."""
        while self.waiting and self._waiting:
            await asyncio.wait([self._waiting[-1]])
        while self._under_way:
            await asyncio.sleep(0.001)

    async def close(self) -> None:
        """Stop trying to recover."""
        if self._recovery is not None:
            self._recovery.cancel()
            await asyncio.gather(self._recovery, return_exceptions=True)

    def _submit(self) -> None:
        self._is_scheduled = False
        if self._under_way or not self._entries:
            return
        entries, waiting = self._entries, self._waiting
        self._entries, self._waiting = [], []
        self._under_way = len(entries)
        loop = asyncio.get_running_loop()
        try:
            written = self._store.append(entries)
        except StoreUnavailableError as error:
            self._failed(waiting, error)
            return

        def committed(written: Future[None]) -> None:
            loop.call_soon_threadsafe(self._finished, waiting, written)

        written.add_done_callback(committed)

    def _finished(self, waiting: list[asyncio.Future[None]], written: Future[None]) -> None:
        error = written.exception()
        if error is not None:
            self._failed(waiting, error)
            return
        self._committed += self._under_way
        self._under_way = 0
        for done in waiting:
            if not done.done():
                done.set_result(None)
        self._submit()

    def _failed(self, waiting: list[asyncio.Future[None]], error: BaseException) -> None:
        log.error("the decision log cannot be written", error=str(error))
        lost = waiting + self._waiting
        self._under_way = 0
        self._entries, self._waiting = [], []
        if self._recovery is None:
            self._recovery = asyncio.get_running_loop().create_task(self._recover())
        for done in lost:
            if not done.done():
                done.set_exception(unavailable())

    async def _recover(self) -> None:
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            try:
                await asyncio.to_thread(self._store.recover)
                await self._rebuild()
            except StoreUnavailableError:
                continue
            except Exception:
                log.exception("the states could not be rebuilt from the log")
                continue
            log.info("the decision log can be written again")
            self._recovery = None
            return


def unavailable() -> Problem:
    """The refusal while the log cannot be written."""
    return Problem("decision-log-unavailable", headers={"retry-after": "1"})
