"""Count logins before they are checked, to prevent guessing passwords.

A client may try a name a few times within a period. A name that failed from many clients gets a
slow lane: one attempt a second, first from the clients that failed least. So guessing from many
clients is slow, and an operator who knows the password can still log in. A device that the operator
has logged in from before (``devices.py``) is a client of its own, and bypasses the lane.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Generic, TypeVar

import attrs

from tidegate_server.http.problems import Problem

K = TypeVar("K")
V = TypeVar("V")

MAX_ATTEMPTS = 10
"""The most attempts at one name from one client."""
SLOW_AFTER = 30
"""After this many attempts from all clients, a name gets a slow lane."""
WINDOW_SECONDS = 900.0
SLOW_SECONDS = 1.0
"""Seconds between two attempts in a slow lane."""
LANE_PLACES = 16
"""How many attempts wait in one lane; this limits the wait of a client that never failed."""
MAX_REMEMBERED = 10_000
"""Names, and pairs of name and client; beyond this the least recently used is forgotten."""


class LoginAttempts:
    """Recent logins, of known and unknown names alike; use it only on the event loop.

    Args:
        monotonic: seconds of a monotonic clock.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._by_client = _Recent[tuple[str, str], deque[float]](lambda: deque(maxlen=MAX_ATTEMPTS))
        self._by_name = _Recent[str, deque[float]](lambda: deque(maxlen=SLOW_AFTER))
        self._known = _Recent[tuple[str, str], bool](lambda: True)
        self._lanes = _Recent[str, SlowLane](SlowLane)

    async def enter(self, client: str, name: str, *, is_device: bool = False) -> None:
        """Count an attempt as failed, and wait until it may be checked.

        Args:
            client: an address, an IPv6 network, or a device.
            name: the name to log in with.
            is_device: whether the client is a device that the name has logged in from.

        Raises:
            Problem: ``rate-limited``; this attempt isn't checked.
        """
        now = self._monotonic()
        mine, everybodys = self._by_client[client, name], self._by_name[name]
        failures = len(_recent(mine, now))
        if failures >= MAX_ATTEMPTS:
            raise _wait(mine[0] + WINDOW_SECONDS - now)
        is_slow = len(_recent(everybodys, now)) >= SLOW_AFTER
        mine.append(now)
        everybodys.append(now)
        if is_slow and not is_device and (client, name) not in self._known:
            await self._lanes[name].turn(failures)

    def succeeded(self, client: str, name: str) -> None:
        """Forget earlier failures here; the client is known from now on."""
        self._by_client.forget((client, name))
        self._known[client, name]


class SlowLane:
    """A queue of attempts."""

    def __init__(self) -> None:
        self._waiting: list[_Turn] = []
        self._is_moving = False

    async def turn(self, failures: int) -> None:
        """Wait for a turn.

        Args:
            failures: the client's failures; clients with fewer go first.

        Raises:
            Problem: ``rate-limited``; the lane is full of clients that failed at most as often.
        """
        if len(self._waiting) >= LANE_PLACES:
            last = max(self._waiting, key=lambda each: each.failures)
            if last.failures <= failures:
                raise _wait(LANE_PLACES * SLOW_SECONDS)
            self._waiting.remove(last)
            last.come.set_exception(_wait(LANE_PLACES * SLOW_SECONDS))
        turn = _Turn(failures, asyncio.get_running_loop().create_future())
        self._waiting.append(turn)
        if not self._is_moving:
            self._move()
        await turn.come

    def _move(self) -> None:
        """Release the first attempt, and schedule the next."""
        self._is_moving = bool(self._waiting)
        if not self._waiting:
            return
        first = min(self._waiting, key=lambda each: each.failures)
        self._waiting.remove(first)
        if not first.come.done():
            first.come.set_result(None)
        asyncio.get_running_loop().call_later(SLOW_SECONDS, self._move)


@attrs.frozen(eq=False)
class _Turn:
    failures: int
    come: asyncio.Future[None]


class _Recent(Generic[K, V]):
    """Values that are created on demand; the least recently used are forgotten."""

    def __init__(self, make: Callable[[], V]) -> None:
        self._make = make
        self._values: OrderedDict[K, V] = OrderedDict()

    def __getitem__(self, key: K) -> V:
        value = self._values.setdefault(key, self._make())
        self._values.move_to_end(key)
        if len(self._values) > MAX_REMEMBERED:
            self._values.popitem(last=False)
        return value

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def forget(self, key: K) -> None:
        self._values.pop(key, None)


def _recent(attempts: deque[float], now: float) -> deque[float]:
    while attempts and attempts[0] + WINDOW_SECONDS <= now:
        attempts.popleft()
    return attempts


def _wait(seconds: float) -> Problem:
    whole = max(1, round(seconds))
    detail = f"too many logins were tried, wait {whole} s"
    return Problem("rate-limited", detail, headers={"retry-after": str(whole)})
