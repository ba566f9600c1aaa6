"""``python -m benchmarks.server.retention``: appends to PostgreSQL, alone and during retention.

A log has decisions of an earlier day, in rows of 64. Its owner appends one block of 64 after the
other, each durable when answered, in rounds: alone, and while retention deletes the old ones at its
own pace. The database pair runs on the same machine.
"""

from __future__ import annotations

import itertools
import os
import statistics
import threading
import time
from collections.abc import Iterator
from functools import partial

import click
from tests.store_contract.examples import START_NS, TENANT, entry, tenant
from tools.database_pair import pair

from benchmarks.machine import describe
from tidegate_server.engines.retention import DAY_NS, PAUSE_SECONDS, STEP_DECISIONS
from tidegate_server.stores import retention
from tidegate_server.stores.databases import migrate, open_store
from tidegate_server.stores.decision_log.lines import LogBlock
from tidegate_server.stores.objects import tenants
from tidegate_server.stores.port import Store

ROW = 64
EVENT = {"request": {"path": "/login", "raw_query": os.urandom(600).hex()}}
"""A line with it has about the bytes of a real one, and does not compress away."""


@click.command()
@click.option("--seconds", default=5.0, show_default=True, help="Length of a round.")
@click.option("--rounds", default=5, show_default=True)
@click.option("--old", default=6_000, show_default=True, help="Rows of the earlier day.")
def main(seconds: float, rounds: int, old: int) -> None:
    """Measure appends during deletions."""
    with pair(is_in_memory=False) as databases:
        url = databases.url(databases.new_database())
        migrate(url)
        store = open_store(url)
        try:
            store.write(lambda connection: tenants.create(connection, tenant())).result()
            numbers = itertools.count(1)
            for done in [store.append(block(numbers, START_NS)) for _ in range(old)]:
                done.result()
            measured = measure(store, numbers, seconds, rounds, old * ROW)
        finally:
            store.close()
    report(*measured, seconds * rounds)


def block(numbers: Iterator[int], at_ns: int) -> list[LogBlock]:
    """Decisions that are appended together."""
    return [
        entry(number, received_at_ns=at_ns + number, event=EVENT)
        for number in itertools.islice(numbers, ROW)
    ]


def measure(
    store: Store, numbers: Iterator[int], seconds: float, rounds: int, last_old: int
) -> tuple[dict[str, list[float]], int]:
    """The times of appends in milliseconds, by kind of round, and the rows that were deleted."""
    took: dict[str, list[float]] = {"alone": [], "beside": []}
    deleted = 0
    for number in range(2 * rounds):
        is_beside = number % 2 == 1
        is_over = threading.Event()
        pruning = Pruning(store, last_old, is_over)
        if is_beside:
            pruning.start()
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            new = block(numbers, START_NS + 2 * DAY_NS)
            started = time.perf_counter()
            store.append(new).result()
            took["beside" if is_beside else "alone"].append(1e3 * (time.perf_counter() - started))
        is_over.set()
        if is_beside:
            pruning.join()
            deleted += pruning.deleted
    return took, deleted


class Pruning(threading.Thread):
    """Retention at the pace of the service."""

    def __init__(self, store: Store, last_old: int, is_over: threading.Event) -> None:
        super().__init__()
        self._store, self._is_over = store, is_over
        self._step = partial(
            retention.prune,
            tenant_id=TENANT,
            before_ns=START_NS + DAY_NS,
            up_to_seq=last_old,
            limit=STEP_DECISIONS,
        )
        self.deleted = 0

    def run(self) -> None:
        while not self._is_over.wait(PAUSE_SECONDS):
            self.deleted += self._store.write(self._step, quietly=True).result()


def report(took: dict[str, list[float]], deleted: int, seconds: float) -> None:
    """Print medians, tails and their ratios."""
    click.echo(describe())
    click.echo(f"{'':10}{'appends':>9}{'p50 ms':>9}{'p99 ms':>9}")
    at: dict[str, tuple[float, float]] = {}
    for name, times in took.items():
        at[name] = statistics.median(times), statistics.quantiles(times, n=100)[98]
        click.echo(f"{name:10}{len(times):9,}{at[name][0]:9.2f}{at[name][1]:9.2f}")
    middle, tail = (beside / alone for alone, beside in zip(*at.values(), strict=True))
    click.echo(f"beside retention: {middle:.2f} times the median, {tail:.2f} times the p99")
    click.echo(f"{deleted * ROW / seconds:,.0f} decisions deleted a second")


if __name__ == "__main__":
    main()
