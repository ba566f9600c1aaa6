"""G10: one rule changed, while another thread keeps matching."""

from __future__ import annotations

import statistics
import threading
import time
from typing import TYPE_CHECKING

import tidegate
from benchmarks.goals.goal import Goal

if TYPE_CHECKING:
    from collections.abc import Sequence

CHANGES = 1000
RATE = 100
QUIET_SECONDS = 5.0
SAMPLE_STEP = 10


def measure(data: bytes, expressions: Sequence[str], events: Sequence[bytes]) -> list[Goal]:
    """Change rules of a set of 10,000 one after another.

    A change is one rule's text in, parsed and checked, until the set that has it can be
    matched; the reader takes the latest set for each event.
    """
    rules = tidegate.RuleSet.from_canonical(data, sample=events[::SAMPLE_STEP])
    # The first change of a set that was read from its canonical form reads the schema.
    rules = rules.with_changes({})
    reader = Reader(rules, events)
    reader.start()
    time.sleep(QUIET_SECONDS)
    quiet = reader.take()
    taken: list[float] = []
    due = time.perf_counter()
    for number in range(CHANGES):
        due += 1 / RATE
        time.sleep(max(0.0, due - time.perf_counter()))
        text = expressions[-1 - number]
        started = time.perf_counter()
        reader.rules = reader.rules.with_changes({f"r{number:06}": text})
        taken.append(time.perf_counter() - started)
    busy = reader.take()
    reader.stop()
    milliseconds = statistics.quantiles(taken, n=100)[98] * 1000
    return [
        Goal("G10", "10k: a changed rule is live, p99", 5, milliseconds, " ms"),
        Goal("G10", f"10k: p99 at {RATE} changes/s over quiet", 1.3, _p99(busy) / _p99(quiet), "x"),
    ]


def _p99(times: Sequence[int]) -> float:
    return statistics.quantiles(times, n=100)[98]


class Reader(threading.Thread):
    """Matches one event after another and keeps the time each took."""

    def __init__(self, rules: tidegate.RuleSet, events: Sequence[bytes]) -> None:
        super().__init__(daemon=True)
        self.rules = rules
        self._events = events
        self._times: list[int] = []
        self._is_over = False

    def run(self) -> None:
        clock = time.perf_counter_ns
        while not self._is_over:
            for event in self._events:
                started = clock()
                self.rules.match(event)
                self._times.append(clock() - started)

    def take(self) -> list[int]:
        """The times since the last call."""
        times, self._times = self._times, []
        return times

    def stop(self) -> None:
        self._is_over = True
        self.join()
