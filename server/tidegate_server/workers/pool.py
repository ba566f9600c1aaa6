"""A worker pool: a few processes, and a queue in front of them.

Everything but the work itself happens on the event loop, so nothing here needs a lock.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from tidegate.errors import WorkerError
from tidegate_server.logging import log
from tidegate_server.workers.worker import Worker

if TYPE_CHECKING:
    from tidegate_server.offload.inbox import A, Inbox
    from tidegate_server.workers.child import Setup
    from tidegate_server.workers.fork_server import ForkServer

T = TypeVar("T")

MAX_HOMES = 10_000
"""How many owners the last worker is remembered for."""
IDLE_SECONDS = 60.0
"""An idle worker that keeps much memory is replaced after this time.

The compiled definitions of 10,000 policies take some 200 MiB.
"""
_URGENT = object()


@attrs.define(eq=False)
class _Waiting:
    """A job that waits for a worker."""

    owner: Hashable
    counted: Hashable
    """Its group for the limits: the owner's, or the urgent jobs."""
    turn: asyncio.Future[int]
    at: int | None = None
    """The slot of its worker, once it has one."""


class Pool:
    """Worker processes that are replaced when they end.

    Args:
        name: the pool's name.
        fork_server: starts the processes.
        setup: their setup.
        size: the number of workers.
        memory_bytes: the memory limit of each.
        idle_seconds: how long an idle worker may keep definitions.
    """

    def __init__(
        self,
        name: str,
        fork_server: ForkServer,
        setup: Setup,
        size: int,
        memory_bytes: int,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._name = name
        self._fork_server = fork_server
        self._setup = setup
        self._memory_bytes = memory_bytes
        self._idle_seconds = idle_seconds
        self._renewing: dict[int, asyncio.TimerHandle] = {}
        self._workers: list[Worker | None] = [None] * size
        self._idle: deque[int] = deque()
        self._waiting: deque[_Waiting] = deque()
        self._running: Counter[Hashable] = Counter()
        self._homes: OrderedDict[Hashable, int] = OrderedDict()
        self._share = max(1, size - 1)
        self._threads = ThreadPoolExecutor(size, f"tidegate-{name}")

    async def start(self) -> None:
        """Start every process; callers wait for one until then."""
        loop = asyncio.get_running_loop()
        for at in range(len(self._workers)):
            try:
                self._workers[at] = await loop.run_in_executor(self._threads, self._make)
            except OSError as error:  # the first job that needs it tries again
                log.error("a worker process did not start", pool=self._name, reason=str(error))
            self._idle.append(at)
            self._next()

    async def stop(self) -> None:
        """End every process; running jobs end with theirs."""
        for timer in self._renewing.values():
            timer.cancel()
        for waiting in list(self._waiting):
            waiting.turn.cancel()
        for worker in filter(None, self._workers):
            await asyncio.to_thread(worker.kill)
        self._threads.shutdown(wait=False)

    @property
    def pids(self) -> list[int]:
        """The ids of the existing processes."""
        return [each.pid for each in self._workers if each is not None]

    @property
    def waiting(self) -> int:
        """The number of jobs that wait for a worker."""
        return len(self._waiting)

    async def run(
        self,
        job: Callable[[A], T],
        inbox: Inbox[A],
        owner: Hashable,
        seconds: float,
        *,
        is_urgent: bool = False,
    ) -> T:
        """See :class:`~tidegate_server.offload.jobs.Workers`."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(owner, _URGENT if is_urgent else owner, loop.create_future())
        (self._waiting.appendleft if is_urgent else self._waiting.append)(waiting)
        self._next()
        try:
            at = await waiting.turn
        except asyncio.CancelledError:
            self._leave(waiting)
            raise
        work = partial(self._run, at, job, inbox, seconds)
        working: asyncio.Future[T] = loop.run_in_executor(self._threads, work)
        # A caller that leaves doesn't end the work, so the worker isn't free before it has ended.
        working.add_done_callback(lambda _: self._leave(waiting))
        return await asyncio.shield(working)

    def _next(self) -> None:
        """Give idle workers to waiting jobs, in order, within each job's limits."""
        while self._idle:
            waiting = next(filter(self._may_run, self._waiting), None)
            if waiting is None:
                return
            self._waiting.remove(waiting)
            home = self._homes.get(waiting.owner)
            at = home if home is not None and home in self._idle else self._idle[0]
            waiting.at = at
            self._idle.remove(at)
            self._remember(waiting.owner, at)
            self._running[waiting.counted] += 1
            waiting.turn.set_result(at)

    def _may_run(self, waiting: _Waiting) -> bool:
        return self._running[waiting.counted] < self._share

    def _remember(self, owner: Hashable, at: int) -> None:
        """Remember the worker that has an owner's definitions, to use it again next time."""
        self._homes[owner] = at
        self._homes.move_to_end(owner)
        if len(self._homes) > MAX_HOMES:
            self._homes.popitem(last=False)

    def _leave(self, waiting: _Waiting) -> None:
        if waiting.at is None:
            self._waiting.remove(waiting)  # it was cancelled before its turn
            return
        self._running[waiting.counted] -= 1
        if not self._running[waiting.counted]:
            del self._running[waiting.counted]
        self._rest(waiting.at)

    def _rest(self, at: int) -> None:
        """Have a worker wait for its next job, or for its replacement."""
        self._idle.append(at)
        self._next()
        if (timer := self._renewing.pop(at, None)) is not None:
            timer.cancel()
        if at in self._idle:
            loop = asyncio.get_running_loop()
            self._renewing[at] = loop.call_later(self._idle_seconds, self._renew, at)

    def _renew(self, at: int) -> None:
        """Replace a worker that has been idle, if it keeps much memory."""
        worker = self._workers[at]
        if at not in self._idle or worker is None or not worker.holds_much:
            return
        self._idle.remove(at)
        replacing = asyncio.get_running_loop().run_in_executor(self._threads, self._replace, at)
        replacing.add_done_callback(partial(self._renewed, at))

    def _renewed(self, at: int, replacing: asyncio.Future[Worker]) -> None:
        if (error := replacing.exception()) is not None:  # the next job that needs it tries again
            log.error("a worker process did not start", pool=self._name, reason=str(error))
        self._rest(at)

    # The functions below run on the threads of the pool.

    def _run(self, at: int, job: Callable[[A], Any], inbox: Inbox[A], seconds: float) -> Any:
        worker = self._usable(at)
        try:
            return worker.run(job, inbox, seconds)
        except WorkerError as error:
            log.error("a worker process ended", pool=self._name, reason=str(error))
            raise

    def _usable(self, at: int) -> Worker:
        """Return a slot's worker, replaced if it ended or has grown."""
        worker = self._workers[at]
        if worker is None or worker.is_spent:
            worker = self._replace(at)
        return worker

    def _replace(self, at: int) -> Worker:
        if (before := self._workers[at]) is not None:
            before.kill()
        made = self._workers[at] = self._make()
        return made

    def _make(self) -> Worker:
        return Worker(self._fork_server, self._setup, self._memory_bytes)
