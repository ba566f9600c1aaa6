"""What has to hold whatever happens, and the reference that says so.

Some of it is looked at as it happens; the rest after the schedule, over the log.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import orjson
from tests.simulation.deciding import EVENTS_A_MINUTE, SECOND, KeptLimits, compiled
from tests.simulation.process import DATABASE, GATEWAY

from tidegate.policy.reference_engine import ReferenceEngine
from tidegate_server.cluster.messages import Answer, Block, Entry, Refusal

if TYPE_CHECKING:
    from tests.simulation.callers import Attempt
    from tests.simulation.database import Log
    from tests.simulation.process import Process
    from tests.simulation.world import World

LATEST_TICK = GATEWAY.backoff + 0.01
"""Seconds by which a refusal may be later than the bound it is for."""


class ViolationError(Exception):
    """Something does not hold."""


class Oracle:
    """Watches a world.

    Args:
        world: which.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.limits: list[KeptLimits] = []
        self.answered: list[tuple[Attempt, Answer]] = []
        self._numbers: dict[str, tuple[int, int]] = {}
        """Of each decision in the log its partition and number."""
        self._ends: Counter[int] = Counter()
        """Of each partition the highest number that a caller has had an answer of."""
        self._keys: dict[tuple[str, str], bytes] = {}

    # --- as it happens ------------------------------------------------------------------------

    def appended(self, partition: int, block: Block) -> None:
        """The log took a block."""
        for number, entry in enumerate(block.entries, block.after + 1):
            self._numbers[entry.decision_id] = (partition, number)

    def outcome(self, attempt: Attempt, outcome: Answer | Refusal) -> None:
        """A caller got an outcome."""
        now, process = self._world.now, attempt.process
        assert process is not None
        taken = now - attempt.made_at - process.stalled_between(attempt.made_at, now)
        if taken > GATEWAY.time + LATEST_TICK:
            raise ViolationError(f"{attempt.decision_id} took {taken:.3f} s")
        if isinstance(outcome, Refusal):
            return
        self.answered.append((attempt, outcome))
        if attempt.key is not None:
            first = self._keys.setdefault((attempt.tenant, attempt.key), outcome.body)
            if first != outcome.body:
                raise ViolationError(f"two answers for the key {attempt.key}")
        known = self._numbers.get(attempt.decision_id)
        if known is not None:
            partition, number = known
            self._ends[partition] = max(self._ends[partition], number)
        self.read(self._world.database.tenants[attempt.tenant])

    def read(self, partition: int) -> None:
        """Read the state wherever it is answered: it has what callers were answered."""
        for process in self._world.processes.values():
            if not process.is_alive or process.stalled_until > self._world.now:
                continue
            owner = process.node.owners.get(partition)
            if owner is None or owner.state is None or not owner.can_read(process.mono):
                continue
            position, end = owner.state.position, self._ends[partition]
            if position >= end:
                continue
            text = f"{process.name} answers a read of partition {partition} at {position}, and "
            text += f"{end} was answered"
            if not owner.confirms:
                raise ViolationError(text)
            # The answer goes out once the database has said that the session is alive.
            session = process.node.ownership.session
            self._world.at(self._world.delay(), self._confirm, process, session, text)

    def _confirm(self, process: Process, session: int | None, text: str) -> None:
        if session in self._world.database.sessions and not self._world.is_lost(
            process.name, DATABASE
        ):
            raise ViolationError(text)

    def read_all(self) -> None:
        """As :meth:`read`, of every partition."""
        for partition in self._world.database.logs:
            self.read(partition)

    # --- afterwards ---------------------------------------------------------------------------

    def check(self) -> None:
        """Look at everything, after the schedule.

        Raises:
            ViolationError: something does not hold.
        """
        for partition, log in self._world.database.logs.items():
            _check_numbers(partition, log)
        entries = [
            entry
            for log in self._world.database.logs.values()
            for block in log.blocks
            for entry in block.entries
        ]
        self._check_answers(entries)
        _check_fold(entries)
        for limits in self.limits:
            _check_limits(limits)

    def _check_answers(self, entries: list[Entry]) -> None:
        ids = Counter(entry.decision_id for entry in entries)
        for decision_id, count in ids.items():
            if count > 1:
                raise ViolationError(f"{decision_id} is in the log {count} times")
        by_id = {entry.decision_id: entry for entry in entries}
        by_key: dict[tuple[str, str], Entry] = {}
        for entry in entries:
            if (
                entry.key is not None
                and by_key.setdefault((entry.tenant, entry.key), entry) != entry
            ):
                raise ViolationError(f"the key {entry.key} is in the log twice")
        for attempt, answer in self.answered:
            if attempt.key is None:
                recorded = by_id.get(attempt.decision_id)
            else:
                recorded = by_key.get((attempt.tenant, attempt.key))
            if recorded is None:
                raise ViolationError(f"{attempt.decision_id} was answered and is not in the log")
            if recorded.body != attempt.body:
                raise ViolationError(f"{attempt.decision_id} has the answer of another body")
            if recorded.answer != answer.body:
                raise ViolationError(f"{attempt.decision_id} had another answer than the log")


def _check_numbers(partition: int, log: Log) -> None:
    """Numbers without a gap, and no block of an epoch that had ended."""
    end = 0
    for block in log.blocks:
        if block.after != end:
            raise ViolationError(f"partition {partition}: a block after {block.after}, not {end}")
        end = block.end
    ends = dict(zip((epoch for epoch, _ in log.claims), log.claims[1:], strict=False))
    begins = dict(log.claims)
    for block in log.blocks:
        _, ended_at = ends.get(block.epoch, (0, end))
        if not begins[block.epoch] <= block.after < block.end <= ended_at:
            raise ViolationError(
                f"partition {partition}: epoch {block.epoch} counts after its end, at {block.end}"
            )


def _check_fold(entries: list[Entry]) -> None:
    """Every decision is what the reference makes of those before it."""
    engines: dict[str, ReferenceEngine] = {}
    for entry in entries:
        engine = engines.get(entry.tenant)
        if engine is None:
            engine = engines[entry.tenant] = ReferenceEngine(compiled())
        served = engine.serve(_event(entry.body), entry.received_at, entry.decision_id)
        for name in ("answer", "record", "effects"):
            if getattr(served, name) != getattr(entry, name):
                raise ViolationError(
                    f"{entry.decision_id}: the {name} is {getattr(entry, name)!r}, "
                    f"the reference's is {getattr(served, name)!r}"
                )


@cache
def _event(body: bytes) -> Any:
    """An event that the reference need not read again: it takes what is read as well."""
    return orjson.loads(body)


def _check_limits(limits: KeptLimits) -> None:
    """A call was counted once, and refused only where distinct calls had filled the limit."""
    step, burst = 60 * SECOND // EVENTS_A_MINUTE, EVENTS_A_MINUTE // 10
    times: dict[str, int] = {}
    counted: set[str] = set()
    for tenant, decision_id, at, had_room in limits.taken:
        if had_room and decision_id in counted:
            raise ViolationError(f"{decision_id} was counted twice by the limit of {tenant}")
        arrival = max(times.get(tenant, at), at)
        has_room = arrival - at <= (burst - 1) * step
        if decision_id not in counted and has_room != had_room:
            raise ViolationError(f"{decision_id}: room was {has_room}, the limit says {had_room}")
        if has_room and decision_id not in counted:
            times[tenant] = arrival + step
            counted.add(decision_id)
