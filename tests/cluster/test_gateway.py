"""The gateway's logic, with times and messages handed in."""

from __future__ import annotations

from itertools import count

from tidegate_server.cluster.gateway import Bounds, Gateway, Send

_numbers = count(1)


def gateway(bounds: Bounds | None = None) -> Gateway:
    made = Gateway(bounds)
    made.place("a")
    return made


def called(made: Gateway, now: float = 0.0) -> bytes:
    call_id = b"d%d" % next(_numbers)
    assert made.hold(call_id, 2, now)
    return call_id


def test_the_calls_of_a_turn_are_sent_to_the_owner_together() -> None:
    """Calls that came together go to the owner together, in their order."""
    made = gateway()
    calls = (called(made), called(made))
    assert made.turn(0.0) == [Send("a", 1, calls)]
    assert made.turn(0.0) == []


def test_a_large_sending_is_divided() -> None:
    """A sending has at most the calls that the bounds say."""
    made = gateway(Bounds(batch=2))
    for _ in range(5):
        called(made)
    assert [len(send.ids) for send in made.turn(0.0)] == [2, 2, 1]


def test_an_answer_ends_a_call_once() -> None:
    """The first answer ends the call; another one for the same call is dropped."""
    made = gateway()
    call = called(made)
    made.turn(0.0)
    assert made.answered(call)
    assert not made.answered(call)
    assert len(made) == 0


def test_after_a_change_of_owner_the_next_one_is_asked_under_the_same_id() -> None:
    """A call whose owner gave it back goes to the next owner, as the same call."""
    made = gateway()
    call = called(made)
    (send,) = made.turn(0.0)
    assert not made.refused(call, "given-up", send.number, 0.1)
    assert made.turn(0.1) == []
    made.place("b")
    assert made.tick(0.1) == []
    assert made.turn(0.1) == [Send("b", 2, (call,))]


def test_a_lost_connection_has_its_calls_asked_again() -> None:
    """Calls that a member had when its connection ended are sent once more."""
    made = gateway()
    call = called(made)
    made.turn(0.0)
    made.lost("a", 0.1)
    assert made.tick(0.2) == []
    assert [send.ids for send in made.turn(0.2)] == [(call,)]


def test_an_owner_that_says_nothing_is_asked_again() -> None:
    """A call without an outcome is sent again after ``ask_again`` seconds."""
    made = gateway()
    call = called(made)
    made.turn(0.0)
    made.tick(0.9)
    assert made.turn(0.9) == []
    made.tick(1.0)
    assert [send.ids for send in made.turn(1.0)] == [(call,)]


def test_a_call_without_an_owner_is_held_and_then_refused() -> None:
    """While nobody owns the partition a call waits, and is refused when its hold is over."""
    made = gateway()
    made.place(None)
    call = called(made)
    made.turn(0.0)
    now = 0.0
    while not (refusals := made.tick(now)):
        now += 0.01
        assert made.turn(now) == []
    assert refusals == [(call, "no-owner")]
    assert 2.0 <= now <= 2.0 + Bounds().backoff


def test_every_call_is_refused_in_the_end() -> None:
    """An owner that takes calls and never answers costs a call its time, not more."""
    made = gateway()
    call = called(made)
    now = 0.0
    while not (refusals := made.tick(now)):
        made.turn(now)
        now += 0.01
    assert refusals == [(call, "unanswered")]
    assert Bounds().time <= now <= Bounds().time + 0.02
    assert len(made) == 0


def test_a_refusal_of_a_call_that_was_asked_again_counts_no_more() -> None:
    """Only the owner that was asked last may refuse a call."""
    made = gateway()
    call = called(made)
    (first,) = made.turn(0.0)
    made.tick(1.0)
    (second,) = made.turn(1.0)
    assert not made.refused(call, "full", first.number, 1.1)
    assert made.refused(call, "full", second.number, 1.2)
    assert len(made) == 0


def test_a_full_gateway_refuses() -> None:
    """Calls and their bytes are bounded, and an answer makes room again."""
    made = gateway(Bounds(calls=1))
    call = called(made)
    assert not made.hold(b"other", 1, 0.0)
    made.answered(call)
    assert made.hold(b"other", 1, 0.0)
    small = gateway(Bounds(size=3))
    called(small)
    assert not small.hold(b"other", 2, 0.0)
