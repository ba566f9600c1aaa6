"""Calls that come between two steps that are made off the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tidegate_server.turns.gate import Gate


def run(scene: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scene()

    asyncio.run(whole())


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_a_gate_is_shut_when_the_last_step_has_ended() -> None:
    """No step begins while a gate is held shut, and its opening is reported once."""

    async def scene() -> None:
        said: list[str] = []
        gate = Gate(lambda: said.append("opened"))
        release = asyncio.Event()

        async def hold(name: str) -> None:
            async with gate.shut():
                said.append(name)
                await release.wait()

        gate.enter()
        gate.enter()
        holders = [asyncio.create_task(hold(name)) for name in "ab"]
        await turns()
        assert gate.is_shut
        gate.leave()
        await turns()
        assert said == []
        gate.leave()
        await turns()
        assert said == ["a", "b"]
        assert gate.is_shut
        release.set()
        await asyncio.gather(*holders)
        assert said == ["a", "b", "opened"]
        assert not gate.is_shut

    run(scene)


def test_who_gives_up_waiting_does_not_keep_it_shut() -> None:
    """A holder that gives up or fails does not keep the gate shut."""

    async def scene() -> None:
        gate = Gate(lambda: None)
        gate.enter()

        async def hold() -> None:
            async with gate.shut():
                raise ValueError("inside")

        waiting = asyncio.create_task(hold())
        await turns()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert not gate.is_shut
        gate.leave()
        with pytest.raises(ValueError, match="inside"):
            await hold()
        assert not gate.is_shut

    run(scene)
