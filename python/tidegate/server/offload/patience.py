"""Late answers for callers who go on after refusals: a loop of refusals then costs little."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidegate.server.connection.reception import Reception

FREE_REFUSALS = 8
"""Refusals of one caller in a second that are answered immediately."""
LATE_SECONDS = 1.0
APART_SECONDS = 0.02
"""Between two late answers of one caller."""
LATE = frozenset({401, 429})
"""The refusals that callers can have as many of as they like."""


class Patience:
    """Refusals of the running second, by caller; used on the event loop only.

    Args:
        reception: where late answers wait for their turn.
        monotonic: seconds of a clock that does not go back.
    """

    def __init__(
        self, reception: Reception, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._reception = reception
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
            # Callers who are answered at one moment would all ask again at one moment.
            apart = APART_SECONDS * (self._refusals[caller] - FREE_REFUSALS)
            await self._reception.turn(caller, LATE_SECONDS + apart)
