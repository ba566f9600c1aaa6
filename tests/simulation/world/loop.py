"""An event loop in virtual time: it has no sockets and no threads, and waits for nothing."""

from __future__ import annotations

import asyncio
import heapq
import warnings
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.simulation.world.process import Process


class VirtualLoop(asyncio.BaseEventLoop):
    """The event loop of a process.

    The work of a thread is done at one moment, on its way: after a delay, and its result comes
    after another one. A connection is one of the world's.

    Args:
        process: whose clock it goes by.
    """

    # Of the base, which the type stubs leave out.
    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _clock_resolution: float

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._process = process
        self.tasks: list[asyncio.Task[Any]] = []

    def time(self) -> float:
        return self._process.mono

    def due(self) -> float:
        """Return when there is something to do, in seconds of the process's clock."""
        if self._ready:
            return float("-inf")
        scheduled = self._scheduled
        return scheduled[0].when() if scheduled else float("inf")

    def turn(self) -> None:
        """Do what is due now, and what comes of it at once."""
        now = self.time() + self._clock_resolution
        ready, scheduled = self._ready, self._scheduled
        while scheduled and scheduled[0].when() < now:
            ready.append(heapq.heappop(scheduled))
        asyncio._set_running_loop(self)
        try:
            for _ in range(_MOST_HANDLES):
                if not ready:
                    return
                handle = ready.popleft()
                if not handle.cancelled():
                    handle._run()
        finally:
            asyncio._set_running_loop(None)
        raise RuntimeError("the loop goes on, and no time passes")

    def create_task(self, coro: Any, **more: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = super().create_task(coro, **more)
        self.tasks.append(task)
        return task

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self.create_future()
        self._process.work(executor, future, lambda: func(*args))
        return future

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], Any], host: str, port: int, *, ssl: object
    ) -> tuple[Any, Any]:
        del port, ssl
        made: tuple[Any, Any] = await self._process.connect(host, protocol_factory)
        return made

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self._process.failed(context)

    def _write_to_self(self) -> None:
        """The loop never sleeps."""

    def end(self) -> None:
        """Drop everything that is under way, as at the end of a schedule."""
        asyncio._set_running_loop(self)
        try:
            with warnings.catch_warnings():
                # A task that had not begun never awaits what it was given.
                warnings.simplefilter("ignore", RuntimeWarning)
                for task in self.tasks:  # some begin others on their way out
                    if not task.done():
                        _drop(task)
        finally:
            asyncio._set_running_loop(None)
        self.close()


def _drop(task: asyncio.Task[Any]) -> None:
    """Close a task that nothing will ever wake."""
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    coroutine: Any = task.get_coro()
    for _ in range(_TRIES):
        try:
            coroutine.close()
        except RuntimeError:  # it waits for something on its way out
            continue
        except Exception:  # what a process does after its end is lost
            return
        return


_TRIES = 8
_MOST_HANDLES = 100_000
