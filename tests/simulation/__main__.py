"""``python -m tests.simulation --seeds 100000 --first 0``: run seeds, and report what did not hold.

``--planted`` looks for the planted faults instead.  Exits with 1 when a seed of the product has a
violation, or when a planted fault is not found.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.simulation.planted import FAULTS
from tests.simulation.running import first_that_finds, pool, run_all
from tests.simulation.schedule import Result, run

PLANTED_WITHIN = 10_000
SHOWN = 3
"""Failing seeds whose schedules are printed."""
PROGRESS = 10.0
"""Seconds between two lines of progress."""


def simulate(first: int, count: int) -> int:
    """Run seeds, and print what came of them; the exit code."""
    failed: list[Result] = []
    done = calls = entries = 0
    started = shown = time.monotonic()
    with pool() as workers:
        for results in run_all(workers, first, count):
            done += len(results)
            calls += sum(result.calls for result in results)
            entries += sum(result.entries for result in results)
            failed += [result for result in results if result.violation is not None]
            if time.monotonic() - shown > PROGRESS:
                shown = time.monotonic()
                print(f"{done} seeds, {len(failed)} violations", flush=True)
    for result in sorted(failed, key=lambda each: each.seed)[:SHOWN]:
        show(result.seed)
    print(
        f"{done} seeds from {first}, {calls} calls, {entries} decisions in the log, "
        f"{time.monotonic() - started:.0f} s: {len(failed)} violations"
    )
    return 1 if failed else 0


def show(seed: int) -> None:
    """Run a seed again, and print its schedule."""
    result = run(seed, traced=True)
    print(*result.trace, sep="\n")
    print(f"seed {seed}: {result.violation}")
    print(f"again: python -m tests.simulation --seeds 1 --first {seed}\n")


def look_for_planted(bound: int) -> int:
    """Print the first seed that finds each planted fault; the exit code."""
    missed = 0
    with pool() as workers:
        for fault in FAULTS:
            result = first_that_finds(workers, fault, bound)
            if result is None:
                missed += 1
                print(f"{fault}: not found in {bound} seeds", flush=True)
            else:
                print(f"{fault}: seed {result.seed}: {result.violation}", flush=True)
    return 1 if missed else 0


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100_000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first one")
    parser.add_argument("--planted", action="store_true", help="look for the planted faults")
    arguments = parser.parse_args()
    if arguments.planted:
        return look_for_planted(PLANTED_WITHIN)
    return simulate(arguments.first, arguments.seeds)


if __name__ == "__main__":
    sys.exit(main())
