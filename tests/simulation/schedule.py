"""A schedule: what one seed makes happen, and whether everything held."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from random import Random
from typing import TYPE_CHECKING, TypeAlias

import attrs
from tests.simulation.callers import Callers
from tests.simulation.oracle import LATEST, ViolationError
from tests.simulation.shipped import installed
from tests.simulation.world.service import account
from tests.simulation.world.wires import DATABASE
from tests.simulation.world.world import Weather, World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.simulation.world.process import Process

BEGIN, FAULTS, HEALING, CLOSING = 1.5, 6.5, 5.0, 5.2
"""Seconds: until the first call, with calls and faults, until all is well, and until the end."""
READ_EVERY = 0.2
"""Seconds between two reads."""
LAST = frozenset({200, 400, 429})
"""The outcomes that a healthy cluster gives."""
Planted: TypeAlias = Callable[[], AbstractContextManager[object]]
"""Gives the shipped code a fault, for a block."""


@attrs.frozen
class Result:
    """The result of a seed.

    Attributes:
        seed: which.
        violation: what did not hold; None when all did.
        trace: the schedule, line by line, where it was asked for.
        calls: how many were made.
        entries: decisions in the log at the end.
    """

    seed: int
    violation: str | None
    trace: Sequence[str]
    calls: int
    entries: int


def run(seed: int, planted: Planted = nullcontext, *, traced: bool = False) -> Result:
    """Run one seed.

    Args:
        seed: of everything that is random.
        planted: a fault of the code; none when left out.
        traced: keep what happens, line by line.
    """
    schedule = Schedule(seed, traced=traced)
    world, violation = schedule.world, None
    with installed(world, world.new_id, world.log), planted():
        try:
            schedule.run()
        except ViolationError as error:
            violation = str(error)
        except Exception as error:  # a fault of the logic: the seed is what finds it again
            violation = f"{type(error).__name__}: {error}"
            if world.trace is not None:
                world.trace += traceback.format_exc().splitlines()
        finally:
            world.end()
    entries = sum(table.end for table in world.database.tables.values())
    return Result(seed, violation, world.trace or (), len(schedule.callers.attempts), entries)


class Schedule:
    """One seed's processes, callers and faults.

    Args:
        seed: of everything that is random.
        traced: keep what happens, line by line.
    """

    def __init__(self, seed: int, *, traced: bool = False) -> None:
        chosen = Random(seed)
        names = "abc"[: chosen.choice((1, 2, 3, 3))]
        partitions = chosen.choice((1, 1, 2))
        accounts = [account(number, number % partitions) for number in range(2)]
        self.world = World(seed, names, partitions, accounts)
        self.callers = Callers(self.world)
        self._chosen = chosen
        self.world.exited = self._exited
        if traced:
            self.world.trace = []

    def run(self) -> None:
        """Let everything happen, then look.

        Raises:
            ViolationError: something does not hold.
        """
        world, chosen = self.world, self._chosen
        for process in world.processes.values():
            world.at(chosen.random() * 0.3, process.start)
        self._plan_calls()
        self._plan_faults()
        world.at(BEGIN + FAULTS, self._heal)
        for number in range(int(FAULTS / READ_EVERY)):
            world.at(BEGIN + (number + chosen.random()) * READ_EVERY, self.callers.read)
        world.run(BEGIN + FAULTS + HEALING)
        self.callers.is_closed = True
        for each in world.accounts:
            for _ in range(2):
                self.callers.call(keyed=0.5, is_last=True, account=each)
        world.run(BEGIN + FAULTS + HEALING + CLOSING)
        self._check_end()
        world.oracle.check(self.callers.attempts)

    # --- what happens -------------------------------------------------------------------------

    def _plan_calls(self) -> None:
        """Calls alone and in bursts, now and then more than a limit has room for."""
        chosen = self._chosen
        keyed = chosen.choice((0.2, 0.5, 0.9))
        for _ in range(chosen.randint(6, 14)):
            begin = BEGIN + chosen.random() * FAULTS
            for _ in range(chosen.choice((1, 1, 2, 3, 5, 9))):
                delay = begin + chosen.random() * 0.3
                self.world.at(delay, lambda: self.callers.call(keyed=keyed))

    def _plan_faults(self) -> None:
        chosen = self._chosen
        self.world.weather = Weather(
            delay=chosen.choice((0.001, 0.005, 0.02)),
            loss=chosen.choice((0.0, 0.0, 0.01, 0.05)),
            silence=chosen.choice((0.2, 0.8)),
            late=chosen.choice((0.0, 0.0, 0.01, 0.04)),
            twice=chosen.choice((0.0, 0.0, 0.05)),
        )
        for process in self.world.processes.values():
            process.skew = chosen.uniform(-2.0, 2.0)
        for _ in range(chosen.randint(1, 5)):
            fault = chosen.choice(_FAULTS)
            self.world.at(BEGIN + chosen.random() * FAULTS, fault, self)

    def _heal(self) -> None:
        """All faults end."""
        world = self.world
        world.note("healed")
        world.weather = Weather()
        world.is_full = False
        world.cuts.clear()
        world.islands.clear()
        for process in world.processes.values():
            process.stalled_until = min(process.stalled_until, world.now)
            if not process.is_alive:
                self._start(process)

    def _exited(self, process: Process) -> None:
        """A process has stopped: whoever asked for it starts it again, of a newer version."""
        self.callers.lost(process)
        self._end_session(process, 0.02)
        self.world.at(0.1 + self.world.random.random() * 2.0, self._start, process)

    def _start(self, process: Process) -> None:
        if not process.is_alive:
            self.world.note(f"{process.name} starts")
            process.start()

    def _end_session(self, process: Process, after: float) -> None:
        """The database notices that a session's process is gone."""
        for number, name in self.world.database.sessions.items():
            if name == process.name:
                self.world.at(after, self.world.database.end, number)

    # --- faults -------------------------------------------------------------------------------

    def crash(self) -> None:
        """A process dies and comes back; or its machine does, which nobody notices at once."""
        world, chosen = self.world, self.world.random
        process = chosen.choice(list(world.processes.values()))
        if not process.is_alive:
            return
        world.note(f"{process.name} crashes")
        process.crash()
        self.callers.lost(process)
        self._end_session(process, 0.02 if chosen.random() < 0.6 else chosen.uniform(0.5, 3.0))
        world.at(0.3 + chosen.random() * 4.0, self._start, process)

    def stop(self) -> None:
        """A process is asked to stop, at any moment of its life."""
        process = self.world.random.choice(list(self.world.processes.values()))
        if process.is_alive:
            self.world.note(f"{process.name} is asked to stop")
            process.stop()

    def stop_all(self) -> None:
        """All processes are asked to stop, each as soon as the one before lets go of something."""
        world = self.world
        world.note("all are asked to stop")
        world.after_change += [process.stop for process in world.processes.values()]
        self.stop()

    def fill(self) -> None:
        """The database's disk is full for a time."""
        self.world.note("the disk is full")
        self.world.is_full = True
        self.world.at(self.world.random.uniform(0.1, 3.0), self._empty)

    def _empty(self) -> None:
        self.world.is_full = False

    def stall(self) -> None:
        """A process does nothing for a time, and goes on."""
        process = self.world.random.choice(list(self.world.processes.values()))
        seconds = self.world.random.choice((0.3, 1.5, 3.5, 5.0)) * self.world.random.uniform(0.7, 1)
        self.world.note(f"{process.name} stalls for {seconds:.3f} s")
        process.stall(seconds)

    def jump(self) -> None:
        """A wall clock is set."""
        process = self.world.random.choice(list(self.world.processes.values()))
        process.skew += self.world.random.choice((-20.0, -3.0, -0.5, 0.5, 3.0, 20.0))
        self.world.note(f"{process.name}'s wall clock is {process.skew:.1f} s off")

    def cut(self) -> None:
        """Two cannot reach each other for a time; often one of them is the database."""
        world, chosen = self.world, self.world.random
        one, other = chosen.sample([*world.processes, DATABASE, DATABASE], 2)
        if one == other:
            other = next(iter(world.processes))
        pair = frozenset((one, other))
        world.note(f"{one} and {other} are cut off")
        world.cuts.add(pair)
        world.at(chosen.uniform(0.2, 6.0), world.cuts.discard, pair)

    def reset(self) -> None:
        """Links between processes break a few times, with what is on its way on them."""
        chosen = self.world.random
        for _ in range(chosen.randint(1, 8)):
            self.world.at(chosen.random() * 2.0, self._reset)

    def _reset(self) -> None:
        process = self.world.random.choice(list(self.world.processes.values()))
        self.world.note(f"the links of {process.name} break")
        for end in process.ends:
            end.reset()

    def isolate(self) -> None:
        """The network leaves a process alone; its wall clock may be set meanwhile."""
        world, chosen = self.world, self.world.random
        name = chosen.choice(list(world.processes))
        world.note(f"{name} is alone")
        world.islands.add(name)
        if chosen.random() < 0.5:
            world.processes[name].skew += chosen.choice((-20.0, 20.0))
        world.at(chosen.uniform(0.2, 6.0), world.islands.discard, name)

    def promote(self) -> None:
        """The standby takes over; every claim is void."""
        self.world.note("promotion")
        self.world.database.promote()

    def move(self) -> None:
        """An operator moves a partition."""
        database = self.world.database
        if not database.members:
            return
        partition = self.world.random.choice(list(database.tables))
        member = self.world.random.choice(list(database.members))
        self.world.note(f"partition {partition} is moved to {member}")
        database.move(partition, member)

    def end_session(self) -> None:
        """A session ends though its process lives, which the process hears at its next request."""
        process = self.world.random.choice(list(self.world.processes.values()))
        self.world.note(f"the session of {process.name} ends")
        self._end_session(process, 0.0)

    def drain(self) -> None:
        """A member is drained, for an upgrade: its process stops, and another one starts."""
        name = self.world.random.choice(list(self.world.processes))
        self.world.note(f"{name} is drained")
        self.world.database.drain(name)

    # --- the end ------------------------------------------------------------------------------

    def _check_end(self) -> None:
        """Every call has its outcome, and a cluster without faults answers."""
        waiting = self.callers.unanswered(LATEST)
        if waiting:
            raise ViolationError(f"call {waiting[0].number} was neither answered nor refused")
        for process in self.world.processes.values():
            if process.has_to_stop:
                raise ViolationError(f"{process.name} was asked to stop and still runs")
        for attempt in self.callers.attempts:
            if attempt.is_last and attempt.status not in LAST:
                text = f"{attempt.status} {attempt.code}" if attempt.status else "no answer"
                raise ViolationError(f"after all faults, call {attempt.number} had {text}")


_FAULTS: tuple[Callable[[Schedule], None], ...] = (
    Schedule.crash,
    Schedule.crash,
    Schedule.stall,
    Schedule.stall,
    Schedule.jump,
    Schedule.cut,
    Schedule.cut,
    Schedule.reset,
    Schedule.reset,
    Schedule.isolate,
    Schedule.isolate,
    Schedule.promote,
    Schedule.end_session,
    Schedule.end_session,
    Schedule.move,
    Schedule.move,
    Schedule.drain,
    Schedule.stop,
    Schedule.stop_all,
    Schedule.stop_all,
    Schedule.fill,
)
