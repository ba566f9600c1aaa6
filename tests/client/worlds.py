"""Worlds in which time passes as a test says."""

from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, datetime, timedelta

from tidegate.client import World

START = datetime(2026, 3, 1, tzinfo=UTC)


class QuickTime:
    """A sleep is over at once; the clock has moved on by as much."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.sleeps: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)


class StandingTime:
    """A sleep ends when the test moves the clock past it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._sleepers: list[tuple[float, asyncio.Event]] = []

    async def sleep(self, seconds: float) -> None:
        over = asyncio.Event()
        self._sleepers.append((self.seconds + seconds, over))
        await over.wait()

    def pass_by(self, seconds: float) -> None:
        self.seconds += seconds
        for until, over in self._sleepers:
            if until <= self.seconds:
                over.set()


def world(time: QuickTime | StandingTime, chance: float = 1.0) -> World:
    """A world with this time, keys `key-1`, `key-2` and so on, and no chance."""
    numbers = itertools.count(1)
    return World(
        now=lambda: START + timedelta(seconds=time.seconds),
        clock=lambda: time.seconds,
        sleep=time.sleep,
        chance=lambda: chance,
        new_key=lambda: f"key-{next(numbers)}",
    )
