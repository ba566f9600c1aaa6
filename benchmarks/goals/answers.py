"""G14: no differences from the published answers and from the reference."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.goals.goal import Goal

CHECKS = (
    ("published answers of 1,000 and 10,000 rules", ("benchmarks.rules_agreement",)),
    ("published triggers of 74 windows", ("benchmarks.windows",)),
)


def measure(sets: int) -> list[Goal]:
    """Run the checks; each counts as one difference when it finds any."""
    generated = (f"{sets:,} generated sets", ("tidegate.testing.sets", "--sets", str(sets)))
    found = []
    for what, arguments in (*CHECKS, generated):
        done = subprocess.run(
            [sys.executable, "-m", *arguments], check=False, stdout=subprocess.DEVNULL
        )
        found.append(Goal("G14", f"{what}: checks that differ", 0, float(done.returncode != 0)))
    return found
