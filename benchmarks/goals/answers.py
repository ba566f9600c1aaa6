"""G14: no differences from the published answers and from the reference."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.goals.goal import Goal

CHECKS = (
    ("published answers of 1,000 and 10,000 rules", "benchmarks.traffic.rules_agreement", 1_000),
    ("published triggers of 74 windows", "benchmarks.windows", 50_000),
)
"""The comparison, its module, and its number of events."""


def measure(sets: int, events: int | None) -> list[Goal]:
    """Run the checks side by side; each counts as one difference when it finds any.

    No time is measured here, so all cores may be busy.
    """
    commands = {
        f"{what}, {events or usual:,} events": (module, "--events", str(events or usual))
        for what, module, usual in CHECKS
    }
    commands[f"{sets:,} generated sets"] = ("tests.generators.sets", "--sets", str(sets))
    running = {
        what: subprocess.Popen([sys.executable, "-m", *command], stdout=subprocess.DEVNULL)
        for what, command in commands.items()
    }
    return [
        Goal("G14", f"{what}: checks that differ", 0, float(process.wait() != 0))
        for what, process in running.items()
    ]
