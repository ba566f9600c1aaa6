"""The owner of a partition: claims it, decides in order, and answers what is durable.

The state is ahead of the log by what is being appended.  So when an append is fenced, or its
outcome is unknown, the state is thrown away with the claim, and made again from the log.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Literal, TypeAlias

import attrs
from tests.simulation.model.deciding import CallRefusedError, DecidingFollower, Limits, is_same
from tests.simulation.model.requests import (
    AppendOutcome,
    AppendRequest,
    AppendResult,
    Claim,
    ClaimRefused,
    ClaimRequest,
    GivenUp,
    OwnerOutput,
    Released,
)

from tidegate_server.cluster.messages import (
    Answer,
    Answers,
    Batch,
    Block,
    Call,
    Entry,
    Outcome,
    ReadResult,
    Reason,
    Refusal,
)

Phase: TypeAlias = Literal["idle", "claiming", "reading", "taking", "draining", "released"]
TAKES: frozenset[Phase] = frozenset({"claiming", "reading", "taking"})
READABLE: frozenset[Phase] = frozenset({"taking", "draining"})


@attrs.frozen
class OwnerBounds:
    """Bounds of an owner; times are in seconds.

    Attributes:
        calls: that wait for a decision; further ones are refused.
        ahead: decisions that are not durable yet; beyond them nothing is decided.
        block: entries of one block.
        refused: calls without a decision that are remembered, for gateways that ask again.
        claim_again: when a claim without a result is repeated.
        append: after which an append without a result has an unknown outcome.
    """

    calls: int = 65_536
    ahead: int = 4_096
    block: int = 256
    refused: int = 1_024
    claim_again: float = 1.0
    append: float = 5.0


@attrs.frozen
class _Asker:
    """Who waits for an outcome."""

    gateway: str
    number: int
    call: Call


@attrs.define(eq=False)
class _Made:
    """A decision that is not durable yet."""

    entry: Entry
    askers: list[_Asker]


class Owner:
    """One partition, as one member owns it.

    A driver hands in duties, batches and results of the log, and calls :meth:`turn` once in each
    turn of its loop.  The outputs go to the log, the gateways or the session.

    Args:
        partition: which.
        member: whose.
        new_follower: gives the newest state that can be had without this owner's: of a snapshot,
            or empty.
        new_limits: gives limits of which nothing is used.
        bounds: of times and sizes.
    """

    confirms = True
    """Reads are answered once the session has said that it is alive."""

    def __init__(
        self,
        partition: int,
        member: str,
        new_follower: Callable[[], DecidingFollower],
        new_limits: Callable[[], Limits],
        bounds: OwnerBounds | None = None,
    ) -> None:
        self.partition = partition
        self.phase: Phase = "idle"
        self._member = member
        self._new_follower = new_follower
        self._new_limits = new_limits
        self._bounds = bounds or OwnerBounds()
        self._term = -1
        self._alive_until = 0.0
        self._state: DecidingFollower | None = None
        self._limits = new_limits()
        self._epoch = 0
        self._claim_end = 0
        self._request = 0
        self._due_at: float | None = None
        self._queue: deque[_Asker] = deque()
        self._made: deque[_Made] = deque()
        self._by_id: dict[str, _Made] = {}
        self._by_key: dict[tuple[str, str], _Made] = {}
        self._in_flight: AppendRequest | None = None
        self._refused: dict[str, Refusal] = {}
        """Calls that were counted by the limit and have no decision, the oldest first."""

    # --- what the session says ------------------------------------------------------------

    def own(
        self,
        term: int,
        alive_until: float,
        now: float,
        *,
        hands_over: bool = False,
        follower: DecidingFollower | None = None,
    ) -> list[OwnerOutput]:
        """The member owns the partition, as its session holds the lock.

        Args:
            term: of the lock.
            alive_until: of the member, in monotonic seconds.
            now: monotonic seconds.
            hands_over: the next owner is level: stop, and release.
            follower: the member's follower of the partition, whose state the owner takes over.
        """
        self._alive_until = alive_until
        outputs: list[OwnerOutput] = []
        if term != self._term:
            outputs += self._drop("not-owner")
            self._term = term
        if self.phase == "idle":
            self._state = follower or self._new_follower()
            self.phase = "claiming"
            outputs.append(self._claim(now))
        elif hands_over and self.phase in READABLE | {"released"}:
            outputs += self._drain()
        elif not hands_over and self.phase in ("draining", "released"):
            self.phase = "taking"
        return outputs

    def disown(self) -> list[OwnerOutput]:
        """The member does not own the partition any more."""
        return self._drop("not-owner")

    # --- what the log says --------------------------------------------------------------------

    def claimed(self, claim: Claim, now: float) -> list[OwnerOutput]:
        """A claim is durable: read the log to its end."""
        if self.phase != "claiming" or claim.request != self._request or self._state is None:
            return []
        self._epoch, self._claim_end = claim.epoch, claim.end
        self._limits = self._new_limits()
        self._refused.clear()
        self.phase = "reading"
        return self._read_on(now)

    def claim_refused(self, refused: ClaimRefused) -> list[OwnerOutput]:
        """The log has an epoch of a later term."""
        if self.phase != "claiming" or refused.request != self._request:
            return []
        return self._give_up("fenced")

    def read(self, result: ReadResult, now: float) -> list[OwnerOutput]:
        """Blocks of the log."""
        if self.phase != "reading" or self._state is None:
            return []
        self._state.receive(result, now)
        return self._read_on(now)

    def appended(self, result: AppendResult, now: float) -> list[OwnerOutput]:
        """What became of an append."""
        request = self._in_flight
        if request is None or result.request != request.request:
            return []
        if result.outcome != "done":
            return self._give_up(result.outcome)
        self._in_flight = self._due_at = None
        assert self._state is not None
        self._state.appended(request.block)
        outputs: list[OwnerOutput] = [*self._answer(len(request.block.entries))]
        outputs += self._append(now)
        if self.phase == "draining" and not self._made:
            outputs += self._drain()
        return outputs

    # --- what gateways say --------------------------------------------------------------------

    def hand(self, batch: Batch) -> list[OwnerOutput]:
        """Take calls; those that are not taken are refused at once."""
        refused: list[Outcome] = []
        for call in batch.calls:
            if self.phase not in TAKES:
                refused.append(Refusal(call.decision_id, "not-owner"))
            elif len(self._queue) >= self._bounds.calls:
                refused.append(Refusal(call.decision_id, "full", 1.0))
            else:
                self._queue.append(_Asker(batch.gateway, batch.number, call))
        if not refused:
            return []
        return [Answers(batch.gateway, batch.number, self.partition, tuple(refused))]

    def can_read(self, now: float) -> bool:
        """Whether reads of the state may be answered, if the session is alive once it is asked."""
        return self.phase in READABLE and now < self._alive_until

    @property
    def state(self) -> DecidingFollower | None:
        """The state; while it owns, ahead of ``position`` by what is being appended."""
        return self._state

    @property
    def has_queue(self) -> bool:
        """Whether the next turn has something to decide."""
        has_room = len(self._made) < self._bounds.ahead
        return bool(self._queue) and self.phase == "taking" and has_room

    # --- time -----------------------------------------------------------------------------------

    def turn(self, now: float, wall: int) -> list[OwnerOutput]:
        """Decide what waits, and append.

        Args:
            now: monotonic seconds.
            wall: nanoseconds since 1970.
        """
        if self.phase != "taking":
            return []
        outcomes: list[tuple[_Asker, Outcome]] = []
        while self._queue and len(self._made) < self._bounds.ahead:
            asker = self._queue.popleft()
            outcome = self._decide(asker, now, wall)
            if outcome is not None:
                outcomes.append((asker, outcome))
        return [*self._grouped(outcomes), *self._append(now)]

    def tick(self, now: float) -> list[OwnerOutput]:
        """Repeat or give up what had no result in its time."""
        if self._due_at is None or now < self._due_at:
            return []
        if self.phase == "claiming":
            return [self._claim(now)]
        if self.phase == "reading":
            return self._read_on(now)
        return self._give_up("unknown")

    def next_at(self) -> float | None:
        """When :meth:`tick` has something to do, in monotonic seconds; None when never."""
        return self._due_at

    # --- deciding -------------------------------------------------------------------------------

    def _decide(self, asker: _Asker, now: float, wall: int) -> Outcome | None:
        """The outcome of a call that has one already; None when it comes with an append."""
        assert self._state is not None
        call = asker.call
        known = self._state.recorded.find(call)
        if known is not None:
            return _known(call, known.answer, is_same=known.is_same)
        made = self._under_way(call)
        if made is not None:
            if not is_same(made.entry, call):
                return Refusal(call.decision_id, "key-reused")
            made.askers.append(asker)
            return None
        refused = self._refused.get(call.decision_id)
        if refused is not None:
            return refused
        wait = self._count(call, now)
        if wait > 0:
            # Without a session another owner may have room: it counts, not this one.
            reason: Reason = "limit" if now < self._alive_until else "not-owner"
            return Refusal(call.decision_id, reason, wait)
        try:
            entry = self._state.decider.decide(call, wall)
        except CallRefusedError as error:
            return self._remember(Refusal(call.decision_id, error.reason, detail=error.detail))
        self._keep(_Made(entry, [asker]))
        return None

    def _remember(self, refused: Refusal) -> Refusal:
        self._refused[refused.decision_id] = refused
        if len(self._refused) > self._bounds.refused:
            del self._refused[next(iter(self._refused))]
        return refused

    def _count(self, call: Call, now: float) -> float:
        return self._limits.take(call, now)

    def _under_way(self, call: Call) -> _Made | None:
        """The decision of the same call, or of the same key, that is being appended."""
        made = self._by_id.get(call.decision_id)
        if made is None and call.key is not None:
            made = self._by_key.get((call.tenant, call.key))
        return made

    def _keep(self, made: _Made) -> None:
        self._made.append(made)
        self._by_id[made.entry.decision_id] = made
        if made.entry.key is not None:
            self._by_key[made.entry.tenant, made.entry.key] = made

    # --- the log --------------------------------------------------------------------------------

    def _claim(self, now: float) -> ClaimRequest:
        self._request += 1
        self._due_at = now + self._bounds.claim_again
        return ClaimRequest(self.partition, self._member, self._term, self._request)

    def _read_on(self, now: float) -> list[OwnerOutput]:
        """Read until the state is level with the claim, then take calls."""
        assert self._state is not None
        if self._state.position >= self._claim_end:
            self.phase = "taking"
            self._due_at = None
            return []
        request = self._state.read(now)
        self._due_at = self._state.next_at()
        return [request]

    def _append(self, now: float) -> list[OwnerOutput]:
        """Append what was decided, unless an append is under way."""
        if self._in_flight is not None or not self._made or self._state is None:
            return []
        entries = tuple(made.entry for made in islice(self._made, self._bounds.block))
        block = Block(self._epoch, self._state.position, entries)
        self._request += 1
        self._in_flight = AppendRequest(self.partition, self._request, block)
        self._due_at = now + self._bounds.append
        return [self._in_flight]

    def _answer(self, count: int) -> list[Answers]:
        """Answer the first decisions, which are durable now."""
        outcomes: list[tuple[_Asker, Outcome]] = []
        for _ in range(count):
            made = self._made.popleft()
            del self._by_id[made.entry.decision_id]
            if made.entry.key is not None:
                del self._by_key[made.entry.tenant, made.entry.key]
            for asker in made.askers:
                answer = Answer(asker.call.decision_id, made.entry.answer)
                outcomes.append((asker, answer))
        return self._grouped(outcomes)

    # --- the end --------------------------------------------------------------------------------

    def _drain(self) -> list[OwnerOutput]:
        """Take nothing more; release when all appends are done."""
        if self.phase == "taking":
            self.phase = "draining"
        outputs: list[OwnerOutput] = [*self._refuse_queue("not-owner")]
        if not self._made:
            self.phase = "released"
            outputs.append(Released(self.partition, self._term))
        return outputs

    def _give_up(self, outcome: AppendOutcome) -> list[OwnerOutput]:
        return [*self._drop("given-up"), GivenUp(self.partition, outcome)]

    def _drop(self, reason: Reason) -> list[OwnerOutput]:
        """Let the claim and the state go; whoever waits asks again."""
        refused: list[tuple[_Asker, Outcome]] = [
            (asker, Refusal(asker.call.decision_id, "given-up"))
            for made in self._made
            for asker in made.askers
        ]
        outputs: list[OwnerOutput] = [*self._grouped(refused), *self._refuse_queue(reason)]
        self._made.clear()
        self._by_id.clear()
        self._by_key.clear()
        self._in_flight = self._due_at = self._state = None
        self.phase = "idle"
        return outputs

    def _refuse_queue(self, reason: Reason) -> list[Answers]:
        refused: list[tuple[_Asker, Outcome]] = [
            (asker, Refusal(asker.call.decision_id, reason)) for asker in self._queue
        ]
        self._queue.clear()
        return self._grouped(refused)

    def _grouped(self, outcomes: Iterable[tuple[_Asker, Outcome]]) -> list[Answers]:
        """Outcomes, one message for each batch."""
        groups: defaultdict[tuple[str, int], list[Outcome]] = defaultdict(list)
        for asker, outcome in outcomes:
            groups[asker.gateway, asker.number].append(outcome)
        return [
            Answers(gateway, number, self.partition, tuple(group))
            for (gateway, number), group in groups.items()
        ]


def _known(call: Call, answer: bytes, *, is_same: bool) -> Outcome:
    if not is_same:
        return Refusal(call.decision_id, "key-reused")
    return Answer(call.decision_id, answer)
