"""Hot calls at a worker that does not own their partition, while owners come and go."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import attrs
import msgspec
import pytest

from tidegate_server.hot.hot_path import RUNTIME
from tidegate_server.http.answer import Answer, Outcome
from tidegate_server.http.problems import Problem
from tidegate_server.partitions import forwarding
from tidegate_server.partitions.forwarding import BLOCK_CALLS, BOUNDS, MOST_CALLS, Forwarding
from tidegate_server.turns.call import HotCall


class Caller(HotCall):
    """A call that keeps its outcomes."""

    def __init__(self, body: bytes) -> None:
        self.endpoint, self.body, self.credential = RUNTIME, body, b"key"
        self.request_id = self.decision_id = None
        self.outcomes: list[Outcome] = []

    def answer(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)

    @property
    def text(self) -> bytes | None:
        """The only answer; None while there is none."""
        if not self.outcomes:
            return None
        (outcome,) = self.outcomes
        assert isinstance(outcome, Answer)
        return outcome.body

    @property
    def is_refused(self) -> bool:
        """Whether the only outcome is a refusal with 503."""
        (outcome,) = self.outcomes
        return isinstance(outcome, Problem) and outcome.status == 503


@attrs.define
class Sent:
    """A block as an owner gets it."""

    partition: int
    is_repeated: bool
    first: int
    bodies: list[bytes]
    ids: list[bytes]

    @property
    def numbers(self) -> list[int]:
        """Of its calls."""
        return list(range(self.first, self.first + len(self.bodies)))


class Owners:
    """A forwarding, and what it sent."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.forwarding = Forwarding(self._take)

    def _take(self, partition: int, is_repeated: bool, columns: msgspec.Raw) -> None:
        read: list[Any] = msgspec.msgpack.decode(columns)
        self.sent.append(Sent(partition, is_repeated, read[0], read[4], read[5]))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic seconds that the forwarding sees."""
    now = [100.0]
    monkeypatch.setattr(forwarding, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def callers(count: int) -> list[Caller]:
    """Calls with bodies of their own."""
    return [Caller(b"%d" % number) for number in range(count)]


def test_calls_of_one_turn_are_sent_together() -> None:
    """A turn's calls for a partition are one block, and each call has an id of its own."""
    owners, calls = Owners(), callers(3)
    owners.forwarding.place(1, "a")
    owners.forwarding.add(1, calls)
    (sent,) = owners.sent
    assert (sent.partition, sent.is_repeated, sent.bodies) == (1, False, [b"0", b"1", b"2"])
    assert len({*sent.ids}) == 3
    owners.forwarding.decided(sent.numbers[:0:-1], [b"C", b"B"])
    assert [each.text for each in calls] == [None, b"B", b"C"]


def test_what_a_dead_owner_left_is_asked_of_the_next_one_under_the_same_ids() -> None:
    """The next owner gets the block as it was, and hears that another had it; a call that was
    answered before has no second outcome."""
    owners, calls = Owners(), callers(3)
    owners.forwarding.place(1, "a")
    owners.forwarding.add(1, calls)
    owners.forwarding.decided([owners.sent[0].first], [b"first"])
    owners.forwarding.place(1, None)
    assert len(owners.sent) == 1
    owners.forwarding.place(1, "b")
    first, again = owners.sent
    assert (first.is_repeated, again.is_repeated) == (False, True)
    assert (again.numbers, again.bodies, again.ids) == (first.numbers, first.bodies, first.ids)
    owners.forwarding.decided(again.numbers, [b"other", b"B", b"C"])
    assert [each.text for each in calls] == [b"first", b"B", b"C"]


def test_an_owner_that_lives_is_asked_once() -> None:
    """The same process may still decide what it was sent on a connection that ended, so the call
    is refused."""
    owners, calls = Owners(), callers(2)
    owners.forwarding.place(1, "a")
    owners.forwarding.add(1, calls)
    owners.forwarding.place(1, None)
    owners.forwarding.place(1, "a")
    assert len(owners.sent) == 1
    assert all(each.is_refused for each in calls)


def test_a_death_leaves_the_calls_of_other_partitions_alone() -> None:
    """Only what the dead owner was asked is asked again."""
    owners = Owners()
    for partition, owner in ((1, "a"), (2, "b")):
        owners.forwarding.place(partition, owner)
        owners.forwarding.add(partition, callers(1))
    owners.forwarding.place(1, None)
    owners.forwarding.place(1, "c")
    found = [(each.partition, each.is_repeated) for each in owners.sent]
    assert found == [(1, False), (2, False), (1, True)]


def test_a_call_waits_for_an_owner_for_some_seconds(clock: list[float]) -> None:
    """Where there is no owner, a call is held and then refused; one that comes in time has it."""
    owners, early, late = Owners(), callers(1), callers(1)
    owners.forwarding.place(1, None)
    owners.forwarding.add(1, early)
    clock[0] += BOUNDS.hold - 0.1
    owners.forwarding.add(1, late)
    owners.forwarding.tick()
    assert not early[0].outcomes
    clock[0] += 0.2
    owners.forwarding.tick()
    assert early[0].is_refused
    owners.forwarding.place(1, "a")
    (sent,) = owners.sent
    owners.forwarding.decided(sent.numbers, [b"yes"])
    assert late[0].text == b"yes"


def test_a_silent_owner_is_not_waited_for(clock: list[float]) -> None:
    """A call has an outcome within its time, and an answer that comes later has no effect."""
    owners, calls = Owners(), callers(2)
    owners.forwarding.place(1, "a")
    owners.forwarding.add(1, calls)
    owners.forwarding.decided([owners.sent[0].first], [b"A"])
    clock[0] += BOUNDS.time
    owners.forwarding.tick()
    assert calls[0].text == b"A"
    assert calls[1].is_refused
    owners.forwarding.decided(owners.sent[0].numbers, [b"A", b"B"])
    assert len(calls[1].outcomes) == 1
    assert len(owners.sent) == 1


def test_calls_are_bounded() -> None:
    """Beyond the bound calls are refused, large turns go in several blocks, and outcomes make
    room again."""
    owners, calls = Owners(), callers(MOST_CALLS)
    owners.forwarding.place(1, "a")
    owners.forwarding.add(1, calls)
    assert max(len(each.bodies) for each in owners.sent) == BLOCK_CALLS
    assert sum(len(each.bodies) for each in owners.sent) == MOST_CALLS
    (over,) = callers(1)
    owners.forwarding.add(1, [over])
    assert over.is_refused
    assert owners.forwarding.pop(owners.sent[0].first) is calls[0]
    (last,) = callers(1)
    owners.forwarding.add(1, [last])
    assert owners.sent[-1].bodies == [last.body]


def test_the_end_of_the_worker_refuses_what_is_under_way() -> None:
    """Every call has an outcome when the worker ends, sent or waiting."""
    owners, calls = Owners(), callers(2)
    owners.forwarding.place(1, "a")
    owners.forwarding.add(1, calls[:1])
    owners.forwarding.place(2, None)
    owners.forwarding.add(2, calls[1:])
    owners.forwarding.close()
    assert all(each.is_refused for each in calls)
