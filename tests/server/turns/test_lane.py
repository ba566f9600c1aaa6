"""The calls of one tenant, step by step."""

from __future__ import annotations

import asyncio
from uuid import UUID

from tidegate_server.hot.hot_path import RUNTIME
from tidegate_server.turns.account import Account
from tidegate_server.turns.call import CallBack, HotCall
from tidegate_server.turns.lane import FEW, STEP_BYTES, Lane


def lane(most_waiting: int = 10_000) -> Lane:
    return Lane(UUID(int=1), Account(), most_waiting, lambda _: None)


def call(size: int = 10) -> HotCall:
    nothing: object = None
    return CallBack(RUNTIME, nothing, b" " * size, lambda _: None, 0)  # type: ignore[arg-type]


def test_a_step_ends_before_an_event_that_is_too_large() -> None:
    """The first is always in it; each call is in one step, in order."""
    calls = [call(size) for size in (50, 10, 10, 30, 10)]
    made = lane()
    assert made.add(calls) == []
    assert made.next_bytes == 50
    steps = [made.take(2, 20) for _ in range(3)]
    assert [len(step.calls) for step in steps] == [2, 1, 2]
    assert [step.largest for step in steps] == [50, 10, 30]
    assert [each for step in steps for each in step.calls] == calls
    assert not made.may_step


def test_a_step_has_not_too_many_bytes() -> None:
    """A step has a bound of bytes, however many calls it may have."""
    made = lane()
    made.add([call(STEP_BYTES // 4) for _ in range(6)])
    assert [len(made.take(256, STEP_BYTES).calls) for _ in range(2)] == [4, 2]


def test_calls_past_the_bound_are_given_back() -> None:
    """Calls past the bound are returned; calls that were looked up always have a place."""
    calls = [call() for _ in range(5)]
    made = lane(most_waiting=3)
    assert made.add(calls) == calls[3:]
    assert made.add(calls[3:]) == calls[3:]
    made.add_looked_up(calls[3])
    assert made.waiting == 4
    first = made.take(256, 100)
    assert (list(first.calls), first.are_looked_up) == ([calls[3]], True)
    assert made.add(calls[3:]) == calls[3:]
    second = made.take(256, 100)
    assert (list(second.calls), second.are_looked_up) == (calls[:3], False)
    assert made.add(calls[3:]) == []
    assert made.take_all() == calls[3:]
    assert made.waiting == 0


def test_nothing_is_taken_while_a_step_is_under_way() -> None:
    """New calls wait for the end of the running step."""
    made = lane()
    made.add([call()])
    made.gate.enter()
    assert not made.may_step
    made.gate.leave()
    assert made.may_step


def test_who_adds_many_calls_waits_until_few_wait() -> None:
    """Batches add calls one after another, and each sees the calls of the one before."""

    async def scene() -> None:
        made = lane()
        added: list[str] = []

        async def add(name: str) -> None:
            async with made.room():
                added.append(name)
                made.add([call() for _ in range(FEW)])

        made.add([call() for _ in range(FEW + 1)])
        adding = [asyncio.create_task(add(name)) for name in "ab"]
        for expected in ([], ["a"], ["a", "b"]):
            for _ in range(5):
                await asyncio.sleep(0)
            assert added == expected
            made.take(2, 100)
            if added:
                made.take(FEW, 100)
        await asyncio.gather(*adding)

    asyncio.run(scene())
