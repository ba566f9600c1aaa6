"""G15 and G7: calls from Python next to loops in Rust, in one process, alternately.

The time of a call beyond the same work in Rust is measured on the same objects, and the reading
of an event is compared with readers of JSON.

The loops in Rust (``benchmarks/native/src/lib.rs``) are an extension that is built for this
alone. Each loop has a rule set or an engine made of the bytes that the package's own is made of.
Rust and Python go through the events alternately; both are timed by how long the thread ran. Before
either goes through some events, all their bytes are read, as those of an event just received have
been. A process's places in memory make some difference, so several processes are measured, one
after another.
"""

from __future__ import annotations

import importlib
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

import tidegate
from benchmarks.goals.from_python import optional
from benchmarks.goals.goal import Goal, absent
from benchmarks.goals.native import REPOSITORY, WORKSPACE
from benchmarks.peers.timing import no_collector
from benchmarks.traffic.policies import read_policies, to_definitions
from benchmarks.traffic.workload import iterate_rules
from tidegate.evaluation.agents.user_agents import patterns
from tidegate.policy.definitions.bundle import bundle
from tidegate.policy.document import compile_definitions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PROCESSES = 7
ROUNDS = 24
BATCH = 256
RECEIVED_AT = 1_798_761_600_000_000_000
"""The time that both get, 1 January 2027: reading a clock is the caller's own step."""


def measure(directory: Path, events: Sequence[bytes]) -> list[Goal]:
    """A set of 1,000 rules that is matched, and an engine of the published policies.

    Args:
        directory: where to put the extension, and to write the events and definitions.
        events: those that both go through in each round; the set is trained on them.
    """
    package = _build(directory)
    files = [directory / f"in-turn-{name}" for name in ("events", "rules", "definitions")]
    rules = {rule.rule_id: rule.expression for rule in iterate_rules(1000)}
    policies = read_policies()
    files[0].write_bytes(b"\n".join(events))
    files[1].write_bytes(tidegate.RuleSet(rules).to_canonical())
    files[2].write_bytes(orjson.dumps(to_definitions(policies)))
    found = [_in_a_process(package, files) for _ in range(PROCESSES)]
    of = {name: statistics.median(each[name] for each in found) for name in found[0]}
    goals = [
        Goal("G15", "1k: a match from Python over that in Rust", 0.5, of["match"], " µs"),
        Goal("G15", f"{len(policies)} policies: decide_json over Rust", 0.5, of["decide"], " µs"),
        Goal("G15", f"the same in batches of {BATCH}, an event", 0.1, of["batch"], " µs"),
        Goal("G7", "reading over orjson", 0.35, of["orjson"], "x"),
    ]
    if "simdjson" in of:
        goals.append(Goal("G7", "reading over simdjson", 1.3, of["simdjson"], "x"))
    else:
        goals.append(absent("G7", "reading over simdjson", 1.3, "pysimdjson is not installed"))
    return goals


def _build(directory: Path) -> Path:
    """The folder with the loops as an extension, for the import path."""
    build = [
        *("cargo", "build", "--release", "--quiet", "--locked", "--lib"),
        *(*WORKSPACE, "--features", "python"),
    ]
    subprocess.run(build, cwd=REPOSITORY, check=True)
    package = directory / "loops"
    package.mkdir(parents=True, exist_ok=True)
    library = REPOSITORY / "target" / "release" / "libnative_loops.so"
    shutil.copyfile(library, package / "native_loops.so")
    return package


def _in_a_process(package: Path, files: Sequence[Path]) -> dict[str, float]:
    """The result of :func:`_measure_here` in a process of its own."""
    path = os.pathsep.join([str(package), str(REPOSITORY)])
    done = subprocess.run(
        [sys.executable, "-m", __name__, *map(str, files)],
        env=os.environ | {"PYTHONPATH": path},
        check=True,
        stdout=subprocess.PIPE,
    )
    found: dict[str, float] = orjson.loads(done.stdout)
    return found


def _measure_here(events_path: Path, rules_path: Path, definitions_path: Path) -> dict[str, float]:
    """Microseconds of a match, a decision and one in a batch beyond those in Rust.

    And how many times as long reading takes as each reader of JSON that is there.
    """
    loops: Any = importlib.import_module("native_loops")
    events = events_path.read_bytes().splitlines()
    rules = tidegate.RuleSet.from_canonical(rules_path.read_bytes(), sample=events)
    definitions = tidegate.load_definitions(orjson.loads(definitions_path.read_bytes()))
    engine = tidegate.Engine(definitions)
    matcher = loops.Rules(rules_path.read_bytes(), events, patterns())
    decider = loops.Decisions(bundle(compile_definitions(definitions)), patterns())
    batches = [events[start : start + BATCH] for start in range(0, len(events), BATCH)]

    def each(call: Callable[[bytes], object]) -> Callable[[list[bytes]], None]:
        def work(batch: list[bytes]) -> None:
            for event in batch:
                call(event)

        return work

    def decided(batch: list[bytes]) -> None:
        decide = engine.decide_json
        for event in batch:
            decide(event, RECEIVED_AT)

    def decided_together(batch: list[bytes]) -> None:
        engine.decide_batch(batch, RECEIVED_AT)

    pairs: dict[str, tuple[Callable[[list[bytes]], None], Callable[[list[bytes]], int]]] = {
        "match": (each(rules.match), matcher.match),
        "decide": (decided, lambda batch: decider.each(batch, RECEIVED_AT)),
        "batch": (decided_together, lambda batch: decider.together(batch, RECEIVED_AT)),
    }
    found = {}
    for name, (called, native) in pairs.items():
        one, other = _least(called, native, batches)
        found[name] = (one - other) / len(events) / 1000
    readers: dict[str, Callable[[bytes], object]] = {"orjson": orjson.loads}
    if simdjson := optional("simdjson"):
        readers["simdjson"] = simdjson.Parser().parse
    for name, reader in readers.items():
        parsed, read = _least(each(reader), matcher.read, batches)
        found[name] = read / parsed
    return found


def _least(
    called: Callable[[list[bytes]], None],
    native: Callable[[list[bytes]], int],
    batches: Sequence[list[bytes]],
) -> tuple[int, int]:
    """Nanoseconds of both for all events, of each batch the least of all rounds.

    Other programs on the machine can only add to a time, and add more than the difference that
    is sought. In each round now the one is first, now the other.
    """

    def python(batch: list[bytes]) -> int:
        started = time.thread_time_ns()
        called(batch)
        return time.thread_time_ns() - started

    least = [[sys.maxsize] * len(batches) for _ in range(2)]
    with no_collector():
        for number in range(ROUNDS):
            for place, batch in enumerate(batches):
                works = list(zip(least, (python, native), strict=True))
                for times, work in works if (number + place) % 2 else reversed(works):
                    _bring_in(batch)
                    times[place] = min(times[place], work(batch))
    one, other = map(sum, least)
    return one, other


def _bring_in(events: Sequence[bytes]) -> None:
    """Reads all of some events."""
    for event in events:
        event.find(b"\n")


if __name__ == "__main__":
    sys.stdout.buffer.write(orjson.dumps(_measure_here(*map(Path, sys.argv[1:]))))
