"""Sends generated events, and reads each back by every route; exit code 1 when one cannot be.

``--events N`` says how many, ``--seed N`` which.  Routes that answer with lists show all of them,
those that answer with one decision ``--singly N`` of each 2,000.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.service.readable.running import run


def main() -> int:
    """Run it, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--singly", type=int, default=100)
    given = parser.parse_args()
    started = time.monotonic()
    with TemporaryDirectory() as directory:
        found, read = run(Path(directory), given.events, given.seed, given.singly, told=print)
    for route, count in sorted(read.items()):
        print(f"{count:>9,} {route}")
    for kind, count in found.counts.most_common():
        print(f"{count:>9,} FAILED {kind}: {found.examples[kind]!a}")
    seconds = time.monotonic() - started
    print(f"{sum(found.counts.values())} errors; {given.events / seconds:,.0f} events a second")
    return 1 if found.counts else 0


if __name__ == "__main__":
    sys.exit(main())
