"""``python -m benchmarks.server.look``: recorded events are looked at, while the tenant decides.

One caller sends real events at a steady rate and notes how long each answer takes; meanwhile, in
every other round, an operator types: ``traffic/match`` over all recorded events is asked again when
it was answered and a pause is over.  Rounds alternate, so that what disturbs one disturbs the
other.
"""

from __future__ import annotations

import http.client
import itertools
import json
import statistics
import time
import uuid
from typing import TYPE_CHECKING, Any

import click

from benchmarks.machine import describe
from benchmarks.server.live_change import Caller, measured
from benchmarks.server.served import Served, serving
from benchmarks.server.service import definitions
from benchmarks.traffic.workload import iterate_rules, load

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCH = 1_000
EVENTS, LOOK_SECONDS, RISE = 100_000, 1.0, 1.1
"""The goals: a look over all events takes a second, or its answer says that it is not complete; the
99th percentile of calls meanwhile rises by less than a tenth."""
EXPRESSION = 'request.method == "POST" && request.path != "/{}" || request.path.contains("login")'


def record(served: Served, events: Sequence[bytes]) -> None:
    """Send events to be recorded, over and over until there are enough.

    Raises:
        click.ClickException: one was refused.
    """
    connection = http.client.HTTPConnection(served.address, timeout=60)
    headers = {"x-service-api-key": served.api_key, "content-type": "application/json"}
    given = itertools.cycle(events)
    for _ in range(EVENTS // BATCH):
        batch = [
            json.loads(each) | {"idempotency_key": str(uuid.uuid4())}
            for each in itertools.islice(given, BATCH)
        ]
        connection.request("POST", "/api/v1/beacon/events", json.dumps(batch), headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise click.ClickException(f"{answer.status}: {content[:500].decode()}")


class Typist:
    """Asks for other matches again and again."""

    def __init__(self, served: Served, pause: float) -> None:
        self._served = served
        self._pause = pause
        self._numbers = itertools.count()
        self.looks: list[tuple[float, bool, int]] = []
        """Seconds that each took, whether it was complete, and how many events it looked at."""

    def run(self, seconds: float) -> None:
        """Type for a time."""
        path = f"/tenants/{self._served.tenant_id}/traffic/match"
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            expression = EXPRESSION.format(next(self._numbers))
            body = {"expression": expression, "newest": EVENTS, "samples": 5}
            started = time.perf_counter()
            found: dict[str, Any] = self._served.call("POST", path, body)
            taken = time.perf_counter() - started
            self.looks.append((taken, found["complete"], found["looked_at"]))
            time.sleep(self._pause)


@click.command()
@click.option("--rules", default=100, show_default=True, help="Policies of the tenant.")
@click.option("--rounds", default=4, show_default=True, help="Of each kind.")
@click.option("--seconds", default=10.0, show_default=True, help="Length of a round.")
@click.option("--pause", default=1.0, show_default=True, help="Seconds between two looks.")
@click.option("--rate", default=200.0, show_default=True, help="Events a second.")
def main(rules: int, rounds: int, seconds: float, pause: float, rate: float) -> None:
    """Measure looks, and the hot path meanwhile."""
    events = load().events
    document = definitions(list(itertools.islice(iterate_rules(rules), rules)))
    quiet: list[float] = []
    beside: list[float] = []
    with serving(document, None) as served:
        record(served, events)
        caller, typist = Caller(served, events, rate), Typist(served, pause)
        typist.run(1)
        measured(caller, lambda: time.sleep(2))
        typist.looks.clear()
        for _ in range(rounds):
            quiet += measured(caller, lambda: time.sleep(seconds))
            beside += measured(caller, lambda: typist.run(seconds))
    report(typist.looks, quiet, beside)


def report(
    looks: Sequence[tuple[float, bool, int]], quiet: Sequence[float], beside: Sequence[float]
) -> None:
    """Print medians, tails and verdicts."""
    click.echo(describe())
    times = [seconds for seconds, _, _ in looks]
    parts = [(count, is_complete) for _, is_complete, count in looks]
    click.echo(
        f"{len(looks)} looks over {EVENTS} events: {statistics.median(times):.2f} s (median),"
        f" {max(times):.2f} s at most; {sum(done for _, done in parts)} complete, the others over"
        f" {min(count for count, _ in parts)} events at least"
    )
    tails = [statistics.quantiles(each, n=100) for each in (quiet, beside)]
    for name, tail in zip(("quiet", "while looking"), tails, strict=True):
        click.echo(f"{name:15} p50 {tail[49]:6.2f} ms, p99 {tail[98]:6.2f} ms")
    is_said = all(seconds <= LOOK_SECONDS or not done for seconds, done, _ in looks)
    ratio = tails[1][98] / tails[0][98]
    click.echo(f"within {LOOK_SECONDS:.0f} s or not complete: {is_said}")
    click.echo(f"p99 at most {RISE} x the quiet one: {ratio <= RISE} ({ratio:.2f} x)")


if __name__ == "__main__":
    main()
