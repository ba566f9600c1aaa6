"""The owner's logic, with claims, appends and their results handed in."""

from __future__ import annotations

import attrs
import pytest
from tests.cluster.parts import Blocks, Room, call, entry, follower
from tests.simulation.model.deciding import DecidingFollower
from tests.simulation.model.owner import Owner, OwnerBounds
from tests.simulation.model.requests import (
    AppendOutcome,
    AppendRequest,
    AppendResult,
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
    ReadRequest,
    Refusal,
)

ALIVE_UNTIL = 100.0


@attrs.define
class Driven:
    """An owner of partition 7, and its log."""

    owner: Owner
    log: Blocks

    def own(self, term: int = 1, taken_over: DecidingFollower | None = None) -> None:
        """Own, claim, and read to the end."""
        (claim,) = self.owner.own(term, ALIVE_UNTIL, 0.0, follower=taken_over)
        assert isinstance(claim, ClaimRequest)
        outputs = self.owner.claimed(self.log.claim(claim.request), 0.0)
        for output in outputs:
            assert isinstance(output, ReadRequest)
            self.owner.read(self.log.read(output.after), 0.0)
        assert self.owner.phase == "taking"

    def decide(self, *calls: Call) -> list[OwnerOutput]:
        """Hand calls over, and what comes of the next turn."""
        return [*self.owner.hand(Batch("g", 1, 7, calls)), *self.owner.turn(1.0, 5)]

    def end(self, request: OwnerOutput, outcome: AppendOutcome = "done") -> list[OwnerOutput]:
        """The result of an append."""
        assert isinstance(request, AppendRequest)
        if outcome == "done":
            self.log.take(request)
        return self.owner.appended(AppendResult(7, request.request, outcome), 1.0)


def driven(log: Blocks | None = None, room: int = 100, bounds: OwnerBounds | None = None) -> Driven:
    return Driven(Owner(7, "a", follower, lambda: Room(room), bounds), log or Blocks())


def owning(room: int = 100, bounds: OwnerBounds | None = None) -> Driven:
    made = driven(room=room, bounds=bounds)
    made.own()
    return made


def answers(*outcomes: Answer | Refusal) -> Answers:
    return Answers("g", 1, 7, outcomes)


def test_a_call_is_answered_after_its_append() -> None:
    """Nothing is answered before it is durable."""
    made = owning()
    (append,) = made.decide(call(1), call(2))
    assert isinstance(append, AppendRequest)
    assert [each.decision_id for each in append.block.entries] == ["d1", "d2"]
    assert made.end(append) == [answers(Answer("d1", b"1"), Answer("d2", b"2"))]


def test_blocks_follow_each_other() -> None:
    """One append is under way at a time; what is decided meanwhile is the next block."""
    made = owning()
    (first,) = made.decide(call(1))
    assert made.decide(call(2), call(3)) == []
    _, second = made.end(first)
    assert isinstance(second, AppendRequest)
    assert (second.block.after, second.block.end) == (1, 3)


def test_a_claim_reads_the_log_to_its_end() -> None:
    """An owner goes on from what earlier owners made durable."""
    made = driven(Blocks(blocks=[Block(1, 0, (entry(1), entry(2)))]))
    made.own()
    (append,) = made.decide(call(3))
    assert isinstance(append, AppendRequest)
    assert (append.block.after, append.block.entries[0].answer) == (2, b"3")


def test_a_follower_is_taken_over() -> None:
    """With a follower that is level, a claim has nothing to read."""
    log = Blocks(blocks=[Block(1, 0, (entry(1),))])
    level = follower()
    level.apply(log.blocks[0])
    made = driven(log)
    made.own(taken_over=level)
    assert made.owner.state is level


def test_calls_wait_while_the_log_is_read() -> None:
    """Between claim and the end of the log, calls are taken and not decided."""
    made = driven()
    (claim,) = made.owner.own(1, ALIVE_UNTIL, 0.0)
    assert made.decide(call(1)) == []
    assert isinstance(claim, ClaimRequest)
    made.owner.claimed(made.log.claim(claim.request), 0.0)
    (append,) = made.owner.turn(1.0, 5)
    assert isinstance(append, AppendRequest)


@pytest.mark.parametrize("key", [None, "k"])
def test_a_known_call_gets_the_recorded_answer(key: str | None) -> None:
    """The same decision id, or the same key of the tenant, is answered from the log."""
    made = owning()
    made.end(made.decide(call(1, key))[0])
    again = call(1) if key is None else call(9, key)
    assert made.decide(again) == [answers(Answer(again.decision_id, b"1"))]


@pytest.mark.parametrize("key", [None, "k"])
def test_a_call_that_is_under_way_is_decided_once(key: str | None) -> None:
    """A second one waits for the append of the first."""
    made = owning()
    (append,) = made.decide(call(1, key))
    again = call(1) if key is None else call(9, key)
    assert made.decide(again) == []
    (answered,) = made.end(append)
    assert answered == answers(Answer("d1", b"1"), Answer(again.decision_id, b"1"))


def test_answers_of_another_tenants_key_are_not_given() -> None:
    """A key is the tenant's."""
    made = owning()
    made.end(made.decide(call(1, "k"))[0])
    (append,) = made.decide(Call("d2", "other", "k", b"{}"))
    assert isinstance(append, AppendRequest)


def test_a_key_with_another_body_is_refused() -> None:
    """Both while the first decision is under way and afterwards."""
    made = owning()
    (append,) = made.decide(call(1, "k"))
    other = call(2, "k", b"[]")
    refused = [answers(Refusal("d2", "key-reused"))]
    assert made.decide(other) == refused
    made.end(append)
    assert made.decide(other) == refused


def test_a_retry_is_not_counted_by_the_limit() -> None:
    """A call that was counted is answered again without room in the limit."""
    made = owning(room=1)
    (append,) = made.decide(call(1))
    assert made.decide(call(1)) == []
    made.end(append)
    assert made.decide(call(1)) == [answers(Answer("d1", b"1"))]
    assert made.decide(call(2)) == [answers(Refusal("d2", "limit", 2.0))]


def test_an_owner_without_a_session_refuses_nobody_by_its_limit() -> None:
    """Another owner may have room, so the gateway asks again."""
    made = owning(room=0)
    made.owner.hand(Batch("g", 1, 7, (call(1),)))
    assert made.owner.turn(ALIVE_UNTIL, 5) == [answers(Refusal("d1", "not-owner", 2.0))]


def test_a_refused_event_changes_nothing() -> None:
    """The call ends, and is not in the log."""
    made = owning()
    refused = Refusal("d1", "event", detail=b"why")
    assert made.decide(call(1, body=b"bad")) == [answers(refused)]


def test_a_refused_event_is_counted_once() -> None:
    """A gateway that asks again gets the same refusal, and uses up no room."""
    made = owning(room=2)
    bad = call(1, body=b"bad")
    assert made.decide(bad) == made.decide(bad)
    assert isinstance(made.decide(call(2))[0], AppendRequest)
    assert made.decide(call(3)) == [answers(Refusal("d3", "limit", 2.0))]


@pytest.mark.parametrize("outcome", ["fenced", "unknown"])
def test_an_append_that_is_not_done_ends_the_claim(outcome: AppendOutcome) -> None:
    """Whoever waits asks again; the state is thrown away, and the next claim reads the log."""
    made = owning()
    (append,) = made.decide(call(1))
    made.decide(call(2))
    made.owner.hand(Batch("g", 2, 7, (call(3),)))
    given_up = made.end(append, outcome)
    assert given_up == [
        answers(Refusal("d1", "given-up"), Refusal("d2", "given-up")),
        Answers("g", 2, 7, (Refusal("d3", "given-up"),)),
        GivenUp(7, outcome),
    ]
    assert not made.owner.can_read(1.0)
    assert made.decide(call(4)) == [answers(Refusal("d4", "not-owner"))]
    assert isinstance(append, AppendRequest)
    made.log.take(append)  # it was taken after all
    made.own()
    assert made.decide(call(1)) == [answers(Answer("d1", b"1"))]


def test_an_append_without_a_result_is_unknown() -> None:
    """After ``append`` seconds nobody waits any longer."""
    made = owning()
    made.decide(call(1))
    due = made.owner.next_at()
    assert due == 1.0 + OwnerBounds().append
    assert made.owner.tick(due - 0.1) == []
    assert GivenUp(7, "unknown") in made.owner.tick(due)


def test_a_result_of_an_earlier_append_is_dropped() -> None:
    """What was given up does not come back."""
    made = owning()
    (append,) = made.decide(call(1))
    made.end(append, "unknown")
    assert isinstance(append, AppendRequest)
    assert made.owner.appended(AppendResult(7, append.request, "done"), 1.0) == []


def test_a_claim_without_a_result_is_repeated() -> None:
    """The result of the first is stale then."""
    made = driven()
    (first,) = made.owner.own(1, ALIVE_UNTIL, 0.0)
    (second,) = made.owner.tick(1.0)
    assert isinstance(first, ClaimRequest)
    assert isinstance(second, ClaimRequest)
    made.owner.claimed(made.log.claim(first.request), 1.0)
    assert made.owner.phase == "claiming"
    made.owner.claimed(made.log.claim(second.request), 1.0)
    assert made.owner.phase == "taking"


def test_a_claim_that_comes_after_a_later_term_ends() -> None:
    """An owner of an earlier term does not try again before it has read the rows."""
    made = driven()
    (claim,) = made.owner.own(1, ALIVE_UNTIL, 0.0)
    assert isinstance(claim, ClaimRequest)
    assert claim.term == 1
    made.decide(call(1))
    assert made.owner.claim_refused(ClaimRefused(7, claim.request)) == [
        answers(Refusal("d1", "given-up")),
        GivenUp(7, "fenced"),
    ]
    assert made.owner.next_at() is None


def test_reads_of_state_end_when_the_session_may_have() -> None:
    """Unless a beat was taken since, an owner answers no read after its time."""
    made = owning()
    assert made.owner.can_read(ALIVE_UNTIL - 0.1)
    assert not made.owner.can_read(ALIVE_UNTIL)
    made.owner.own(1, ALIVE_UNTIL + 3, ALIVE_UNTIL + 1)
    assert made.owner.can_read(ALIVE_UNTIL + 2)


def test_a_hand_over_waits_for_the_appends() -> None:
    """A draining owner takes nothing, finishes what it decided, and then releases."""
    made = owning()
    (append,) = made.decide(call(1))
    assert made.owner.own(1, ALIVE_UNTIL, 1.0, hands_over=True) == []
    assert made.decide(call(2)) == [answers(Refusal("d2", "not-owner"))]
    assert made.end(append) == [answers(Answer("d1", b"1")), Released(7, 1)]
    assert not made.owner.can_read(1.0)


def test_a_hand_over_that_is_called_off_ends_at_once() -> None:
    """When the next owner is gone, the owner goes on under its claim."""
    made = owning()
    made.owner.own(1, ALIVE_UNTIL, 1.0, hands_over=True)
    assert made.owner.own(1, ALIVE_UNTIL, 2.0) == []
    (append,) = made.decide(call(1))
    assert isinstance(append, AppendRequest)


def test_another_term_is_claimed_anew() -> None:
    """An owner that lost the partition meanwhile does not go on under its old claim."""
    made = owning()
    (claim,) = made.owner.own(3, ALIVE_UNTIL, 1.0)
    assert isinstance(claim, ClaimRequest)
    assert not made.owner.can_read(1.0)


def test_who_does_not_own_refuses() -> None:
    """A call for a partition of another member goes back at once."""
    made = owning()
    made.owner.disown()
    assert made.decide(call(1)) == [answers(Refusal("d1", "not-owner"))]


def test_an_owner_is_bounded() -> None:
    """Calls that wait, and decisions ahead of the log, have a bound."""
    made = owning(bounds=OwnerBounds(calls=2, ahead=1))
    refused, append = made.decide(call(1), call(2), call(3))
    assert refused == answers(Refusal("d3", "full", 1.0))
    assert not made.owner.has_queue
    made.end(append)
    assert made.owner.has_queue
