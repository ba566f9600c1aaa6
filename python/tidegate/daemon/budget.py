"""How many requests the fail mode may let through in an hour before somebody is to look."""

from __future__ import annotations

from collections import deque

from tidegate.server.logging import log

HOUR = 3600.0
STEP = 60.0


class FailOpenBudget:
    """Counts requests that were let through without definitions to judge them.

    Args:
        per_hour: after which the alarm is raised; nothing is refused because of it.
    """

    def __init__(self, per_hour: int) -> None:
        self._per_hour = per_hour
        self._steps: deque[tuple[float, int]] = deque()
        self.total = 0
        """Since the start."""
        self.alarm = False
        """Whether more than allowed were let through in the last hour."""

    def count(self, decisions: int, now: float) -> None:
        """Count decisions at a time, in seconds of a clock that never jumps."""
        if decisions:
            self.total += decisions
            if self._steps and now - self._steps[-1][0] < STEP:
                at, before = self._steps.pop()
                self._steps.append((at, before + decisions))
            else:
                self._steps.append((now, decisions))
        while self._steps and now - self._steps[0][0] > HOUR:
            self._steps.popleft()
        is_over = sum(count for _, count in self._steps) > self._per_hour
        if is_over and not self.alarm:
            log.error("the fail mode lets more requests through than its budget", total=self.total)
        self.alarm = is_over
