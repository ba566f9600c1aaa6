"""A schedule: what one seed makes happen, and whether everything held."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

import attrs
from tests.simulation.callers import Callers
from tests.simulation.database import Log
from tests.simulation.oracle import ViolationError
from tests.simulation.process import DATABASE, Model
from tests.simulation.world import Weather, World

from tidegate_server.cluster.messages import Answer, Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

BEGIN, FAULTS, HEALING, CLOSING = 1.5, 6.5, 5.0, 5.2
"""Seconds: until the first call, with calls and faults, until all is well, and until the end."""
READ_EVERY = 0.1
"""Seconds between two looks at what reads would be answered."""
LAST_REASONS = frozenset({"limit", "event"})
"""Refusals that a healthy cluster gives."""


@attrs.frozen
class Kind:
    """What processes and logs are made of: the product, or one with a planted fault."""

    model: type[Model] = Model
    log: type[Log] = Log


PRODUCT = Kind()


@attrs.frozen
class Result:
    """What came of a seed.

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


def run(seed: int, kind: Kind = PRODUCT, *, traced: bool = False) -> Result:
    """Run one seed.

    Args:
        seed: of everything that is random.
        kind: of what the processes are made.
        traced: keep what happens, line by line.
    """
    schedule = Schedule(seed, kind, traced=traced)
    violation = None
    try:
        schedule.run()
    except ViolationError as error:
        violation = str(error)
    except Exception as error:  # a fault of the logic: the seed is what finds it again
        violation = f"{type(error).__name__}: {error}"
        if schedule.world.trace is not None:
            schedule.world.trace += traceback.format_exc().splitlines()
    world = schedule.world
    entries = sum(log.end for log in world.database.logs.values())
    return Result(seed, violation, world.trace or (), len(schedule.callers.attempts), entries)


class Schedule:
    """One seed's processes, callers and faults.

    Args:
        seed: of everything that is random.
        kind: of what the processes are made.
        traced: keep what happens, line by line.
    """

    def __init__(self, seed: int, kind: Kind = PRODUCT, *, traced: bool = False) -> None:
        chosen = Random(seed)
        names = "abc"[: chosen.choice((2, 3, 3))]
        partitions = chosen.choice((1, 1, 2))
        tenants = {f"t{number}": number % partitions for number in range(2)}
        self.world = World(seed, names, partitions, tenants, kind.model, kind.log)
        self.callers = Callers(self.world)
        self._chosen = chosen
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
            world.at(BEGIN + (number + chosen.random()) * READ_EVERY, world.oracle.read_all)
        world.run(BEGIN + FAULTS + HEALING)
        self.callers.is_closed = True
        for tenant in world.database.tenants:
            for _ in range(2):
                self.callers.call(keyed=0.5, is_last=True, tenant=tenant)
        world.run(BEGIN + FAULTS + HEALING + CLOSING)
        self._check_end()
        world.oracle.check()

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
        world.cuts.clear()
        world.islands.clear()
        for process in world.processes.values():
            process.stalled_until = min(process.stalled_until, world.now)
            if not process.is_alive:
                process.start()
            world.database.drain(process.name, is_draining=False)

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
        if process.connection is not None:
            soon = chosen.random() < 0.6
            world.at(0.02 if soon else chosen.uniform(0.5, 3.0), world.end, process.connection)
        world.at(0.3 + chosen.random() * 4.0, self._restart, process.name)

    def _restart(self, name: str) -> None:
        process = self.world.processes[name]
        if not process.is_alive:
            self.world.note(f"{name} starts")
            process.start()

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
        partition = self.world.random.choice(list(database.logs))
        member = self.world.random.choice(list(database.members))
        self.world.note(f"partition {partition} is moved to {member}")
        database.move(partition, member)

    def end_session(self) -> None:
        """A session ends though its process lives, which the process hears at its next request."""
        world = self.world
        process = world.random.choice(list(world.processes.values()))
        if process.connection is not None:
            world.note(f"the session of {process.name} ends")
            world.end(process.connection)

    def drain(self) -> None:
        """A member is drained, for an upgrade; it takes partitions again later."""
        world = self.world
        name = world.random.choice(list(world.processes))
        world.note(f"{name} is drained")
        world.database.drain(name, is_draining=True)
        world.at(world.random.uniform(1.0, 5.0), self._undrain, name)

    def _undrain(self, name: str) -> None:
        self.world.database.drain(name, is_draining=False)

    # --- the end ------------------------------------------------------------------------------

    def _check_end(self) -> None:
        """Every call has its outcome, and a cluster without faults answers."""
        waiting = self.callers.unanswered()
        if waiting:
            raise ViolationError(f"{waiting[0].decision_id} was neither answered nor refused")
        for attempt in self.callers.attempts:
            outcome = attempt.outcome
            if not attempt.is_last or isinstance(outcome, Answer):
                continue
            if not isinstance(outcome, Refusal) or outcome.reason not in LAST_REASONS:
                raise ViolationError(f"after all faults, {attempt.decision_id} had {outcome}")


_FAULTS: tuple[Callable[[Schedule], None], ...] = (
    Schedule.crash,
    Schedule.crash,
    Schedule.stall,
    Schedule.stall,
    Schedule.jump,
    Schedule.cut,
    Schedule.cut,
    Schedule.isolate,
    Schedule.isolate,
    Schedule.promote,
    Schedule.end_session,
    Schedule.end_session,
    Schedule.move,
    Schedule.move,
    Schedule.drain,
)
