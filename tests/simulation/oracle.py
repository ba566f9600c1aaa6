"""The invariants that hold whatever happens, and the reference that defines them.

Some of it is looked at as it happens; the rest after the schedule, over the log.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import orjson
from tests.simulation.world.service import BASE_URL, EVENTS_A_MINUTE, compiled, decision_in

from tidegate.policy.reference_engine import ReferenceEngine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.simulation.callers import Attempt
    from tests.simulation.world.partition_log import Table
    from tests.simulation.world.process import Process
    from tests.simulation.world.world import World

    from tidegate_server.stores.decision_log.lines import LoggedDecision

LATEST = 12.0
"""Seconds after which a call has an outcome: a gateway's ten, and the end of a stalled commit."""
COPIES = 3
"""How often a gateway may send a call before the limit is looked at."""
STATUSES = frozenset({200, 400, 422, 429, 503})


class ViolationError(Exception):
    """Something does not hold."""


class Oracle:
    """Watches a world.

    Args:
        world: which.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.answered: list[Attempt] = []
        self._numbers: dict[str, tuple[int, int]] = {}
        """Of each decision in the log its partition and number."""
        self._read: Counter[int] = Counter()
        """How many decisions of each log are in it."""
        self._ends: Counter[int] = Counter()
        """Of each partition the highest number that a caller has had an answer of."""
        self._keys: dict[tuple[bytes, str], bytes] = {}

    # --- as it happens ------------------------------------------------------------------------

    def appended(self, partition: int) -> None:
        """The log took decisions."""
        lines = self._world.database.tables[partition].lines
        for number in range(self._read[partition], len(lines)):
            name = str(decision_in(lines[number]).decision_id)
            self._numbers[name] = (partition, number + 1)
        self._read[partition] = len(lines)

    def outcome(self, attempt: Attempt) -> None:
        """A caller got an outcome."""
        world, process = self._world, attempt.process
        assert process is not None
        now = world.now
        taken = now - attempt.made_at - process.stalled_between(attempt.made_at, now)
        if taken > LATEST:
            world.violated(f"call {attempt.number} took {taken:.3f} s")
        if attempt.status not in STATUSES:
            world.violated(f"call {attempt.number} had {attempt.status} {attempt.code}")
        if attempt.status != HTTPStatus.OK:
            return
        self.answered.append(attempt)
        if attempt.key is not None:
            at = (attempt.account.credential, attempt.key)
            if self._keys.setdefault(at, attempt.answer) != attempt.answer:
                world.violated(f"two answers for the key {attempt.key}")
        known = self._numbers.get(_id_in(attempt.answer))
        if known is None:
            world.violated(f"call {attempt.number} was answered and is not in the log")
            return
        partition, number = known
        self._ends[partition] = max(self._ends[partition], number)

    def end_of(self, partition: int) -> int:
        """The number that a read which begins now has to include."""
        return self._ends[partition]

    def read(self, process: Process, partition: int, least: int, status: int, body: bytes) -> None:
        """A read was answered: it has what callers had been answered before it began."""
        if status == HTTPStatus.OK and int(body) < least:
            self._world.violated(
                f"{process.name} answers a read of partition {partition} at {int(body)}, and"
                f" {least} was answered before"
            )

    # --- afterwards ---------------------------------------------------------------------------

    def check(self, attempts: Sequence[Attempt]) -> None:
        """Look at everything, after the schedule.

        Args:
            attempts: that callers made.

        Raises:
            ViolationError: something does not hold.
        """
        decisions = []
        for partition, table in self._world.database.tables.items():
            _check_numbers(partition, table)
            decisions += [decision_in(line) for line in table.lines]
        self._check_answers(decisions)
        _check_fold(decisions)
        _check_limits(attempts)

    def _check_answers(self, decisions: list[LoggedDecision]) -> None:
        by_id: dict[str, LoggedDecision] = {}
        by_call: dict[int, LoggedDecision] = {}
        by_key: set[bytes] = set()
        for each in decisions:
            name = str(each.decision_id)
            if name in by_id:
                raise ViolationError(f"{name} is in the log twice")
            by_id[name] = each
            number = _event(each.event)["fields"]["call"]
            if by_call.setdefault(number, each) is not each:
                raise ViolationError(f"call {number} is in the log twice")
            if each.idempotency is not None:
                if each.idempotency[0] in by_key:
                    raise ViolationError(f"the key of {name} is in the log twice")
                by_key.add(each.idempotency[0])
        for attempt in self.answered:
            recorded = by_id[_id_in(attempt.answer)]
            if recorded.event != attempt.body:
                raise ViolationError(f"call {attempt.number} has the answer of another body")
            if recorded.answer != attempt.answer:
                raise ViolationError(f"call {attempt.number} had another answer than the log")


def _check_limits(attempts: Sequence[Attempt]) -> None:
    """A call is refused by the limit only where distinct calls can have filled it."""
    step, burst = 60 / EVENTS_A_MINUTE, EVENTS_A_MINUTE // 10
    keys = Counter((each.account.credential, each.key) for each in attempts)
    # The answer of a key is in the log under another id, so each copy that a gateway sends counts.
    weights = {
        each: COPIES if each.key and keys[each.account.credential, each.key] > 1 else 1
        for each in attempts
    }
    for refused in attempts:
        if refused.status != HTTPStatus.TOO_MANY_REQUESTS:
            continue
        others = [
            each
            for each in attempts
            if each.account is refused.account
            and each.made_at <= refused.ended_at
            and each is not refused
        ]
        # The limit has counted each of them at some moment between its call and its outcome.
        at = refused.made_at
        if not any(
            sum(weights[each] for each in others if each.counts_until >= begin)
            >= burst - 1 + (at - begin) / step
            for begin in (at, *(min(each.counts_until, at) for each in others))
        ):
            raise ViolationError(f"call {refused.number} was refused by a limit with room")


def _check_numbers(partition: int, table: Table) -> None:
    """Numbers without a gap, and no row of an epoch that had ended."""
    end = 0
    ends = dict(zip((epoch for epoch, _ in table.claims), table.claims[1:], strict=False))
    begins = dict(table.claims)
    for epoch, row in table.rows:
        first, count = row[0], row[2]
        if first != end + 1:
            raise ViolationError(f"partition {partition}: a row at {first} after {end}")
        end = first + count - 1
        _, ended_at = ends.get(epoch, (0, end))
        if not begins.get(epoch, end) < first <= end <= ended_at:
            raise ViolationError(
                f"partition {partition}: epoch {epoch} counts after its end, at {end}"
            )


def _check_fold(decisions: list[LoggedDecision]) -> None:
    """Every decision is what the reference makes of those before it."""
    engines: dict[object, ReferenceEngine] = {}
    for each in decisions:
        engine = engines.get(each.api_key_id)
        if engine is None:
            engine = engines[each.api_key_id] = ReferenceEngine(compiled())
        name = str(each.decision_id)
        served = engine.serve(_event(each.event), each.received_at_ns, name)
        pairs = (
            ("record", served.record, each.record),
            ("effects", served.effects, each.effects),
            ("answer", _answer(served.answer, name), orjson.loads(each.answer)),
        )
        for part, wanted, found in pairs:
            if wanted != found:
                raise ViolationError(
                    f"{name}: the {part} is {found!r}, the reference's is {wanted!r}"
                )


def _answer(answer: bytes, decision_id: str) -> Any:
    """A reference's answer as a caller gets it, who is sent to the challenge."""
    made = orjson.loads(answer)
    if "challenge" in made["action"]:
        url = f"{BASE_URL}/api/v1/challenge/{decision_id}"
        made["action"]["challenge"] = {"redirect_url": url}
    return made


def _id_in(answer: bytes) -> str:
    return str(orjson.loads(answer)["decision_id"])


@lru_cache(4_096)
def _event(body: bytes) -> Any:
    """An event that the reference need not read again: it takes what is read as well."""
    return orjson.loads(body)
