"""G12 and G13: whole decisions with state through the public API, and the state by itself.

The bound of nine clauses comes from a prototype that counted windows of given keys. Both are
measured against it: that alone (the Rust benchmark ``count_windows``: of clauses that count
different events, and of clauses that count the same), and whole events, which are also read,
matched and answered.
"""

from __future__ import annotations

import itertools
import statistics
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

import tidegate
from benchmarks.goals.goal import Goal
from benchmarks.goals.native import REPOSITORY, WORKSPACE
from benchmarks.traffic.policies import read_policies, to_definitions
from benchmarks.traffic.workload import TRAFFIC, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

POLICIES = 1_000
KEYS = 1_000_000
CLAUSES = 9
BATCH = 256
EVENTS = 60_000
WARM = 10_000
COUNT_WINDOWS = (
    *("cargo", "run", "--quiet", "--release", "--locked", *WORKSPACE),
    *("--bin", "count_windows"),
)


def measure() -> list[Goal]:
    """Decisions one by one in the order of the events, and batches over a million entities."""
    events = list(itertools.islice(read_lines(TRAFFIC / "events.jsonl.gz"), EVENTS))
    engine = tidegate.Engine(tidegate.load_definitions(_many_policies()))
    times = _decide(engine, events)[WARM:]
    cut = statistics.quantiles(times, n=100)
    alone, entities, together = _batches()
    counted = orjson.loads(
        subprocess.run(COUNT_WINDOWS, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE).stdout
    )
    return [
        Goal("G13", f"{POLICIES:,} policies, decide_json, p50", 15, cut[49], " µs"),
        Goal("G13", f"{POLICIES:,} policies, decide_json, p99", 60, cut[98], " µs"),
        Goal(
            "G13",
            f"{CLAUSES} windows of {counted['keys']:,} given keys, batches of 64, median",
            250,
            counted["median"],
            " ns",
        ),
        Goal(
            "G13",
            "the same of clauses that count the same events",
            250,
            counted["shared_median"],
            " ns",
        ),
        Goal(
            "G13",
            f"{CLAUSES} clauses, {entities:,} entities, whole events, batches of {BATCH}",
            250,
            alone.elapsed,
            " ns",
        ),
        Goal(
            "G12",
            "batches with state, two threads over one",
            1.8,
            alone.elapsed / together.elapsed,
            "x",
            is_at_least=True,
        ),
        Goal(
            "G12",
            "the same by the processor's time an event, were there two for it",
            1.8,
            2 * alone.processor / together.processor,
            "x",
            is_at_least=True,
        ),
    ]


def _decide(engine: tidegate.Engine, events: Iterable[bytes]) -> list[float]:
    """Microseconds of each decision."""
    clock, decide = time.perf_counter_ns, engine.decide_json
    times = []
    for event in events:
        started = clock()
        decide(event)
        times.append((clock() - started) / 1000)
    return times


def _many_policies() -> dict[str, Any]:
    """The published policies again and again, each time with other thresholds."""
    published = read_policies()
    policies = []
    for number in range(POLICIES):
        policy = published[number % len(published)]
        round_ = number // len(published)
        window = policy["window"] | {"threshold": policy["window"]["threshold"] + round_}
        name = f"{policy['policy_id']}-{round_}"
        policies.append(policy | {"policy_id": name, "window": window})
    return to_definitions(policies)


class Spent(NamedTuple):
    """Nanoseconds an event."""

    elapsed: float
    processor: float
    """Processor time of all threads, without waits for a lock or for other processes."""


def _batches() -> tuple[Spent, int, Spent]:
    """Time of one thread, entities alive, and time of two threads."""
    clauses = [
        {
            "name": f"clause {number}",
            "expression": 'request.method == "GET"',
            "entity": "client",
            "mitigation": "note",
            "window": {"duration_seconds": 60 * (number + 1), "threshold": 4 + number},
        }
        for number in range(CLAUSES)
    ]
    engine = tidegate.Engine(
        tidegate.load_definitions(
            {
                "apiVersion": "tidegate/v1",
                "tenant": {"name": "A million entities"},
                "entities": [
                    {"name": "Client", "slug": "client", "key_fields": ["request.client_ip"]}
                ],
                "mitigations": [{"name": "Note", "slug": "note", "mode": "Monitor"}],
                "policies": [{"name": "All", "slug": "all", "clauses": clauses}],
            }
        )
    )
    events = [_event(number) for number in range(KEYS)]
    batches = [events[start : start + BATCH] for start in range(0, KEYS, BATCH)]
    _run(engine, [batches])
    alone = _run(engine, [batches])
    together = _run(engine, [batches[::2], batches[1::2]])
    return alone, engine.stats()["keys"], together


def _run(engine: tidegate.Engine, parts: Sequence[Sequence[list[bytes]]]) -> Spent:
    """All batches, each part of them by a thread of its own."""

    def decide(part: Sequence[list[bytes]]) -> None:
        for batch in part:
            engine.decide_batch(batch)

    with ThreadPoolExecutor(len(parts)) as pool:
        elapsed, processor = time.perf_counter_ns(), time.process_time_ns()
        list(pool.map(decide, parts))
        elapsed, processor = time.perf_counter_ns() - elapsed, time.process_time_ns() - processor
    return Spent(elapsed / KEYS, processor / KEYS)


def _event(number: int) -> bytes:
    address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    return f'{{"request":{{"method":"GET","client_ip":"{address}"}}}}'.encode()
