"""G15: what a call from Python takes beyond the same work in Rust, the two measured in turn.

The Rust loop is a process of its own that waits between its rounds; each round of it is
followed or preceded by one of Python over the same events, so that both meet the same machine.
What is told is the median of the differences, in the time the threads were running. Which
places of memory a process is given makes more of a difference than what is measured, so both
sides are begun anew some times, and it is the median of these.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import tidegate
from benchmarks.goals.goal import Goal
from benchmarks.goals.native import REPOSITORY
from benchmarks.peers.timing import no_collector
from benchmarks.policies import read_policies, to_definitions
from benchmarks.workload import iterate_rules
from tidegate.policy.bundle import bundle
from tidegate.policy.document import compile_definitions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PAIRS = 7
"""Of sets or engines, one on either side."""
ROUNDS = 20
WARM_ROUNDS = 3
BATCH = 256
RECEIVED_AT = 1_798_761_600_000_000_000
"""What both are told, as the Rust loop has it: to read a clock is the caller's own step."""
COMMAND = (
    *("cargo", "run", "--quiet", "--release", "--locked"),
    *("-p", "tidegate-core", "--example", "rust_loop", "--"),
)


def measure(directory: Path, events: Sequence[bytes]) -> list[Goal]:
    """A set of 1,000 rules that is matched, and an engine of the published policies.

    Args:
        directory: where to write what the Rust loop reads.
        events: those that both go through in each round; the set is trained on them.
    """
    files = Files(*(directory / f"in-turn-{name}" for name in ("events", "rules", "definitions")))
    rules = tidegate.RuleSet({rule.rule_id: rule.expression for rule in iterate_rules(1000)})
    definitions = tidegate.load_definitions(to_definitions(read_policies()))
    files.events.write_bytes(b"\n".join(events))
    files.rules.write_bytes(rules.to_canonical())
    files.definitions.write_bytes(bundle(compile_definitions(definitions)))
    pairs = [_pair(files, definitions, events) for _ in range(PAIRS)]
    match, decide, batch = (statistics.median(found) for found in zip(*pairs, strict=True))
    policies = f"{len(definitions.policies)} policies"
    return [
        Goal("G15", "1k: a match from Python over that in Rust", 0.5, match, " µs"),
        Goal("G15", f"{policies}: decide_json over Rust", 0.5, decide, " µs"),
        Goal("G15", f"the same in batches of {BATCH}, an event", 0.1, batch, " µs"),
    ]


class Files(NamedTuple):
    """What the Rust loop reads."""

    events: Path
    rules: Path
    definitions: Path


def _pair(
    files: Files, definitions: tidegate.Definitions, events: Sequence[bytes]
) -> tuple[float, float, float]:
    """A match, a decision and one in a batch, each of a new set or engine on either side."""
    rules = tidegate.RuleSet.from_canonical(files.rules.read_bytes(), sample=events)
    alone, together = tidegate.Engine(definitions), tidegate.Engine(definitions)
    batches = [list(events[start : start + BATCH]) for start in range(0, len(events), BATCH)]

    def matched() -> None:
        match = rules.match
        for event in events:
            match(event)

    def decided() -> None:
        decide = alone.decide_json
        for event in events:
            decide(event, RECEIVED_AT)

    def decided_together() -> None:
        decide = together.decide_batch
        for batch in batches:
            decide(batch, RECEIVED_AT)

    with (
        RustLoop("match", files.rules, files.events) as matching,
        RustLoop("decide", files.definitions, files.events) as deciding,
        RustLoop("decide", files.definitions, files.events) as batching,
    ):
        return (
            _beyond(matching, 1, matched, len(events)),
            _beyond(deciding, 1, decided, len(events)),
            _beyond(batching, BATCH, decided_together, len(events)),
        )


class RustLoop:
    """The Rust part, a process that does one round each time it is asked."""

    def __init__(self, work: str, canonical: Path, events: Path) -> None:
        self._process = subprocess.Popen(
            [*COMMAND, work, str(canonical), str(events)],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def round(self, batch: int) -> float:
        """Nanoseconds an event of all events in batches of so many."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{batch}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def __enter__(self) -> RustLoop:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def _beyond(rust: RustLoop, batch: int, work: Callable[[], None], events: int) -> float:
    """Microseconds an event that the work takes beyond the rounds of the Rust loop."""

    def python() -> float:
        started = time.thread_time_ns()
        work()
        return (time.thread_time_ns() - started) / events

    differences = []
    with no_collector():
        for number in range(ROUNDS + WARM_ROUNDS):
            if number % 2:
                native, called = rust.round(batch), python()
            else:
                called, native = python(), rust.round(batch)
            differences.append(called - native)
    return statistics.median(differences[WARM_ROUNDS:]) / 1000
