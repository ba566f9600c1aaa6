"""Throttle callers that go on after refusals: late answers make a loop of refusals cheap."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidegate_server.connection.accept_limit import AcceptLimit

FREE_REFUSALS = 8
"""How many refusals of one caller in a second are answered immediately."""
LATE_SECONDS = 1.0
APART_SECONDS = 0.02
"""The interval between two late answers to one caller."""
LATE = frozenset({401, 429})
"""The refusals that callers can cause without limit."""


class Throttle:
    """The refusals of the present second, by caller; use it only on the event loop.

    Args:
        reception: where late answers wait for their turn.
        monotonic: seconds of a monotonic clock.
    """

    def __init__(
        self, accept_limit: AcceptLimit, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._accept_limit = accept_limit
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
            # Callers answered at the same moment would all retry at the same moment.
            apart = APART_SECONDS * (self._refusals[caller] - FREE_REFUSALS)
            await self._accept_limit.turn(caller, LATE_SECONDS + apart)
