"""``python -m benchmarks.service``: the service's calls beside a bare echo on the same server.

Both run as one process pinned to one core; the load generator has the other.  Rounds alternate,
so that what disturbs one disturbs the other; medians are shown.  Every decision is durable when
it is answered, and every event has an idempotency key of its own.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmarks.machine import describe
from benchmarks.served import SERVER_CORE, load, load_generator, pinned, serving, stop
from benchmarks.workload import TRAFFIC, has_traffic, iterate_rules, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECTIONS = 64
EVENTS = 50_000
CALLS = {"runtime": "/api/v1/runtime/mitigation", "beacon": "/api/v1/beacon/event"}
ECHO_PORT = 18_473
GOALS = {"share": 0.5, "tail": 3.0}


@click.command()
@click.option("--seconds", default=10.0, show_default=True, help="Length of a round.")
@click.option("--rounds", default=5, show_default=True)
@click.option("--rules", default=1_000, show_default=True, help="Rules of the tenant.")
@click.option("--json", "as_json", is_flag=True)
def main(seconds: float, rounds: int, rules: int, as_json: bool) -> None:
    """Measure requests a second and latency."""
    if not has_traffic():
        raise click.ClickException(f"the shared traffic data is not at {TRAFFIC}")
    program = load_generator()
    measured: dict[str, list[dict[str, Any]]] = {"echo": [], "runtime": [], "beacon": []}
    with tempfile.TemporaryDirectory() as directory, serving(definitions(rules)) as served, echo():
        events = Path(directory) / "events.jsonl"
        lines = itertools.islice(read_lines(TRAFFIC / "events.jsonl.gz"), EVENTS)
        events.write_bytes(b"\n".join(line.strip() for line in lines))
        key = [f"x-service-api-key: {served.api_key}"]
        for round_number in range(rounds + 1):
            length = seconds if round_number else 2.0
            ran = {
                "echo": load(program, f"127.0.0.1:{ECHO_PORT}", "/", events, CONNECTIONS, length)
            }
            for name, path in CALLS.items():
                ran[name] = load(program, served.address, path, events, CONNECTIONS, length, key)
            if round_number:  # the first one warms up
                for name, result in ran.items():
                    measured[name].append(result)
    report(measured, rules, as_json)


def definitions(count: int) -> dict[str, Any]:
    """A policy for each published rule, and the client address as the entity."""
    policies = [
        {"name": rule.rule_id, "clauses": [{"expression": rule.expression, "entity": "address"}]}
        for rule in itertools.islice(iterate_rules(count), count)
    ]
    entity = {"name": "Address", "key_fields": ["request.client_ip"]}
    return {"apiVersion": "tidegate/v1", "entities": [entity], "policies": policies}


def report(measured: dict[str, list[dict[str, Any]]], rules: int, as_json: bool) -> None:
    """Print medians, ratios and verdicts."""
    medians = {
        name: {
            each: statistics.median(result[each] for result in results)
            for each in ("per_second", "p50_ms", "p99_ms", "p999_ms")
        }
        for name, results in measured.items()
    }
    for name, results in measured.items():
        statuses = {status for result in results for status in result["statuses"]}
        if statuses != {"200"}:
            raise click.ClickException(f"{name} was answered with {sorted(statuses)}")
    if as_json:
        click.echo(json.dumps(medians))
        return
    click.echo(describe())
    click.echo(f"{rules} rules, {CONNECTIONS} connections, durable; server and load on a core each")
    columns = ("requests/s", "of echo", "p50 ms", "p99 ms", "x echo", "p99.9 ms")
    click.echo(" " * 10 + "".join(f"{column:>11}" for column in columns))
    bare = medians["echo"]
    for name, each in medians.items():
        share, tail = each["per_second"] / bare["per_second"], each["p99_ms"] / bare["p99_ms"]
        click.echo(
            f"{name:10}{each['per_second']:11,.0f}{share:11.0%}{each['p50_ms']:11.2f}"
            f"{each['p99_ms']:11.2f}{tail:11.1f}{each['p999_ms']:11.2f}"
        )
        if name != "echo":
            met = share >= GOALS["share"], tail <= GOALS["tail"]
            click.echo(f"{'':10}at least 50 % of echo: {met[0]}; p99 at most 3 x echo: {met[1]}")


@contextmanager
def echo() -> Iterator[None]:
    """A bare ASGI application that sends the body back, on uvicorn with the same settings."""
    command = [sys.executable, "-m", "benchmarks.echo", str(ECHO_PORT)]
    process = subprocess.Popen(pinned(command, SERVER_CORE))
    try:
        time.sleep(2)
        yield
    finally:
        stop(process)


if __name__ == "__main__":
    main()
