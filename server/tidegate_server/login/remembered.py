"""A provider's value that is fetched now and then, by one caller for all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from tidegate_server.login.profile import LoginRefusedError

T = TypeVar("T")


class Remembered(Generic[T]):
    """Fetches a value if there isn't one, or only an old one; use it only on the event loop.

    Args:
        fetch: gets the value.
        seconds: how long it is valid.
        pause: seconds between two fetches, whatever the first returned.
        monotonic: seconds of a monotonic clock.
    """

    def __init__(
        self,
        fetch: Callable[[], Awaitable[T]],
        *,
        seconds: float,
        pause: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetch = fetch
        self._seconds = seconds
        self._pause = pause
        self._monotonic = monotonic
        self._lock = asyncio.Lock()
        self._value: T | None = None
        self._failure: LoginRefusedError | None = None
        self._asked_at: float | None = None
        self._got_at = 0.0

    async def get(self, is_good: Callable[[T], bool] = lambda _: True) -> T:
        """Return the value.

        Args:
            is_good: tells whether the value is acceptable; if not it is fetched again, unless it
                was fetched just now.

        Raises:
            LoginRefusedError: it couldn't be fetched.
        """
        async with self._lock:
            if not self._is_fresh(is_good) and self._may_ask():
                await self._ask()
            if self._failure is not None:
                raise LoginRefusedError(str(self._failure), self._failure.fault)
            if self._value is None:  # a cancelled fetch leaves no value
                raise LoginRefusedError("the provider was not asked to the end", "unavailable")
            return self._value

    def _is_fresh(self, is_good: Callable[[T], bool]) -> bool:
        if self._value is None or self._monotonic() - self._got_at > self._seconds:
            return False
        return is_good(self._value)

    def _may_ask(self) -> bool:
        return self._asked_at is None or self._monotonic() - self._asked_at >= self._pause

    async def _ask(self) -> None:
        self._asked_at = self._monotonic()
        try:
            self._value, self._failure = await self._fetch(), None
            self._got_at = self._monotonic()
        except LoginRefusedError as error:
            self._failure = error
