"""G12, G13 and G15: whole decisions with state, through the public API."""

from __future__ import annotations

import itertools
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import tidegate
from benchmarks.goals.goal import Goal
from benchmarks.policies import read_policies, to_definitions
from benchmarks.workload import TRAFFIC, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

POLICIES = 1_000
KEYS = 1_000_000
CLAUSES = 9
BATCH = 256
EVENTS = 60_000
WARM = 10_000


def measure() -> list[Goal]:
    """Decisions one by one in the order of the events, and batches over a million entities."""
    events = list(itertools.islice(read_lines(TRAFFIC / "events.jsonl.gz"), EVENTS))
    engine = tidegate.Engine(tidegate.load_definitions(_many_policies()))
    times = _decide(engine, events)[WARM:]
    cut = statistics.quantiles(times, n=100)
    batches, entities, a_threads = _batches()
    return [
        Goal("G13", f"{POLICIES:,} policies, decide_json, p50", 15, cut[49], " µs"),
        Goal("G13", f"{POLICIES:,} policies, decide_json, p99", 60, cut[98], " µs"),
        Goal("G13", f"{CLAUSES} clauses, {entities:,} entities, batches", 250, batches, " ns"),
        Goal(
            "G12", "batches with state, two threads over one", 1.8, a_threads, "x", is_at_least=True
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


def _batches() -> tuple[float, int, float]:
    """Nanoseconds an event, entities alive, and what a second thread adds."""
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
    _run(engine, batches)
    alone = _run(engine, batches)
    with ThreadPoolExecutor(2) as pool:
        started = time.perf_counter()
        list(pool.map(lambda half: _run(engine, half), (batches[::2], batches[1::2])))
        together = time.perf_counter() - started
    entities = engine.stats()["keys"]
    return alone / KEYS * 1e9, entities, alone / together


def _run(engine: tidegate.Engine, batches: Sequence[list[bytes]]) -> float:
    started = time.perf_counter()
    for batch in batches:
        engine.decide_batch(batch)
    return time.perf_counter() - started


def _event(number: int) -> bytes:
    address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    return f'{{"request":{{"method":"GET","client_ip":"{address}"}}}}'.encode()
