"""``python -m benchmarks.server.soak``: the highest rate for a long time, and what memory does.

Events go through ``beacon/events`` in batches, each event with an idempotency key of its own,
as fast as the server takes them.  Resident memory and counts are printed every half minute; the
verdict compares memory after the warm-up with memory at the end.  The decision log is on disk
and grows: about 0.3 KB a decision.  When all events were sent they are sent again, four days later,
as the recorded traffic took: windows move on as they would.
"""

from __future__ import annotations

import http.client
import itertools
import json
import threading
import time
from datetime import date, timedelta
from typing import Any

import click
from attrs import frozen

from benchmarks.machine import describe
from benchmarks.server.served import Served, serving
from benchmarks.traffic.policies import read_policies, to_definitions
from benchmarks.traffic.workload import TRAFFIC, has_traffic, read_lines

BATCH = 1_000
DAYS = 4
"""Days of the recorded traffic."""
PASSES_BEFORE = 80
"""Passes of four days each; the first lies this many back, so that no event is from the future."""
WARM_UP_SHARE = 0.2
GROWTH_ALLOWED = 0.10
REPORT_SECONDS = 30.0


@click.command()
@click.option("--minutes", default=30.0, show_default=True)
@click.option("--connections", default=4, show_default=True)
def main(minutes: float, connections: int) -> None:
    """Run, report, and judge."""
    if not has_traffic():
        raise click.ClickException(f"the shared traffic data is not at {TRAFFIC}")
    events = [Recorded.of(line) for line in read_lines(TRAFFIC / "events.jsonl.gz")]
    click.echo(describe())
    with serving(to_definitions(read_policies()), core=None) as served:
        soak(served, events, minutes * 60, connections)


@frozen
class Recorded:
    """An event of the traffic, but for its date and its key."""

    text: str
    date: date
    time: str

    @classmethod
    def of(cls, line: bytes) -> Recorded:
        """The event of a line."""
        event: dict[str, Any] = json.loads(line)
        day, time_of_day = event.pop("observed_at").split("T")
        event.pop("idempotency_key")
        return cls(json.dumps(event)[:-1], date.fromisoformat(day), time_of_day)

    def sent(self, number: int, days: int) -> str:
        """The event some days later, with a key that no other has."""
        day = self.date + timedelta(days)
        return f'{self.text},"observed_at":"{day}T{self.time}","idempotency_key":"{number}"}}'


def soak(served: Served, events: list[Recorded], seconds: float, connections: int) -> None:
    """Send until the time is over; print and judge."""
    numbers = itertools.count()
    counted = {"sent": 0, "failed": 0}
    end = time.monotonic() + seconds

    def send() -> None:
        connection = http.client.HTTPConnection(served.address, timeout=120)
        headers = {"x-service-api-key": served.api_key, "content-type": "application/json"}
        while time.monotonic() < end:
            batch = next(numbers)
            body = "[" + ",".join(event(events, batch * BATCH + i) for i in range(BATCH)) + "]"
            connection.request("POST", "/api/v1/beacon/events", body, headers)
            answer = connection.getresponse()
            content = answer.read()
            good = content.count(b'{"status":200,') if answer.status == 200 else 0
            counted["sent"] += BATCH
            counted["failed"] += BATCH - good

    threads = [threading.Thread(target=send, daemon=True) for _ in range(connections)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    sizes: list[int] = []
    while time.monotonic() < end:
        time.sleep(min(REPORT_SECONDS, max(end - time.monotonic(), 0.1)))
        sizes.append(served.resident_bytes())
        elapsed = time.monotonic() - started
        click.echo(
            f"{elapsed:7.0f} s {counted['sent']:12,} decisions {counted['sent'] / elapsed:8,.0f}/s"
            f" {sizes[-1] / 2**20:8.0f} MiB resident, {counted['failed']} failed"
        )
    for thread in threads:
        thread.join()
    warm = sizes[int(len(sizes) * WARM_UP_SHARE) :]
    growth = max(warm) / warm[0] - 1
    click.echo(
        f"{counted['sent']:,} decisions; memory after warm-up grew by {growth:.1%} at most"
        f" (goal: {GROWTH_ALLOWED:.0%}); {counted['failed']} failed"
    )
    if growth > GROWTH_ALLOWED or counted["failed"]:
        raise SystemExit(1)


def event(events: list[Recorded], number: int) -> str:
    """The event of a number: all in order, again and again."""
    passed, place = divmod(number, len(events))
    return events[place].sent(number, (passed - PASSES_BEFORE) * DAYS)


if __name__ == "__main__":
    main()
