"""G15: what a call from Python takes beyond the same work in Rust, on the same objects.

The loop in Rust (``rust/python/src/rust_loop.rs``) is in an extension that is built for this
alone. It goes through the events with the very rule set or engine that Python calls, in turn
with it, and both are timed by how long the thread was running. As the places of memory that a
process is given make some difference, several processes are measured, one after another.
"""

from __future__ import annotations

import importlib
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

import tidegate
from benchmarks.goals.goal import Goal
from benchmarks.goals.native import REPOSITORY
from benchmarks.peers.timing import no_collector
from benchmarks.policies import read_policies, to_definitions
from benchmarks.workload import iterate_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PROCESSES = 7
ROUNDS = 20
WARM_ROUNDS = 3
BATCH = 256
RECEIVED_AT = 1_798_761_600_000_000_000
"""What both are told, 1 January 2027: to read a clock is the caller's own step."""


def measure(directory: Path, events: Sequence[bytes]) -> list[Goal]:
    """A set of 1,000 rules that is matched, and an engine of the published policies.

    Args:
        directory: where to install the extension, and to write the events and definitions.
        events: those that both go through in each round; the set is trained on them.
    """
    package = _install(directory)
    files = [directory / f"in-turn-{name}" for name in ("events", "rules", "definitions")]
    rules = {rule.rule_id: rule.expression for rule in iterate_rules(1000)}
    policies = read_policies()
    files[0].write_bytes(b"\n".join(events))
    files[1].write_bytes(tidegate.RuleSet(rules).to_canonical())
    files[2].write_bytes(orjson.dumps(to_definitions(policies)))
    found = [_in_a_process(package, files) for _ in range(PROCESSES)]
    match, decide, batch = (statistics.median(each) for each in zip(*found, strict=True))
    return [
        Goal("G15", "1k: a match from Python over that in Rust", 0.5, match, " µs"),
        Goal("G15", f"{len(policies)} policies: decide_json over Rust", 0.5, decide, " µs"),
        Goal("G15", f"the same in batches of {BATCH}, an event", 0.1, batch, " µs"),
    ]


def _install(directory: Path) -> Path:
    """The package with the loops in its extension, where nobody else imports it from."""
    wheels, package = directory / "wheels", directory / "package"
    build = [
        *(sys.executable, "-m", "maturin", "build", "--release", "--locked", "--quiet"),
        *("--features", "extension-module,rust-loop", "--out", str(wheels)),
        *("--target-dir", str(REPOSITORY / "target" / "rust-loop")),
    ]
    subprocess.run(build, cwd=REPOSITORY, check=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"]
    subprocess.run([*pip, "--target", package, *wheels.glob("*.whl")], check=True)
    return package


def _in_a_process(package: Path, files: Sequence[Path]) -> list[float]:
    """What :func:`_differences` finds in a process of its own."""
    path = os.pathsep.join([str(package), str(REPOSITORY)])
    done = subprocess.run(
        [sys.executable, "-m", __name__, *map(str, files)],
        env=os.environ | {"PYTHONPATH": path},
        check=True,
        stdout=subprocess.PIPE,
    )
    found: list[float] = orjson.loads(done.stdout)
    return found


def _differences(events_path: Path, rules_path: Path, definitions_path: Path) -> list[float]:
    """Microseconds of a match, a decision and one in a batch, from Python over Rust."""
    loops: Any = importlib.import_module("tidegate._native")
    events = events_path.read_bytes().splitlines()
    rules = tidegate.RuleSet.from_canonical(rules_path.read_bytes(), sample=events)
    engine = tidegate.Engine(tidegate.load_definitions(orjson.loads(definitions_path.read_bytes())))
    matcher, decider = rules._rules._rules, engine._backend
    batches = [list(events[start : start + BATCH]) for start in range(0, len(events), BATCH)]

    def matched() -> None:
        match = rules.match
        for event in events:
            match(event)

    def decided() -> None:
        decide = engine.decide_json
        for event in events:
            decide(event, RECEIVED_AT)

    def decided_together() -> None:
        decide = engine.decide_batch
        for batch in batches:
            decide(batch, RECEIVED_AT)

    pairs: list[tuple[Callable[[], None], Callable[[], int]]] = [
        (matched, lambda: loops.match_events(matcher, events)),
        (decided, lambda: loops.decide_events(decider, events, RECEIVED_AT)),
        (decided_together, lambda: loops.decide_batches(decider, events, RECEIVED_AT, BATCH)),
    ]
    return [_beyond(called, native) / len(events) / 1000 for called, native in pairs]


def _beyond(called: Callable[[], None], native: Callable[[], int]) -> float:
    """Nanoseconds that the calls take beyond the loop: the median of the rounds."""

    def python() -> int:
        started = time.thread_time_ns()
        called()
        return time.thread_time_ns() - started

    differences = []
    with no_collector():
        for number in range(ROUNDS + WARM_ROUNDS):
            if number % 2:
                inner, outer = native(), python()
            else:
                outer, inner = python(), native()
            differences.append(outer - inner)
    return statistics.median(differences[WARM_ROUNDS:])


if __name__ == "__main__":
    sys.stdout.buffer.write(orjson.dumps(_differences(*map(Path, sys.argv[1:]))))
