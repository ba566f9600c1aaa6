"""``python -m benchmarks.server.live_change``: a policy of many changed, while the tenant decides.

One caller sends real events at a steady rate and notes how long each answer takes; meanwhile, in
every other round, policies are changed one after another.  A change is live when an event that it
alone blocks is blocked.  Rounds alternate, so that what disturbs one disturbs the other.
"""

from __future__ import annotations

import http.client
import itertools
import json
import statistics
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

import click

from benchmarks.machine import describe
from benchmarks.server.served import Served, serving
from benchmarks.server.service import definitions
from benchmarks.traffic.workload import iterate_rules, load

if TYPE_CHECKING:
    from collections.abc import Sequence

LIVE_SECONDS, TAIL = 0.3, 2.0
"""The goals: seconds until a change is live, and the 99th percentile over the quiet one."""
DECIDE = "/api/v1/runtime/mitigation"
PAUSE_SECONDS = 0.7
GIVE_UP_SECONDS = 120.0


class Caller:
    """Sends events, each on its time, over one connection.

    Args:
        served: the server.
        events: what is sent, over and over.
        rate: events a second.
    """

    def __init__(self, served: Served, events: Sequence[bytes], rate: float) -> None:
        self._connection = http.client.HTTPConnection(served.address, timeout=GIVE_UP_SECONDS)
        self._headers = {
            "x-service-api-key": served.api_key,
            "content-type": "application/json",
        }
        self._events = itertools.cycle(events)
        self._rate = rate

    def ask(self, event: bytes) -> Any:
        """The answer to an event.

        Raises:
            click.ClickException: it was refused.
        """
        body = json.loads(event) | {"idempotency_key": str(uuid.uuid4())}
        self._connection.request("POST", DECIDE, json.dumps(body), self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise click.ClickException(f"{answer.status}: {content.decode()}")
        return json.loads(content)

    def run(self, stop: threading.Event) -> list[float]:
        """Milliseconds from the time that each event was due until it was answered."""
        taken = []
        due = time.perf_counter()
        while not stop.is_set():
            due += 1 / self._rate
            time.sleep(max(0.0, due - time.perf_counter()))
            self.ask(next(self._events))
            taken.append((time.perf_counter() - due) * 1_000)
        return taken


class Changer:
    """Changes one policy after another.

    Args:
        served: the server.
        caller: asks whether a change is live.
    """

    def __init__(self, served: Served, caller: Caller) -> None:
        self._served = served
        self._caller = caller
        self._base = f"/tenants/{served.tenant_id}/policies"
        self._policies = itertools.cycle(served.call("GET", f"{self._base}?limit=100"))
        self._numbers = itertools.count()

    def change(self) -> float:
        """Change the next policy; seconds until an event that it alone blocks is blocked."""
        policy, path = next(self._policies), f"/live-change/{next(self._numbers)}"
        clause = {**policy["clauses"][0], "expression": f'request.path == "{path}"'}
        event = json.dumps({"request": {"path": path, "client_ip": "192.0.2.9"}}).encode()
        started = time.perf_counter()
        self._served.call("PATCH", f"{self._base}/{policy['policy_id']}", {"clauses": [clause]})
        until = time.perf_counter() + GIVE_UP_SECONDS
        while self._caller.ask(event)["action"]["type"] != "block":
            if time.perf_counter() > until:
                raise click.ClickException("a change is not live after two minutes")
        return time.perf_counter() - started

    def run(self, changes: int) -> list[float]:
        """The same for several, with a pause after each."""
        taken = []
        for _ in range(changes):
            taken.append(self.change())
            time.sleep(PAUSE_SECONDS)
        return taken


@click.command()
@click.option("--rules", default=10_000, show_default=True, help="Policies of the tenant.")
@click.option("--rounds", default=4, show_default=True, help="Of each kind.")
@click.option("--changes", default=10, show_default=True, help="In a round.")
@click.option("--rate", default=200.0, show_default=True, help="Events a second.")
def main(rules: int, rounds: int, changes: int, rate: float) -> None:
    """Measure how soon a change is live, and the hot path meanwhile."""
    document = blocking(definitions(list(itertools.islice(iterate_rules(rules), rules))))
    with serving(document, None) as served:
        events = [event for event in load().events if b"/live-change/" not in event]
        caller, changer = Caller(served, events, rate), Changer(served, Caller(served, [], 1))
        live = changer.run(3)  # each worker reads the definitions once
        quiet: list[float] = []
        beside: list[float] = []
        live.clear()
        for _ in range(rounds):
            started = time.perf_counter()
            with_changes = measured(caller, lambda: live.extend(changer.run(changes)))
            length = time.perf_counter() - started
            beside += with_changes
            quiet += measured(caller, lambda length=length: time.sleep(length))  # type: ignore[misc]
    report(rules, live, quiet, beside)


def blocking(document: dict[str, Any]) -> dict[str, Any]:
    """The document with a mitigation in every clause, so that what holds is seen."""
    refuse = {"name": "Refuse", "mode": "Block", "ttl_seconds": 0}
    for policy in document["policies"]:
        for clause in policy["clauses"]:
            clause["mitigation"] = "refuse"
    return document | {"mitigations": [refuse]}


def measured(caller: Caller, work: Any) -> list[float]:
    """The caller's measurements during some work."""
    stop, found = threading.Event(), list[list[float]]()
    thread = threading.Thread(target=lambda: found.append(caller.run(stop)))
    thread.start()
    try:
        work()
    finally:
        stop.set()
        thread.join()
    return found[0] if found else []


def report(rules: int, live: list[float], quiet: list[float], beside: list[float]) -> None:
    """Print medians, tails and verdicts."""
    click.echo(describe())
    click.echo(f"{rules} policies, {len(live)} changes, {len(quiet) + len(beside)} events")
    middle, worst = statistics.median(live), max(live)
    click.echo(f"a change is live after {middle:.3f} s (median), {worst:.3f} s at most")
    tails = [statistics.quantiles(each, n=100) for each in (quiet, beside)]
    for name, tail in zip(("quiet", "while changing"), tails, strict=True):
        click.echo(f"{name:15} p50 {tail[49]:6.2f} ms, p99 {tail[98]:6.2f} ms")
    ratio = tails[1][98] / tails[0][98]
    click.echo(f"live within {LIVE_SECONDS} s: {middle <= LIVE_SECONDS}")
    click.echo(f"p99 at most {TAIL:.0f} x the quiet one: {ratio <= TAIL} ({ratio:.1f} x)")


if __name__ == "__main__":
    main()
