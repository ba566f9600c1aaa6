"""Medians of interleaved rounds.

Other programs on the machine come and go; taking turns spreads their load over all engines, and
each round starts with another of them.
"""

from __future__ import annotations

import gc
import itertools
import statistics
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Work:
    """A call and the inputs it is timed over, in order."""

    call: Callable[[Any], object]
    inputs: Sequence[Any]


def interleave(work: Mapping[Key, Work], *, rounds: int, seconds: float) -> dict[Key, float]:
    """Median nanoseconds a call for each piece of work.

    Args:
        work: what to time.
        rounds: how often each is timed.
        seconds: about how long one timing may take. Work that cannot go through its
            inputs in that time gets fewer of them, at least one.
    """
    times: dict[Key, list[float]] = {key: [] for key in work}
    order = list(work)
    with no_collector():
        sized = {key: _fit(one, seconds) for key, one in work.items()}
        for number in range(rounds):
            shift = number % len(order) if order else 0
            for key in order[shift:] + order[:shift]:
                times[key].append(_time(sized[key]))
    return {key: statistics.median(found) for key, found in times.items()}


@contextmanager
def no_collector() -> Iterator[None]:
    """No cyclic collection during a timing, only between two.

    Compiled objects are frozen out of collections: sets of some engines are millions of objects.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def _fit(work: Work, seconds: float) -> Work:
    """The same work with as many inputs as fit; this also warms it up."""
    inputs: list[Any] = []
    deadline = time.perf_counter() + seconds
    for value in itertools.cycle(work.inputs):
        work.call(value)
        inputs.append(value)
        if time.perf_counter() > deadline:
            return Work(work.call, inputs)
    raise ValueError("there are no inputs to time over")


def _time(work: Work) -> float:
    call, inputs = work.call, work.inputs
    gc.collect()
    started = time.perf_counter_ns()
    for value in inputs:
        call(value)
    return (time.perf_counter_ns() - started) / len(inputs)
