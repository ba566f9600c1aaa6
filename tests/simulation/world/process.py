"""A simulated process: a node of the product, its loop, its clocks, and whether it runs."""

from __future__ import annotations

import asyncio
import ssl
import traceback
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import attrs
from tests.simulation.world.loop import VirtualLoop
from tests.simulation.world.network import End, connect
from tests.simulation.world.service import Preparing, Routes
from tests.simulation.world.wires import ProcessMembers, ProcessWire

from tidegate_server.hot.metrics import HotMetrics
from tidegate_server.nodes.core import NodeCore, Surroundings
from tidegate_server.owners.application import OwnersApplication
from tidegate_server.owners.hot_paths import OwnersHotPaths

if TYPE_CHECKING:
    from tests.simulation.world.world import World

    from tidegate_server.hot.hot_path import HotPath

EPOCH = 1_760_000_000_000_000_000
"""Nanoseconds since 1970 at the beginning of a schedule."""
DRAIN_SECONDS = 3.0
FINISH_SECONDS = 2.0
"""How long a process that stops waits for the answers of its callers."""
POLL_SECONDS = 0.02


@cache
def _calling() -> ssl.SSLContext:
    return ssl.create_default_context()


@attrs.frozen(eq=False)
class _Work:
    """Work of a thread."""

    run: int
    future: asyncio.Future[Any]
    do: Callable[[], Any]


class Clock:
    """The clocks of a process, as the module ``time`` has them.

    Args:
        process: whose.
    """

    def __init__(self, process: Process) -> None:
        self._process = process

    def monotonic(self) -> float:
        """Seconds of the monotonic clock."""
        return self._process.mono

    def monotonic_ns(self) -> int:
        """Nanoseconds of the monotonic clock."""
        return int(self._process.mono * 1e9)

    def time_ns(self) -> int:
        """Nanoseconds since 1970."""
        return EPOCH + int((self._process.world.now + self._process.skew) * 1e9)


class Process:
    """One process of the cluster.

    Args:
        world: that it is in.
        name: of the node, kept over restarts.
    """

    def __init__(self, world: World, name: str) -> None:
        self.name = name
        self.world = world
        self.clock = Clock(self)
        self.run = 0
        """Counts starts; what was for an earlier run does not arrive."""
        self.is_alive = False
        self.is_asked = False
        """It was asked to stop."""
        self.is_stopping = False
        """It takes no new calls."""
        self.stalled_until = 0.0
        self.stalls: list[tuple[float, float]] = []
        self.skew = 0.0
        self.loop: VirtualLoop
        self.loops: list[VirtualLoop] = []
        self.node: NodeCore | None = None
        self.hot: OwnersHotPaths
        self.application: OwnersApplication
        self.ends: list[End] = []
        self.session: ProcessWire | None = None
        self.listens: Callable[[], Any] | None = None
        self.local: dict[object, HotPath] = {}
        """Calls of its own callers that a hot path decides."""
        self.open = 0
        """Calls of its callers without an outcome."""
        self._offset = 0.0
        self._waiting: dict[int, deque[_Work]] = {}
        """The work of each executor with one thread."""
        self._took = 0.0
        self._ended: asyncio.Event

    @property
    def mono(self) -> float:
        """Seconds of its monotonic clock, which begins anywhere."""
        return self.world.now + self._offset

    # --- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Start, or start again, with nothing in memory."""
        self.run += 1
        self.is_alive, self.is_asked, self.is_stopping = True, False, False
        self.stalled_until = 0.0
        self._offset = self.world.random.uniform(10.0, 1000.0)
        self.ends, self.session, self.listens = [], None, None
        self.local, self.open, self._waiting = {}, 0, {}
        self.loop = VirtualLoop(self)
        self.loops.append(self.loop)
        self.node = None
        self.loop.call_soon(self.begin)

    def crash(self) -> None:
        """End at once; what is in memory is gone."""
        self.is_alive = False
        self.node = None
        for end in self.ends:
            # Its machine's kernel says so, or nobody does.
            is_soon = self.world.random.random() < 0.6
            after = 0.01 if is_soon else self.world.random.uniform(0.5, 3.0)
            self.world.at(after, end.other.lose)

    def stall(self, seconds: float) -> None:
        """Do nothing for a time, then go on as if nothing had been."""
        end = self.world.now + seconds
        self.stalls.append((self.world.now, end))
        self.stalled_until = max(self.stalled_until, end)

    def stalled_between(self, start: float, end: float) -> float:
        """Seconds within a time in which it could do nothing."""
        return sum(max(min(end, e) - max(start, s), 0.0) for s, e in self.stalls)

    def stop(self) -> None:
        """Ask it to stop."""
        if self.node is not None:
            self.is_asked = True
            self.soon(self.node.begin_stop)

    @property
    def has_to_stop(self) -> bool:
        """Whether somebody asked it to stop, and it still runs."""
        member = self.world.database.members.get(self.name)
        is_drained = member is not None and member.is_draining
        return self.is_alive and (self.is_asked or is_drained)

    def begin(self) -> None:
        """Begin to serve, on the loop."""
        world = self.world
        self._ended = asyncio.Event()
        self.node = node = NodeCore(
            self.name,
            f"{self.name}:1",
            len(world.database.tables),
            Surroundings(
                members=ProcessMembers(self),  # type: ignore[arg-type]
                routes=Routes(self),  # type: ignore[arg-type]
                calling=_calling(),
                prepare=Preparing(self),  # type: ignore[arg-type]
                changed=self._answer_hot_calls,
                finish_local=self._finish_local,
                end=self._end,
                drain_seconds=DRAIN_SECONDS,
            ),
        )
        self._answer_hot_calls()
        self.application = OwnersApplication(node.forwardings, node.routes)
        task = self.loop.create_task(node.run(self._serve))
        task.add_done_callback(self._exit)

    async def _serve(self) -> None:
        """Serve until the stop, and until the callers have their answers."""
        await self._ended.wait()
        assert self.node is not None
        self.node.answer_now()
        until = self.mono + FINISH_SECONDS
        while self.open and self.mono < until:
            await asyncio.sleep(POLL_SECONDS)

    def _end(self) -> None:
        self.is_stopping = True
        self._ended.set()

    def _exit(self, task: asyncio.Task[None]) -> None:
        """The process has ended by itself."""
        error = None if task.cancelled() else task.exception()
        self.world.note(f"{self.name} ends: {error or 'stopped'}")
        self.crash()
        self.world.exited(self)

    def _answer_hot_calls(self) -> None:
        if self.node is not None:
            owned = [each.opened for each in self.node.partitions.values() if each.opened]
            metrics = owned[0].hot.metrics if owned else HotMetrics()
            self.hot = OwnersHotPaths(metrics, self.node.partitions, self.node.routes)

    async def _finish_local(self, hot: HotPath) -> None:
        until = self.mono + FINISH_SECONDS
        while self.mono < until and hot in self.local.values():
            await asyncio.sleep(POLL_SECONDS)

    # --- time ---------------------------------------------------------------------------------

    def due(self) -> float:
        """When its loop has something to do, in seconds of the world."""
        if not self.is_alive:
            return float("inf")
        return max(self.loop.due() - self._offset, self.stalled_until, self.world.now)

    def turn(self) -> None:
        """Do what is due."""
        self.world.current = self
        self.loop.turn()

    def soon(self, do: Callable[..., object], *args: Any) -> None:
        """Have its loop do something, as far as it runs."""
        if self.is_alive:
            self.loop.call_soon(do, *args)

    def on_thread(self, run: int, do: Callable[[], None]) -> None:
        """Have a thread of a run do something now, or after its stall."""
        if not self.is_alive or self.run != run:
            return
        if self.stalled_until > self.world.now:
            self.world.at(self.stalled_until - self.world.now, self.on_thread, run, do)
            return
        self._with_clocks(do)

    def _with_clocks(self, do: Callable[[], Any]) -> Any:
        before, self.world.current = self.world.current, self
        asyncio._set_running_loop(None)
        try:
            return do()
        finally:
            self.world.current = before

    # --- threads ------------------------------------------------------------------------------

    def takes(self, seconds: float) -> None:
        """Have what a thread is doing take longer."""
        self._took += seconds

    def work(self, executor: Any, future: asyncio.Future[Any], do: Callable[[], Any]) -> None:
        """Do something on a thread, and give the result to a future.

        Args:
            executor: None, and one with a single thread, talk to the database; others compute.
            future: of the loop.
            do: is done at one moment.
        """
        work = _Work(self.run, future, do)
        world = self.world
        if executor is None:
            world.at(world.delay(), self._do, work, None)
        elif executor._max_workers > 1:
            world.at(world.random.random() * 0.002, self._do, work, None)
        else:
            waiting = self._waiting.setdefault(id(executor), deque())
            waiting.append(work)
            if len(waiting) == 1:
                world.at(world.delay(), self._do, work, waiting)

    def _do(self, work: _Work, waiting: deque[_Work] | None) -> None:
        world = self.world
        if self.run != work.run or (not self.is_alive and world.random.random() < 0.5):
            return  # it had not been sent
        self._took = 0.0
        error: BaseException | None = None
        result = None
        try:
            result = self._with_clocks(work.do)
        except Exception as raised:
            error = raised
        world.at(world.delay() + self._took, self._done, work, result, error, waiting)

    def _done(
        self, work: _Work, result: Any, error: BaseException | None, waiting: deque[_Work] | None
    ) -> None:
        def settle() -> None:
            if work.future.done():
                return
            if error is None:
                work.future.set_result(result)
            else:
                work.future.set_exception(error)

        if self.run != work.run:
            return
        self.soon(settle)
        if waiting is not None:
            waiting.popleft()
            if waiting:
                self.world.at(self.world.delay(), self._do, waiting[0], waiting)

    def connect(self, host: str, factory: Callable[[], Any]) -> asyncio.Future[Any]:
        """Connect to another process."""
        made: asyncio.Future[Any] = self.loop.create_future()
        connect(self.world, self, host, factory, made)
        return made

    def failed(self, context: dict[str, Any]) -> None:
        """A callback of the loop raised an error."""
        error, trace = context.get("exception"), self.world.trace
        if trace is not None and error is not None:
            trace += traceback.format_exception(error)
        self.world.violated(f"{self.name}: {context.get('message')}: {error!r}")
