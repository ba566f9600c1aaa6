"""A simulated process: a node of the product, its clocks, and whether it runs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
from tests.simulation.deciding import EngineDecider, KeptLimits
from tests.simulation.model.deciding import DecidingFollower, RecentAnswers
from tests.simulation.model.node import Node, Output, Parts
from tests.simulation.model.owner import Owner, OwnerBounds

from tidegate_server.cluster.follower import Follower
from tidegate_server.cluster.gateway import Bounds, Gateway
from tidegate_server.cluster.ownership import Ownership

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.world import World

DATABASE = "db"
"""What the network calls the database."""
EPOCH = 1_760_000_000_000_000_000
"""Nanoseconds since 1970 at the beginning of a schedule."""
GATEWAY = Bounds(ask_again=0.6, batch=4)
OWNER = OwnerBounds(calls=40, ahead=8, block=3, claim_again=0.7, append=1.5)
READ_EVERY = 0.5


class Model:
    """What processes are made of; planted faults are subclasses."""

    def __init__(self, world: World) -> None:
        self.world = world

    def owner(self, process: Process, *parts: Any) -> Owner:
        """An owner: partition, member, and the makers of followers and limits."""
        return Owner(*parts, OWNER)

    def follower(self, process: Process, partition: int) -> DecidingFollower:
        """The state of a process that has just started: nothing."""
        return Follower(partition, EngineDecider(), RecentAnswers(), 0, READ_EVERY)

    def sent(self, process: Process, output: Output) -> None:
        """A process gave something out."""


@attrs.define(eq=False)
class Connection:
    """A connection of a member's session.

    Attributes:
        session: its session; 0 until it has one.
        is_broken: nothing arrives in either direction.
        to_at: when the last request arrives.
        back_at: when the last result arrives.
    """

    session: int = 0
    is_broken: bool = False
    to_at: float = 0.0
    back_at: float = 0.0


class Process:
    """One process of the cluster.

    Args:
        world: that it is in.
        name: of the member, kept over restarts.
        model: what it is made of.
    """

    def __init__(self, world: World, name: str, model: Model) -> None:
        self.name = name
        self.world = world
        self.model = model
        self.run = 0
        """Counts starts; what was for an earlier run does not arrive."""
        self.is_alive = False
        self.stalled_until = 0.0
        self.is_waking = False
        """Its next step is the first after a stall."""
        self.stalls: list[tuple[float, float]] = []
        self.skew = 0.0
        self.node: Node
        self.connection: Connection | None = None
        """With the database; the session's requests and results keep their order on it."""
        self._offset = 0.0
        self._turn_due = False
        self._tick_at = float("inf")
        self._ids = 0

    # --- clocks -------------------------------------------------------------------------------

    @property
    def mono(self) -> float:
        """Seconds of its monotonic clock, which begins anywhere."""
        return self.world.now + self._offset

    @property
    def wall(self) -> int:
        """Nanoseconds since 1970, as its wall clock has it."""
        return EPOCH + int((self.world.now + self.skew) * 1e9)

    # --- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Start, or start again, with nothing in memory."""
        self.run += 1
        self.is_alive = True
        self.stalled_until = 0.0
        self.connection = None
        self._offset = self.world.random.uniform(10.0, 1000.0)
        self._turn_due = False
        self._tick_at = float("inf")
        parts = Parts(
            Gateway(f"{self.name}.{self.run}", self._new_id, GATEWAY),
            Ownership(self.name),
            self.world.database.tenants,
            lambda partition: self.model.follower(self, partition),
            self._new_limits,
            lambda *made: self.model.owner(self, *made),
        )
        self.node = Node(parts)
        self.act(lambda: [])  # noqa: PIE807

    def crash(self) -> None:
        """End at once; what is in memory is gone."""
        self.is_alive = False

    def stall(self, seconds: float) -> None:
        """Do nothing for a time, then go on as if nothing had been."""
        end = self.world.now + seconds
        self.stalls.append((self.world.now, end))
        self.stalled_until = max(self.stalled_until, end)

    def stalled_between(self, start: float, end: float) -> float:
        """Seconds within a time in which it could do nothing."""
        return sum(max(min(end, e) - max(start, s), 0.0) for s, e in self.stalls)

    # --- work ---------------------------------------------------------------------------------

    def act(self, step: Callable[[], list[Output]]) -> None:
        """Take a step, carry out what it gives, and see what is due next."""
        self.world.carry_out(self, step())
        node = self.node
        if not self._turn_due and node.has_turn:
            self._turn_due = True
            self.world.later(self.world.random.random() * 0.004, self, self._turn)
        due = node.next_at() - self._offset
        if due < self._tick_at - 1e-9:
            self._tick_at = due
            self.world.later(max(due - self.world.now, 0.0), self, partial(self._tick, due))

    def _turn(self) -> list[Output]:
        self._turn_due = False
        return self.node.turn(self.mono, self.wall)

    def _tick(self, due: float) -> list[Output]:
        if due != self._tick_at:  # an earlier one was due meanwhile
            return []
        self._tick_at = float("inf")
        return self.node.tick(self.mono + 1e-9)

    def _new_id(self) -> str:
        self._ids += 1
        # In the shape of a UUID, which the engine takes for a decision id.
        return f"{ord(self.name):08x}-{self.run:04x}-7000-8000-{self._ids:012x}"

    def _new_limits(self) -> KeptLimits:
        limits = KeptLimits()
        self.world.oracle.limits.append(limits)
        return limits
