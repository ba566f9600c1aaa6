"""What a turn of the loop takes up, and in whose order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from tidegate.server.connection import reception as reception_module
from tidegate.server.connection.reception import HANDED_OVER_SECONDS, Reception


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop of which the test makes the turns."""
    made = asyncio.new_event_loop()
    yield made
    made.close()


def turn(loop: asyncio.AbstractEventLoop) -> None:
    """Exactly one turn: what is called soon in it waits for the next."""
    loop.call_soon(loop.stop)
    loop.run_forever()


def noting(taken: list[str], name: str) -> Callable[[], None]:
    """Something that notes when it is taken up."""
    return lambda: taken.append(name)


def test_each_turn_takes_up_one(loop: asyncio.AbstractEventLoop) -> None:
    """However many wait, a turn of the loop takes up one of them, in order."""
    reception, taken = Reception(), list[str]()
    for number in range(5):
        reception.add(loop, "one", noting(taken, str(number)))
    assert not taken
    for turns in range(1, 6):
        turn(loop)
        assert taken == [str(number) for number in range(turns)]


def test_lines_are_taken_up_alternately(loop: asyncio.AbstractEventLoop) -> None:
    """Whoever has one request is not behind all of those who have many."""
    reception, taken = Reception(), list[str]()
    for _ in range(10):
        reception.add(loop, "many", noting(taken, "many"))
    turn(loop)
    reception.add(loop, "one", noting(taken, "one"))
    for _ in range(3):
        turn(loop)
    assert taken == ["many", "many", "one", "many"]


def test_who_begins_again_waits_for_another_turn(loop: asyncio.AbstractEventLoop) -> None:
    """A caller that begins again at once has no more of a turn than others."""
    reception, taken = Reception(), list[str]()

    def again() -> None:
        taken.append("again")
        reception.add(loop, "one", again)

    again()
    for turns in range(1, 4):
        turn(loop)
        assert len(taken) == 1 + turns


def test_other_threads_have_the_interpreter_while_somebody_waits(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each turn except the last hands the interpreter over: nobody waits then."""
    handed: list[float] = []
    monkeypatch.setattr(reception_module.time, "sleep", handed.append)
    reception, taken = Reception(), list[str]()
    for number in range(3):
        reception.add(loop, "one", noting(taken, str(number)))
    for turns in range(1, 4):
        turn(loop)
        assert handed == [HANDED_OVER_SECONDS] * min(turns, 2)


def test_a_caller_that_gave_up_waiting_holds_up_nobody() -> None:
    """The turn of a caller that gave up passes to the next one."""

    async def play() -> None:
        reception = Reception()
        gone = asyncio.ensure_future(reception.turn("one", 0))
        stays = asyncio.ensure_future(reception.turn("one", 0))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait_for(stays, 10)

    asyncio.run(play())


def test_a_loop_that_ended_leaves_nothing_scheduled(loop: asyncio.AbstractEventLoop) -> None:
    """What is added on another loop is taken up there."""
    reception, taken = Reception(), list[str]()
    ended = asyncio.new_event_loop()
    reception.add(ended, "one", noting(taken, "first"))
    ended.close()
    reception.add(loop, "one", noting(taken, "second"))
    for _ in range(2):
        turn(loop)
    assert taken == ["first", "second"]
