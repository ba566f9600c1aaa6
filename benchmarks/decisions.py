"""``python -m benchmarks.decisions``: whole decisions by 1,000 policies over 1,000,000 keys.

The policies are the 74 published ones and as many of the published rules as are wanted, each
as a clause with a window on the client's address. The state is full of addresses that the
events do not have, each with one window, but for the room that those of the events take.
"""

from __future__ import annotations

import gc
import ipaddress
import itertools
import statistics
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson
from rich.console import Console
from rich.table import Table

import tidegate
from benchmarks import machine
from benchmarks.traffic.policies import read_policies, to_definitions
from benchmarks.traffic.workload import TRAFFIC, has_traffic, iterate_rules, read_lines
from tidegate.policy.definitions.bundle import bundle
from tidegate.policy.document import compile_definitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.policy.definitions.model import Definitions

ENTITY = "entity-0"
"""The client's address, as the published policies come."""
FIRST_ADDRESS = int(ipaddress.ip_address("11.0.0.0"))
STEP = 37
"""Between two addresses of the filling, so that they are not neighbours."""
FILLED_AT = 1_772_323_200 * 10**9
"""A day before the first event."""
BATCH = 256
ROUNDS = 3
PAGE_COLUMNS = 100


def many_policies(count: int) -> dict[str, Any]:
    """A definitions document of some number of policies, each with one clause and a window."""
    document = to_definitions(read_policies())
    published = document["policies"]
    rules = itertools.islice(iterate_rules(count), count - len(published))
    document["policies"] = published + [
        {
            "name": rule.rule_id,
            "slug": f"rule-{number}",
            "clauses": [
                {
                    "name": "window",
                    "expression": rule.expression,
                    "entity": ENTITY,
                    "window": {"duration_seconds": 60, "threshold": 50},
                }
            ],
        }
        for number, rule in enumerate(rules)
    ]
    return document


def filled(definitions: Definitions, keys: int) -> bytes:
    """A snapshot of some number of keys, each with one window that holds two times."""
    snapshot = orjson.loads(tidegate.Engine(definitions).snapshot())
    clauses = [
        (policy.slug, clause.name)
        for policy in definitions.policies
        for clause in policy.clauses
        if clause.entity == ENTITY and clause.window and clause.window.measure == "count"
    ]
    snapshot["keys"] = [
        [
            ENTITY,
            [{"type": "string", "value": str(ipaddress.ip_address(FIRST_ADDRESS + number * STEP))}],
            2,
            str(FILLED_AT + number),
            str(FILLED_AT + number + 1),
            [[*clause, "count", [str(FILLED_AT + number), str(FILLED_AT + number + 1)]]],
            [],
        ]
        for number, clause in zip(range(keys), itertools.cycle(clauses), strict=False)
    ]
    return orjson.dumps(snapshot)


class Setting:
    """Definitions, events and a filled state; every measurement starts from the same."""

    def __init__(self, policies: int, keys: int, events: int) -> None:
        self.definitions = tidegate.load_definitions(many_policies(policies))
        self.snapshot = filled(self.definitions, keys)
        lines = read_lines(TRAFFIC / "events.jsonl.gz")
        self.events = list(itertools.islice(lines, events))

    def engine(self) -> tidegate.Engine:
        """An engine with the filled state that has learned from the events that warm up."""
        sample = self.events[: len(self.events) // 4]
        return tidegate.Engine.restore(self.definitions, self.snapshot, sample=sample)

    def export(self, directory: Path) -> None:
        """Write what the Rust benchmark reads."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "definitions.json").write_bytes(bundle(compile_definitions(self.definitions)))
        (directory / "snapshot.json").write_bytes(self.snapshot)
        (directory / "decided.jsonl").write_bytes(b"\n".join(self.events) + b"\n")


def one_by_one(engine: tidegate.Engine, events: Sequence[bytes]) -> list[int]:
    """Nanoseconds of each ``decide_json``, in ascending order; the first quarter warms up."""
    decide, clock = engine.decide_json, time.perf_counter_ns
    times = []
    for event in events:
        started = clock()
        decide(event)
        times.append(clock() - started)
    return sorted(times[len(times) // 4 :])


def loop(engine: tidegate.Engine, events: Sequence[bytes]) -> float:
    """Nanoseconds an event of ``decide_json``, with no clock read in between."""
    decide = engine.decide_json
    started = time.perf_counter_ns()
    for event in events:
        decide(event)
    return (time.perf_counter_ns() - started) / len(events)


def batches(engine: tidegate.Engine, events: Sequence[bytes], threads: int = 1) -> float:
    """Nanoseconds an event of ``decide_batch``, by all threads together."""
    pending = iter([events[at : at + BATCH] for at in range(0, len(events), BATCH)])

    def work() -> None:
        for batch in pending:  # a list's iterator may be shared by threads
            engine.decide_batch(list(batch))

    workers = [threading.Thread(target=work) for _ in range(threads)]
    started = time.perf_counter_ns()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return (time.perf_counter_ns() - started) / len(events)


@click.command()
@click.option("--policies", type=click.IntRange(74), default=1_000, show_default=True)
@click.option("--keys", type=click.IntRange(0), default=980_000, show_default=True)
@click.option("--events", type=click.IntRange(BATCH), default=60_000, show_default=True)
@click.option("--export", "directory", type=click.Path(file_okay=False, path_type=Path))
def main(policies: int, keys: int, events: int, directory: Path | None) -> None:
    """Decide the traffic in its order and print what a decision takes."""
    if not has_traffic():
        raise click.ClickException(f"the shared traffic data is not at {TRAFFIC}")
    setting = Setting(policies, keys, events)
    if directory is not None:
        setting.export(directory)
        return
    gc.disable()
    engine = setting.engine()
    times = one_by_one(engine, setting.events)
    held = engine.stats()["keys"]
    del engine
    rounds = [
        (
            loop(setting.engine(), setting.events),
            batches(setting.engine(), setting.events),
            batches(setting.engine(), setting.events, threads=2),
        )
        for _ in range(ROUNDS)
    ]
    single, batch, two = (statistics.median(figures) for figures in zip(*rounds, strict=True))
    table = Table("figure", "", title=f"{policies:,} policies, {held:,} keys, {events:,} events")
    for name, part in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)):
        table.add_row(f"decide_json, {name}", f"{times[int((len(times) - 1) * part)] / 1e3:.2f} µs")
    table.add_row("decide_json in a loop, mean", f"{single / 1e3:.2f} µs")
    table.add_row(f"decide_batch of {BATCH}, mean", f"{batch / 1e3:.2f} µs an event")
    table.add_row("a call of its own, beside a batch", f"{(single - batch) / 1e3:.2f} µs")
    table.add_row("two threads, batches", f"{batch / two:.2f} times one")
    console = Console()
    if not console.is_terminal:
        console.width = PAGE_COLUMNS
    console.print(table)
    console.print(machine.describe(), highlight=False)


if __name__ == "__main__":
    main()
