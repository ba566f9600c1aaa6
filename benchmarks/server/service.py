"""``python -m benchmarks.server.service``: the service's calls and a bare echo's.

Each runs as one process pinned to one core; the load generator has the other.  Rounds alternate,
so that what disturbs one disturbs the other; medians are shown.  Every decision is durable when
it is answered, and every event has an idempotency key of its own.

With ``--opa PROGRAM``, Open Policy Agent's server answers the same events by the same rules, those
of the set that Rego can say; on a sample both must find the same rules to hold.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import tidegate
from benchmarks import opa
from benchmarks.machine import describe
from benchmarks.server.served import SERVER_CORE, load, load_generator, pinned, serving, stop
from benchmarks.traffic.workload import TRAFFIC, has_traffic, iterate_rules, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.traffic.workload import Rule

CONNECTIONS = 64
EVENTS = 50_000
CALLS = {"runtime": "/api/v1/runtime/mitigation", "beacon": "/api/v1/beacon/event"}
ECHO_PORT = 18_473
SAMPLE = 200
GOALS = {"share": 0.5, "tail": 3.0}


@click.command()
@click.option("--seconds", default=10.0, show_default=True, help="Length of a round.")
@click.option("--rounds", default=5, show_default=True)
@click.option("--rules", default=1_000, show_default=True, help="Rules of the tenant.")
@click.option("--opa", "opa_program", help="Open Policy Agent's program, to run beside.")
@click.option("--json", "as_json", is_flag=True)
def main(seconds: float, rounds: int, rules: int, opa_program: str | None, as_json: bool) -> None:
    """Measure requests a second and latency."""
    if not has_traffic():
        raise click.ClickException(f"the shared traffic data is not at {TRAFFIC}")
    program = load_generator()
    chosen = list(itertools.islice(iterate_rules(rules), rules))
    if opa_program:
        chosen = opa.common_rules(rules)
    measured: dict[str, list[dict[str, Any]]] = {}
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        served = stack.enter_context(serving(definitions(chosen)))
        stack.enter_context(echo())
        events = directory / "events.jsonl"
        lines = [
            line.strip()
            for line in itertools.islice(read_lines(TRAFFIC / "events.jsonl.gz"), EVENTS)
        ]
        events.write_bytes(b"\n".join(lines))
        key = [f"x-service-api-key: {served.api_key}"]
        calls = {"echo": (f"127.0.0.1:{ECHO_PORT}", "/", events, [])}
        calls |= {name: (served.address, path, events, key) for name, path in CALLS.items()}
        if opa_program:
            stack.enter_context(opa.opa(opa_program, chosen, directory))
            compare(chosen, lines)
            wrapped = directory / "inputs.jsonl"
            wrapped.write_bytes(b"\n".join(b'{"input":%b}' % line for line in lines))
            calls["opa"] = (opa.ADDRESS, opa.PATH, wrapped, [])
        for round_number in range(rounds + 1):
            length = seconds if round_number else 2.0
            # Decisions of one load are derived under the next, so each load is next alternately.
            order = reversed(calls.items()) if round_number % 2 else iter(calls.items())
            for name, (address, path, bodies, headers) in order:
                result = load(program, address, path, bodies, CONNECTIONS, length, headers)
                if round_number:  # the first one warms up
                    measured.setdefault(name, []).append(result)
    report(measured, len(chosen), as_json)


def compare(rules: list[Rule], lines: list[bytes]) -> None:
    """Stop unless OPA and the rule set answer alike where both read the path alike."""
    ours = tidegate.RuleSet({rule.rule_id: rule.expression for rule in rules})
    path = tidegate.compile("request.path == request.raw_path")
    sample = [line for line in lines[:: len(lines) // SAMPLE] if path.evaluate(line)]
    for line in sample:
        if set(ours.match(line).matched) != opa.ask(line):
            raise click.ClickException(f"OPA answers otherwise for {line.decode()}")
    click.echo(f"OPA and the rule set agree on {len(sample)} events")


def definitions(rules: list[Rule]) -> dict[str, Any]:
    """A policy for each rule, and the client address as the entity."""
    policies = [
        {"name": rule.rule_id, "clauses": [{"expression": rule.expression, "entity": "address"}]}
        for rule in rules
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
        if name in CALLS:
            met = share >= GOALS["share"], tail <= GOALS["tail"]
            click.echo(f"{'':10}at least 50 % of echo: {met[0]}; p99 at most 3 x echo: {met[1]}")


@contextmanager
def echo() -> Iterator[None]:
    """A bare ASGI application that sends the body back, on uvicorn with the same settings."""
    command = [sys.executable, "-m", "benchmarks.server.echo", str(ECHO_PORT)]
    process = subprocess.Popen(pinned(command, SERVER_CORE))
    try:
        time.sleep(2)
        yield
    finally:
        stop(process)


if __name__ == "__main__":
    main()
