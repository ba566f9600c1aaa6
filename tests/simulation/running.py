"""Many seeds, on all cores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from multiprocessing import get_context
from multiprocessing.pool import Pool

from tests.simulation.planted import FAULTS
from tests.simulation.schedule import Result, run

CHUNK = 32
"""Seeds that a process runs before it reports."""


def pool() -> Pool:
    """A process for each core that this one may use."""
    return get_context("spawn").Pool(len(os.sched_getaffinity(0)))


def run_all(workers: Pool, first: int, count: int) -> Iterator[list[Result]]:
    """Results of seeds, a chunk at a time, in the order in which they are done.

    Args:
        workers: of :func:`pool`.
        first: the first seed.
        count: how many seeds.
    """
    chunks = [
        range(at, min(at + CHUNK, first + count)) for at in range(first, first + count, CHUNK)
    ]
    return workers.imap_unordered(_run, chunks)


def first_that_finds(workers: Pool, fault: str, bound: int) -> Result | None:
    """The result of the first seed that finds a planted fault, None when none below a bound does.

    Args:
        workers: of :func:`pool`.
        fault: one of ``FAULTS``.
        bound: how many seeds are tried, from 0 on.
    """
    chunks = [range(at, min(at + CHUNK, bound)) for at in range(0, bound, CHUNK)]
    # The chunks that are handed out already run on after the first find, so few are at a time.
    for group in range(0, len(chunks), 8):
        for result in workers.imap(partial(_find, fault), chunks[group : group + 8]):
            if result is not None:
                return result
    return None


def _run(seeds: range) -> list[Result]:
    return [run(seed) for seed in seeds]


def _find(fault: str, seeds: range) -> Result | None:
    results = (run(seed, FAULTS[fault]) for seed in seeds)
    return next((result for result in results if result.violation is not None), None)
