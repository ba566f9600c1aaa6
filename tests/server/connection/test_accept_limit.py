"""The requests that a turn of the loop takes up, and their order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from tidegate_server.connection import accept_limit as reception_module
from tidegate_server.connection.accept_limit import PAUSE_SECONDS, WORK_SECONDS, AcceptLimit


class Loop(asyncio.SelectorEventLoop):
    """A loop of which the test makes the turns, by a clock that the test moves."""

    now = 0.0

    def time(self) -> float:
        return self.now


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loop]:
    """A loop whose clock stands still."""
    made = Loop()
    monkeypatch.setattr(reception_module.time, "monotonic", made.time)
    yield made
    made.close()


def turn(loop: asyncio.AbstractEventLoop) -> None:
    """Exactly one turn: what is called soon in it waits for the next."""
    loop.call_soon(loop.stop)
    loop.run_forever()


def noting(taken: list[str], name: str) -> Callable[[], None]:
    """Something that notes when it is taken up."""
    return lambda: taken.append(name)


def test_each_turn_takes_up_one(loop: Loop) -> None:
    """However many wait, a turn of the loop takes up one of them, in order."""
    accept_limit, taken = AcceptLimit(), list[str]()
    for number in range(5):
        accept_limit.add(loop, "one", noting(taken, str(number)))
    assert not taken
    for turns in range(1, 6):
        turn(loop)
        assert taken == [str(number) for number in range(turns)]


def test_lines_are_taken_up_alternately(loop: Loop) -> None:
    """A caller with one request does not wait for all requests of a caller with many."""
    accept_limit, taken = AcceptLimit(), list[str]()
    for _ in range(10):
        accept_limit.add(loop, "many", noting(taken, "many"))
    turn(loop)
    accept_limit.add(loop, "one", noting(taken, "one"))
    for _ in range(3):
        turn(loop)
    assert taken == ["many", "many", "one", "many"]


def test_who_begins_again_waits_for_another_turn(loop: Loop) -> None:
    """A caller that begins again at once gets only as much of a turn as others."""
    accept_limit, taken = AcceptLimit(), list[str]()

    def again() -> None:
        taken.append("again")
        accept_limit.add(loop, "one", again)

    again()
    for turns in range(1, 4):
        turn(loop)
        assert len(taken) == 1 + turns


def test_the_loop_is_free_in_pauses_while_work_waits(loop: Loop) -> None:
    """After a while turns take up nothing, and the loop waits, until the pause is over."""
    accept_limit, taken = AcceptLimit(), list[str]()
    for number in range(5):
        accept_limit.add(loop, "one", noting(taken, str(number)))
    turn(loop)
    loop.now += WORK_SECONDS
    turn(loop)
    accept_limit.add(loop, "two", noting(taken, "5"))
    for _ in range(3):
        turn(loop)
    assert taken == ["0", "1"]
    loop.now += PAUSE_SECONDS
    for _ in range(3):
        turn(loop)
    assert taken == ["0", "1", "2", "5", "3"]


def test_work_that_comes_alone_is_taken_up_at_once(loop: Loop) -> None:
    """One piece at a time waits for nothing but its turn of the loop."""
    accept_limit, taken = AcceptLimit(), list[str]()
    for number in range(3):
        loop.now += WORK_SECONDS
        accept_limit.add(loop, "one", noting(taken, str(number)))
        turn(loop)
        assert taken[-1] == str(number)


def test_a_caller_that_gave_up_waiting_holds_up_nobody() -> None:
    """The turn of a caller that gave up passes to the next one."""

    async def play() -> None:
        accept_limit = AcceptLimit()
        gone = asyncio.ensure_future(accept_limit.turn("one", 0))
        stays = asyncio.ensure_future(accept_limit.turn("one", 0))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait_for(stays, 10)

    asyncio.run(play())


def test_a_loop_that_ended_leaves_nothing_scheduled(loop: Loop) -> None:
    """A request added on another loop is taken up there."""
    accept_limit, taken = AcceptLimit(), list[str]()
    ended = asyncio.new_event_loop()
    accept_limit.add(ended, "one", noting(taken, "first"))
    ended.close()
    accept_limit.add(loop, "one", noting(taken, "second"))
    for _ in range(2):
        turn(loop)
    assert taken == ["first", "second"]
