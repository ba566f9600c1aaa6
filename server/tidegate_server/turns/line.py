"""A line of lanes that wait for a thread, and the choice of the next step.

The lane that has had the least CPU time is next, so a tenant with steps of 2 ms gets 25 of them for
each step of a tenant with steps of 50 ms. If steps simply alternated, the most expensive tenant
would decide how many calls of the others are answered. This is start-time fair queueing (Goyal,
Vin, Cheng: "Start-time fair queuing", SIGCOMM 1996).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidegate_server.turns.lane import Lane


class Line:
    """Waiting lanes; use it only on the event loop's thread.

    Args:
        places: how many steps run at a time.
    """

    def __init__(self, places: int) -> None:
        self.places = places
        self.under_way = 0
        """Steps in progress."""
        self._lanes: list[Lane] = []
        self._had = 0
        """The CPU time of the lane whose step started last."""

    def add(self, lane: Lane, now: int) -> None:
        """Have a lane wait; it gets no credit for time in which it didn't.

        Args:
            now: nanoseconds of a monotonic clock.
        """
        lane.had = max(lane.had, self._had) if lane.line is self else self._had
        lane.line, lane.since = self, now
        self._lanes.append(lane)

    def next(self) -> Lane | None:
        """Take the lane that starts a step now; None if none can."""
        if self.under_way >= self.places:
            return None
        waiting = (lane for lane in self._lanes if not lane.gate.is_shut)
        found = min(waiting, key=lambda lane: lane.had, default=None)
        if found is not None:
            self._had = found.had
            self._lanes.remove(found)
        return found

    def waited(self, now: int) -> int:
        """Return how long the longest waiting lane has waited, in nanoseconds."""
        return max((now - lane.since for lane in self._lanes), default=0)
