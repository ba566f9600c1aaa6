"""A line of lanes that wait for a thread, and whose step is next.

The lane that has had the least processor time is next, so a tenant whose steps take 2 ms has 25 of
them for each step of a tenant that takes 50.  Had they their steps alternately, the dearest tenant
would decide how many calls of the others are answered.  This is start-time fair queueing (Goyal,
Vin, Cheng: "Start-time fair queuing", SIGCOMM 1996).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidegate.server.turns.lane import Lane


class Line:
    """Lanes that wait; for the event loop's thread only.

    Args:
        places: steps at a time.
    """

    def __init__(self, places: int) -> None:
        self.places = places
        self.under_way = 0
        """Steps that have begun and not ended."""
        self._lanes: list[Lane] = []
        self._had = 0
        """The processor time of the lane whose step began last."""

    def add(self, lane: Lane, now: int) -> None:
        """Have a lane wait; for the time that it did not, it gets nothing.

        Args:
            now: nanoseconds of a clock that does not go back.
        """
        lane.had = max(lane.had, self._had) if lane.line is self else self._had
        lane.line, lane.since = self, now
        self._lanes.append(lane)

    def next(self) -> Lane | None:
        """Take the lane whose step begins now; None when none does."""
        if self.under_way >= self.places:
            return None
        waiting = (lane for lane in self._lanes if not lane.gate.is_shut)
        found = min(waiting, key=lambda lane: lane.had, default=None)
        if found is not None:
            self._had = found.had
            self._lanes.remove(found)
        return found

    def waited(self, now: int) -> int:
        """Nanoseconds for which the lane that waits longest has been waiting."""
        return max((now - lane.since for lane in self._lanes), default=0)
