"""G15: what a call from Python takes beyond the same work in Rust, the two measured in turn.

The Rust loop is a process of its own that waits between its rounds; each round of it is
followed or preceded by one of Python over the same events, so that both meet the same machine.
What is told is the median of the differences of the pairs, in the time the threads were running.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from typing import TYPE_CHECKING

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
    from pathlib import Path

ROUNDS = 60
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
    path = directory / "in-turn.jsonl"
    path.write_bytes(b"\n".join(events))
    rules = tidegate.RuleSet(
        {rule.rule_id: rule.expression for rule in iterate_rules(1000)}, sample=events
    )
    definitions = tidegate.load_definitions(to_definitions(read_policies()))
    rules_path, definitions_path = (
        directory / "in-turn-rules.json",
        directory / "in-turn-definitions.json",
    )
    rules_path.write_bytes(rules.to_canonical())
    definitions_path.write_bytes(bundle(compile_definitions(definitions)))
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
        RustLoop("match", rules_path, path) as matching,
        RustLoop("decide", definitions_path, path) as deciding,
        RustLoop("decide", definitions_path, path) as batching,
    ):
        match = _beyond(matching, 1, matched, len(events))
        decide = _beyond(deciding, 1, decided, len(events))
        batch = _beyond(batching, BATCH, decided_together, len(events))
    return [
        Goal("G15", "1k: a match from Python over that in Rust", 0.5, match, " µs"),
        Goal(
            "G15",
            f"{len(definitions.policies)} policies: decide_json over Rust",
            0.5,
            decide,
            " µs",
        ),
        Goal("G15", f"the same in batches of {BATCH}, an event", 0.1, batch, " µs"),
    ]


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
