"""The simulated world: virtual time, a network that delays and loses, and a database."""

from __future__ import annotations

import heapq
import random
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import attrs
from tests.simulation.oracle import Oracle, ViolationError
from tests.simulation.world.database import Database
from tests.simulation.world.process import EPOCH, Process
from tests.simulation.world.service import Account

TURN_SECONDS = 1e-9
"""The time that a turn of a process takes."""


@attrs.define
class Weather:
    """How bad the network is; probabilities are of one message.

    Attributes:
        delay: the mean, in seconds.
        loss: a message is lost, and with it the connection.
        silence: nobody hears of it soon.
        late: a message arrives up to ``lateness`` seconds late.
        lateness: see ``late``.
        twice: an append arrives twice.
    """

    delay: float = 0.002
    loss: float = 0.0
    silence: float = 0.5
    late: float = 0.0
    lateness: float = 4.0
    twice: float = 0.0


class Log:
    """The log of all processes: lines of the schedule; an error that nobody expected is a fault.

    Args:
        world: whose processes write.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    def debug(self, event: str, **more: object) -> None:
        """Take a line."""
        world = self._world
        if world.trace is not None:
            name = "" if world.current is None else world.current.name
            world.note(f"{name} logs: {event} {more or ''}")

    info = warning = error = debug

    def exception(self, event: str, **more: object) -> None:
        """Take a line about an error that was not expected."""
        self.debug(event, **more)
        error = sys.exception()
        if self._world.trace is not None:
            self._world.trace += traceback.format_exception(error)
        self._world.violated(f"{event}: {error!r}")


class World:
    """One schedule's world.

    Args:
        seed: of everything that is random.
        names: of the processes, one letter each.
        partitions: how many.
        accounts: the tenants.
    """

    def __init__(self, seed: int, names: str, partitions: int, accounts: Sequence[Account]) -> None:
        self.random = random.Random(seed)
        self.now = 0.0
        self.current: Process | None = None
        """The process whose code runs."""
        self.accounts = accounts
        self.weather = Weather()
        self.is_full = False
        """The database's disk is full: it takes no append."""
        self.cuts: set[frozenset[str]] = set()
        self.islands: set[str] = set()
        """Processes that nobody reaches, and who reach nobody."""
        self.trace: list[str] | None = None
        self.log = Log(self)
        self.database = Database(partitions, self._told)
        self.oracle = Oracle(self)
        self.after_change: list[Callable[[], object]] = []
        """Done one by one, from the last on, each soon after a change that members hear of."""
        self.exited: Callable[[Process], None] = lambda _process: None
        """Told of each process that has ended by itself."""
        self._events: list[tuple[float, int, Callable[..., object], tuple[Any, ...]]] = []
        self._count = 0
        self._ids = 0
        self._violation: str | None = None
        self.processes = {name: Process(self, name) for name in names}

    # --- time, as the module ``time`` has it ----------------------------------------------------

    def monotonic(self) -> float:
        """Seconds of the monotonic clock of the process whose code runs."""
        assert self.current is not None
        return self.current.mono

    def monotonic_ns(self) -> int:
        """Nanoseconds of that clock."""
        return int(self.monotonic() * 1e9)

    perf_counter_ns = monotonic_ns

    def time_ns(self) -> int:
        """Nanoseconds since 1970, as that process has it."""
        assert self.current is not None
        return self.current.clock.time_ns()

    def thread_time_ns(self) -> int:
        """Nanoseconds of processor time: nothing takes any."""
        return 0

    def new_id(self) -> UUID:
        """A new id of version 7, later than all before."""
        self._ids += 1
        milliseconds = EPOCH // 1_000_000 + int(self.now * 1000)
        return UUID(int=(milliseconds << 80) | (7 << 76) | (2 << 62) | self._ids)

    # --- events ---------------------------------------------------------------------------------

    def at(self, delay: float, do: Callable[..., object], *args: Any) -> None:
        """Do something after a delay, in seconds."""
        self._count += 1
        heapq.heappush(self._events, (self.now + delay, self._count, do, args))

    def run(self, until: float) -> None:
        """Let time pass.

        A turn takes time too: a wait that ends a rounding error early is begun again, and would
        end at the same moment for ever.

        Raises:
            ViolationError: something does not hold.
        """
        events, processes = self._events, list(self.processes.values())
        while True:
            at = events[0][0] if events else float("inf")
            chosen = None
            for process in processes:
                due = process.due()
                if due < at:
                    at, chosen = due, process
            if at > until:
                break
            if at > self.now:
                self.now = at
            if chosen is None:
                _, _, do, args = heapq.heappop(events)
                do(*args)
            else:
                chosen.turn()
                self.now += TURN_SECONDS
            if self._violation is not None:
                raise ViolationError(self._violation)
        self.now = until

    def violated(self, text: str) -> None:
        """Report that something does not hold, from within a callback."""
        if self._violation is None:
            self._violation = text

    def note(self, text: str) -> None:
        """A line of the schedule, where it is printed."""
        if self.trace is not None:
            self.trace.append(f"{self.now:9.4f}  {text}")

    def end(self) -> None:
        """Drop everything that is under way."""
        trace, self.trace = self.trace, None
        for process in self.processes.values():
            process.is_alive = False
            self.current = process
            for loop in process.loops:
                loop.end()
        self._events.clear()
        self.trace = trace

    # --- the network ----------------------------------------------------------------------------

    def delay(self) -> float:
        """Seconds that a message takes."""
        weather, chosen = self.weather, self.random
        delay = 0.0001 + chosen.expovariate(1.0 / weather.delay)
        if weather.late and chosen.random() < weather.late:
            delay += chosen.random() * weather.lateness
        return delay

    def is_lost(self, one: str, other: str) -> bool:
        """Whether a message between two is lost."""
        if self.cuts and frozenset((one, other)) in self.cuts:
            return True
        if one in self.islands or other in self.islands:
            return True
        return self.weather.loss > 0 and self.random.random() < self.weather.loss

    def _told(self) -> None:
        """The database notifies whoever listens."""
        if self.after_change:
            self.at(self.delay(), self.after_change.pop())
        for process in self.processes.values():
            if process.listens is not None and not self.is_lost(process.name, "db"):
                self.at(self.delay(), self._tell, process, process.run)

    def _tell(self, process: Process, run: int) -> None:
        if process.run == run and process.is_alive and process.listens is not None:
            process.soon(process.listens)
