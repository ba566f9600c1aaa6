"""Who goes on asking after a refusal is answered later: a loop of refusals costs little then."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Hashable

FREE_REFUSALS = 8
"""Of one caller in a second that are answered at once."""
LATE_SECONDS = 1.0
LATE = frozenset({401, 429})
"""The refusals that callers can have as many of as they like."""


class Patience:
    """Refusals of the running second, by caller; used on the event loop only.

    Args:
        monotonic: seconds of a clock that does not go back.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._second = 0
        self._refusals: Counter[Hashable] = Counter()

    async def refused(self, caller: Hashable) -> None:
        """Count a refusal; return when it may be answered."""
        second = int(self._monotonic())
        if second != self._second:
            self._second, self._refusals = second, Counter()
        self._refusals[caller] += 1
        if self._refusals[caller] > FREE_REFUSALS:
            await asyncio.sleep(LATE_SECONDS)
