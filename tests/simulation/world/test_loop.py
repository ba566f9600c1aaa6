"""The loop in virtual time does what asyncio's do, and takes no time for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import pytest
from tests.simulation.world.service import account
from tests.simulation.world.world import World

HOUR = 3_600.0


class Lab:
    """A process that runs what a test gives it."""

    def __init__(self) -> None:
        self.world = World(1, "a", 1, [account(0, 0)])
        (self.process,) = self.world.processes.values()
        self.process.begin = lambda: None  # type: ignore[method-assign]
        self.process.start()

    def run(self, work: Coroutine[Any, Any, Any], seconds: float = HOUR) -> Any:
        """Return what a coroutine does."""
        task = self.process.loop.create_task(work)
        self.world.run(seconds)
        return task.result()


@pytest.fixture
def lab() -> Lab:
    """A process in a world without weather."""
    return Lab()


def test_time_passes_only_by_waiting(lab: Lab) -> None:
    """An hour takes a moment, and timers fire in order."""

    async def wait() -> list[float]:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        fired: list[float] = []
        for delay in (1_800.0, 0.5, 60.0):
            loop.call_later(delay, lambda: fired.append(loop.time() - begun))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2_000.0):
                await asyncio.Event().wait()
        return fired

    assert lab.run(wait()) == pytest.approx([0.5, 60.0, 1_800.0])


def test_a_wait_that_is_begun_again_until_its_time_ends(lab: Lab) -> None:
    """A timer may fire a rounding error early, and what is left is too short to be waited for."""
    turns = 0

    async def wait() -> None:
        nonlocal turns
        for number in range(1_000):
            until = lab.world.monotonic() + 1.0 + number / 7
            while (left := until - lab.world.monotonic()) > 0.0:
                turns += 1
                assert turns < 10_000, "no time passes"
                with suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await asyncio.Event().wait()

    lab.run(wait(), seconds=1_000 * HOUR)
    assert turns > 1_000


def test_a_thread_does_its_work_between_two_turns(lab: Lab) -> None:
    """Its result, or its error, comes later."""

    async def work() -> float:
        begun = asyncio.get_running_loop().time()
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 / 0)
        assert await asyncio.to_thread(lambda: 7) == 7
        return asyncio.get_running_loop().time() - begun

    assert 0.0 < lab.run(work()) < 1.0


def test_a_stalled_process_does_nothing(lab: Lab) -> None:
    """It goes on afterwards as if nothing had been."""

    async def wait() -> float:
        await asyncio.sleep(1.0)
        return lab.world.now

    lab.process.stall(30.0)
    assert lab.run(wait()) == 31.0
    assert lab.process.stalled_between(0.0, 10.0) == 10.0


def test_a_crashed_process_goes_on_nowhere(lab: Lab) -> None:
    """Not even with what it would do at its end."""
    done: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.sleep(10.0)
        finally:
            done.append("ended")

    task = lab.process.loop.create_task(wait())
    lab.world.at(5.0, lab.process.crash)
    lab.world.run(HOUR)
    assert not task.done()
    assert done == []
    lab.world.end()
