"""The gateway's logic, with times and messages handed in."""

from __future__ import annotations

from itertools import count

from tidegate_server.cluster.gateway import Bounds, Gateway
from tidegate_server.cluster.messages import Answer, Answers, Batch, Call, Reason, Refusal, Send


def gateway(bounds: Bounds | None = None) -> Gateway:
    numbers = count(1)
    made = Gateway("g", lambda: f"d{next(numbers)}", bounds)
    made.place({7: "a"}, {"t": 7})
    return made


def called(made: Gateway, now: float = 0.0) -> Call:
    call = made.call("t", None, b"{}", now)
    assert isinstance(call, Call)
    return call


def answered(send: Send, call: Call) -> Answers:
    batch = send.batch
    return Answers("g", batch.number, 7, (Answer(call.decision_id, b"allow"),))


def refused(send: Send, call: Call, reason: Reason) -> Answers:
    batch = send.batch
    return Answers("g", batch.number, 7, (Refusal(call.decision_id, reason),))


def test_the_calls_of_a_turn_are_one_batch_for_the_owner() -> None:
    """Calls that came together go to the owner together, in their order."""
    made = gateway()
    calls = (called(made), called(made))
    assert made.turn(0.0) == [Send("a", Batch("g", 1, 7, calls))]
    assert made.turn(0.0) == []


def test_a_large_batch_is_divided() -> None:
    """A batch has at most the calls that the bounds say."""
    made = gateway(Bounds(batch=2))
    for _ in range(5):
        called(made)
    assert [len(send.batch.calls) for send in made.turn(0.0)] == [2, 2, 1]


def test_an_answer_ends_a_call_once() -> None:
    """The caller gets the first answer; another one for the same call is dropped."""
    made = gateway()
    call = called(made)
    (send,) = made.turn(0.0)
    assert made.receive(answered(send, call), 0.1) == [Answer(call.decision_id, b"allow")]
    assert made.receive(answered(send, call), 0.2) == []
    assert len(made) == 0


def test_after_a_change_of_owner_the_next_one_is_asked_under_the_same_id() -> None:
    """A call whose owner gave it back goes to the next owner, as the same call."""
    made = gateway()
    call = called(made)
    (send,) = made.turn(0.0)
    assert made.receive(refused(send, call, "given-up"), 0.1) == []
    assert made.turn(0.1) == []
    made.place({7: "b"}, {"t": 7})
    assert made.tick(0.1) == []
    assert made.turn(0.1) == [Send("b", Batch("g", 2, 7, (call,)))]


def test_a_lost_connection_has_its_calls_asked_again() -> None:
    """What a member was asked when its connection ended is sent once more."""
    made = gateway()
    call = called(made)
    made.turn(0.0)
    made.lost("a", 0.1)
    assert made.tick(0.2) == []
    assert [send.batch.calls for send in made.turn(0.2)] == [(call,)]


def test_an_owner_that_says_nothing_is_asked_again() -> None:
    """A batch without an outcome is sent again after ``ask_again`` seconds."""
    made = gateway()
    call = called(made)
    made.turn(0.0)
    made.tick(0.9)
    assert made.turn(0.9) == []
    made.tick(1.0)
    assert [send.batch.calls for send in made.turn(1.0)] == [(call,)]


def test_a_call_without_an_owner_is_held_and_then_refused() -> None:
    """While nobody owns the partition a call waits, and is refused when its hold is over."""
    made = gateway()
    made.place({}, {"t": 7})
    call = called(made)
    made.turn(0.0)
    now, refusals = 0.0, []
    while not refusals:
        now += 0.01
        refusals = made.tick(now)
        assert made.turn(now) == []
    assert refusals == [Refusal(call.decision_id, "no-owner")]
    assert 2.0 <= now <= 2.0 + Bounds().backoff


def test_every_call_is_refused_in_the_end() -> None:
    """An owner that takes calls and never answers costs a call its time, not more."""
    made = gateway()
    call = called(made)
    now, refusals = 0.0, []
    while not refusals:
        made.turn(now)
        now += 0.01
        refusals = made.tick(now)
    assert refusals == [Refusal(call.decision_id, "unanswered")]
    assert Bounds().time <= now <= Bounds().time + 0.02
    assert len(made) == 0


def test_a_refusal_of_a_batch_that_was_asked_again_counts_no_more() -> None:
    """Only the owner that was asked last may refuse a call."""
    made = gateway()
    call = called(made)
    (first,) = made.turn(0.0)
    made.tick(1.0)
    (second,) = made.turn(1.0)
    assert made.receive(refused(first, call, "full"), 1.1) == []
    assert made.receive(refused(second, call, "full"), 1.2) == [Refusal(call.decision_id, "full")]


def test_a_full_gateway_refuses() -> None:
    """Calls and their bytes are bounded."""
    made = gateway(Bounds(calls=1))
    called(made)
    assert made.call("t", None, b"{}", 0.0) == Refusal("d2", "full")
    small = gateway(Bounds(size=3))
    called(small)
    assert isinstance(small.call("t", None, b"{}", 0.0), Refusal)
