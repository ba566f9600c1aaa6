"""``python -m benchmarks.server.workers``: two server workers against one.

Two tenants send batches, so that the load itself costs little; both forms decide the same events by
the same definitions, durable when answered.  Rounds alternate, and each pair gives a ratio.  Where
other work keeps the machine busy, the processor time of a decision says what two free cores would
give at most.  The cost of handing on a call is measured alone (``hop.py``).
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import attrs
import click
from tests.faults.load import Connection
from tests.faults.target import UNLIMITED, Target
from tests.faults.traffic import Traffic, definitions

from benchmarks.machine import describe
from benchmarks.server import hop
from tidegate_server.stores.directory.lock import lock_path, read_holder
from tidegate_server.stores.directory.partitions import partitions_of

BATCH = 500
CONNECTIONS = 4
"""Of each tenant."""
GOAL = 1.7


@attrs.define
class Side:
    """A service, and the keys of its two tenants."""

    target: Target
    keys: list[str]

    @classmethod
    def make(cls, directory: Path, workers: int) -> Side:
        """Start a service with two tenants."""
        settings = {"TIDEGATE_SERVER_WORKERS": str(workers), "TIDEGATE_WORKERS_PROCESSES": "1"}
        directory.mkdir()
        target = Target.make(directory / "data", directory / "log", settings)
        made = target.control("POST", "/tenants", {"name": "Second"}).json()["tenant_id"]
        target.control("PUT", f"/tenants/{made}/definitions", definitions(made, "Second", 0))
        wanted = {"name": "load", "rate_limit_per_minute": UNLIMITED}
        key = target.control("POST", f"/tenants/{made}/api-keys", wanted).json()["key"]
        return cls(target, [target.api_key, key])

    def measured(self, seconds: float, seed: int) -> tuple[float, float]:
        """Decisions a second, and microseconds of processor time of one."""
        before, started = self.processor_seconds(), time.monotonic()
        rate = self.batches(seconds, seed)
        taken = self.processor_seconds() - before
        return rate, taken / (rate * (time.monotonic() - started)) * 1e6

    def batches(self, seconds: float, seed: int) -> float:
        """Decisions a second of both tenants together."""
        started = time.monotonic()
        counts = asyncio.run(self._batches(started + seconds, seed))
        return sum(counts) * BATCH / (time.monotonic() - started)

    async def _batches(self, end: float, seed: int) -> list[int]:
        works = []
        for number, key in enumerate(self.keys):
            traffic = Traffic(seed * 10 + number)
            # Without keys of idempotency one batch can be sent again and again.
            events = [_without_key(traffic.next()[2]) for _ in range(BATCH)]
            body = b"[%b]" % b",".join(events)
            works += [self._send(key, body, end) for _ in range(CONNECTIONS)]
        return await asyncio.gather(*works)

    async def _send(self, key: str, body: bytes, end: float) -> int:
        connection, count = Connection(self.target.base_url, key), 0
        while time.monotonic() < end:
            status, _, answer = await connection.post("/api/v1/beacon/events", body)
            if status != 200:
                raise click.ClickException(f"{status}: {answer[:200]!r}")
            count += 1
        connection.close()
        return count

    def processor_seconds(self) -> float:
        """Processor time that the processes that decide have taken."""
        ticks = 0
        for process in self.processes():
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def processes(self) -> list[int]:
        """The processes that decide."""
        assert self.target.process is not None
        database = self.target.database
        owners = [
            read_holder(lock_path(database.with_stem(f"tidegate-{partition}"))).pid
            for partition in partitions_of(database)
        ]
        return [each for each in owners if each] or [self.target.process.pid]

    def close(self) -> None:
        """Stop the service."""
        if self.target.process is not None:
            self.target.process.terminate()
            self.target.process.wait(60)


def _without_key(event: bytes) -> bytes:
    read: dict[str, Any] = json.loads(event)
    read.pop("idempotency_key", None)
    return json.dumps(read).encode()


@click.command()
@click.option("--seconds", default=8.0, show_default=True, help="Length of a round.")
@click.option("--rounds", default=5, show_default=True)
@click.option("--json", "as_json", is_flag=True)
def main(seconds: float, rounds: int, as_json: bool) -> None:
    """Measure decisions a second of one and two workers."""
    hops = hop.measured(48_000, rounds)
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        one, two = (Side.make(place / str(count), count) for count in (1, 2))
        stack.callback(one.close)
        stack.callback(two.close)
        for side in (one, two):
            side.batches(2.0, 0)
        pairs: list[tuple[float, float]] = []
        costs: list[tuple[float, float]] = []
        for number in range(rounds):
            sides = (one, two) if number % 2 else (two, one)
            found = {id(side): side.measured(seconds, number + 1) for side in sides}
            pairs.append((found[id(one)][0], found[id(two)][0]))
            costs.append((found[id(one)][1], found[id(two)][1]))
    ratios = [second / first for first, second in pairs]
    report = {
        "machine": describe(),
        "one": statistics.median(first for first, _ in pairs),
        "two": statistics.median(second for _, second in pairs),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "goal": GOAL,
        "processor_us": [statistics.median(each) for each in zip(*costs, strict=True)],
        "hop_us": hops,
        "hop_bound_us": hop.BOUND_US,
        "at_most": statistics.median(2 * first / second for first, second in costs),
    }
    if as_json:
        click.echo(json.dumps(report))
        return
    click.echo(report["machine"])
    click.echo(f"one worker {report['one']:,.0f} decisions/s, two {report['two']:,.0f}")
    shown = ", ".join(f"{each:.2f}" for each in ratios)
    first, second = report["processor_us"]
    click.echo(
        f"processor time of a decision {first:.1f} and {second:.1f} µs:"
        f" on two free cores {report['at_most']:.2f} times at most"
    )
    click.echo(
        f"handing on a call, {hop.AT_ONCE} a batch: {hops[0]:.2f} µs at the gateway and"
        f" {hops[1]:.2f} at the owner (bound {hop.BOUND_US})"
    )
    click.echo(f"ratio {report['ratio']:.2f} (goal {GOAL}); pairs {shown}")


if __name__ == "__main__":
    main()
