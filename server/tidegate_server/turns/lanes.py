"""Every tenant's lane, the order of their steps, and the threads off the loop.

Use it only on the event loop's thread, except for the work that :meth:`Lanes.run` runs.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from time import thread_time_ns
from typing import TYPE_CHECKING, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from tidegate_server.http.problems import Problem
from tidegate_server.stores.niceness import be_nice
from tidegate_server.turns.account import PROOF, Account
from tidegate_server.turns.call import refuse
from tidegate_server.turns.gate import Gate
from tidegate_server.turns.lane import Lane
from tidegate_server.turns.line import Line

if TYPE_CHECKING:
    from uuid import UUID

    from prometheus_client.core import Metric


T = TypeVar("T")

MOST_WAITING = 2_000
"""How many calls of a tenant may wait, unless the settings say otherwise."""
UNKNOWN_AT_ONCE = 6
"""Steps of unknown tenants off the loop: nearly all end soon, and few are heavy."""
MOST_HEAVY_AT_ONCE = 4


class Lanes:
    """The lanes of all tenants.

    Args:
        most_waiting: how many calls of one tenant may wait.
        proof: as for :class:`Account`.
        heavy_at_once: how many steps of heavy tenants run at a time; None leaves one processor to
            the loop.
    """

    def __init__(
        self,
        most_waiting: int = MOST_WAITING,
        proof: int = PROOF,
        heavy_at_once: int | None = None,
    ) -> None:
        self._most_waiting = most_waiting
        self._proof = proof
        self._lanes: dict[str, Lane] = {}
        self.ready: deque[Lane] = deque()
        """Lanes with a step to run, in order."""
        self._parked: list[Lane] = []
        self._held: dict[UUID, Lane] = {}
        self.turn = 0
        """The number of the present turn."""
        self.heavy = Line(heavy_at_once or processors_beside())
        self.unknown = Line(UNKNOWN_AT_ONCE)
        self.gate = Gate(self._wake)
        self.wake: Callable[[], None] = _nothing
        """Called when there is work; the queue registers itself here."""
        self.steps_beside = 0
        """Steps run off the loop since the start."""
        self._threads = ThreadPoolExecutor(
            self.heavy.places + self.unknown.places, "tidegate-decide", initializer=be_nice
        )

    def of(self, tenant_text: str, tenant_id: UUID) -> Lane:
        """Return the lane of a tenant, created on first use."""
        lane = self._lanes.get(tenant_text)
        if lane is None:
            account = Account(self._proof)
            lane = Lane(tenant_id, account, self._most_waiting, self._opened)
            self._lanes[tenant_text] = lane
        return lane

    def drop(self, lane: Lane) -> None:
        """Forget the lane of a deleted tenant, unless it still has calls or a step."""
        if not (lane.waiting or lane.gate.under_way or lane.gate.is_shut or lane.is_listed):
            self._lanes.pop(str(lane.tenant_id), None)

    def keep(self, tenant_texts: Collection[str]) -> None:
        """Forget the lanes of all other tenants, which have no keys left."""
        for lane in [lane for text, lane in self._lanes.items() if text not in tenant_texts]:
            self.drop(lane)

    def line_up(self, lane: Lane) -> None:
        """Queue a lane if it has a step to run and isn't queued yet.

        A lane without a step in this turn or the last goes before the others.
        """
        if not lane.may_step or lane.is_listed:
            return
        lane.is_listed = True
        if lane.last_turn + 1 < self.turn:
            self.ready.appendleft(lane)
        else:
            self.ready.append(lane)
        self.wake()

    def next(self) -> Lane:
        """Return the lane that runs the next step on the loop."""
        lane = self.ready.popleft()
        lane.is_listed = False
        lane.last_turn = self.turn
        return lane

    def park(self, lane: Lane) -> None:
        """Have a lane wait until the log takes more of its decisions."""
        lane.is_listed = True
        self._parked.append(lane)

    def go_on(self) -> None:
        """Resume every lane, as the log takes decisions again."""
        parked, self._parked = self._parked, []
        for lane in parked:
            lane.is_listed = False
            self.line_up(lane)

    def hold(self, lane: Lane) -> None:
        """Have a lane wait until its tenant is loaded: :meth:`release`."""
        lane.is_listed = True
        self._held[lane.tenant_id] = lane

    def release(self, tenant_id: UUID) -> None:
        """Resume the lane of a tenant, as it is loaded, or can't be."""
        lane = self._held.pop(tenant_id, None)
        if lane is not None:
            lane.is_listed = False
            self.line_up(lane)

    def put_beside(self, lane: Lane, now: int) -> None:
        """Have a lane wait for a thread."""
        lane.is_listed = True
        line = self.heavy if lane.account.is_heavy(now) else self.unknown
        line.add(lane, now)

    def next_beside(self) -> tuple[Lane, Line] | None:
        """Return the lane to run on a thread now; None if none is due."""
        if self.gate.is_shut:
            return None
        for line in (self.unknown, self.heavy):
            lane = line.next()
            if lane is not None:
                lane.is_listed = False
                return lane, line
        return None

    def begun(self, lane: Lane, line: Line) -> None:
        """Count the start of a step off the loop."""
        self.steps_beside += 1
        line.under_way += 1
        self.gate.enter()
        lane.gate.enter()

    def ended(self, lane: Lane, line: Line, spent: int) -> None:
        """Count the end of a step off the loop, with its decisions handed to the log.

        Args:
            spent: nanoseconds of CPU time.
        """
        line.under_way -= 1
        lane.had += spent
        lane.gate.leave()
        self.gate.leave()
        self.line_up(lane)
        self._wake()

    async def run(self, work: Callable[[], T]) -> tuple[T, int]:
        """Do work on a thread; return its result, and its CPU time in nanoseconds."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, timed, work)

    def still(self, tenant_id: UUID) -> AbstractAsyncContextManager[None]:
        """Run the block between two decisions of a tenant, once all are handed to the log.

        The body must not wait. Meanwhile no decision is made on the loop, and none of this tenant
        off the loop.
        """
        return self.of(str(tenant_id), tenant_id).gate.shut()

    def all_still(self) -> AbstractAsyncContextManager[None]:
        """Run the block between two decisions of every tenant, like :meth:`still`."""
        return self.gate.shut()

    async def close(self) -> None:
        """Refuse waiting calls, and return once no decision is in progress."""
        for lane in self._lanes.values():
            refuse(lane.take_all(), Problem("not-ready", headers={"retry-after": "1"}))
        async with self.all_still():
            pass
        self._threads.shutdown(wait=False)

    def figures(self, now: int) -> list[Metric]:
        """Return figures for all lanes together."""
        lanes = list(self._lanes.values())
        return [
            GaugeMetricFamily(
                "tidegate_waiting_calls",
                "Hot calls that wait to be decided.",
                sum(lane.waiting for lane in lanes),
            ),
            GaugeMetricFamily(
                "tidegate_heavy_tenants",
                "Tenants whose decisions cost so much that they are made beside the loop.",
                sum(lane.account.is_heavy(now) for lane in lanes),
            ),
            CounterMetricFamily(
                "tidegate_steps_beside",
                "Steps of decisions that were made beside the loop.",
                self.steps_beside,
            ),
            GaugeMetricFamily(
                "tidegate_beside_wait_seconds",
                "How long the tenant that waits longest for a thread has been waiting.",
                max(line.waited(now) for line in (self.unknown, self.heavy)) / 1e9,
            ),
        ]

    def _opened(self, lane: Lane) -> None:
        self.line_up(lane)
        self._wake()

    def _wake(self) -> None:
        self.wake()


def timed(work: Callable[[], T]) -> tuple[T, int]:
    """Return the result of work, and the CPU time it took on this thread, in nanoseconds."""
    started = thread_time_ns()
    made = work()
    return made, thread_time_ns() - started


def processors_beside() -> int:
    """Return how many processors the loop can do without: at least 1."""
    return max(1, min(MOST_HEAVY_AT_ONCE, (os.cpu_count() or 1) - 1))


def _nothing() -> None:
    """Do nothing, as no queue has registered yet."""
