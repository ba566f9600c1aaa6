"""``python -m benchmarks.server.databases``: one owner on PostgreSQL, compared with SQLite.

Both decide the same events by the same rules, durable when answered: flushed to the disk, and for
PostgreSQL to a synchronous standby too.  The database pair runs on the same machine, on whichever
core is free.  Rounds alternate; medians are shown, and their ratios.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
from tools.database_pair import pair

from benchmarks.machine import describe
from benchmarks.server.served import (
    LIMITS,
    SERVER_CORE,
    UNLIMITED,
    Served,
    load,
    load_generator,
    pinned,
    stop,
)
from benchmarks.server.service import CALLS, CONNECTIONS, EVENTS, definitions
from benchmarks.traffic.workload import TRAFFIC, has_traffic, iterate_rules, read_lines
from tidegate_server.demo import make_demo, make_owner
from tidegate_server.directory.opening import open_directory
from tidegate_server.stores.databases import open_store

GOALS = {"share": 0.7, "tail": 2.0}


@click.command()
@click.option("--seconds", default=10.0, show_default=True, help="Length of a round.")
@click.option("--rounds", default=5, show_default=True)
@click.option("--rules", default=1_000, show_default=True, help="Rules of the tenant.")
@click.option("--json", "as_json", is_flag=True)
def main(seconds: float, rounds: int, rules: int, as_json: bool) -> None:
    """Measure decisions a second and latency."""
    if not has_traffic():
        raise click.ClickException(f"the shared traffic data is not at {TRAFFIC}")
    program = load_generator()
    document = definitions(list(itertools.islice(iterate_rules(rules), rules)))
    measured: dict[str, list[dict[str, Any]]] = {}
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        databases = stack.enter_context(pair(is_in_memory=False))
        urls = {"sqlite": "", "postgresql": databases.url(databases.new_database())}
        servers = {
            name: stack.enter_context(serving(place / name, url, document))
            for name, url in urls.items()
        }
        events = place / "events.jsonl"
        lines = itertools.islice(read_lines(TRAFFIC / "events.jsonl.gz"), EVENTS)
        events.write_bytes(b"\n".join(line.strip() for line in lines))
        for number in range(rounds + 1):
            length = seconds if number else 2.0
            order = reversed(servers.items()) if number % 2 else iter(servers.items())
            for name, served in order:
                key = [f"x-service-api-key: {served.api_key}"]
                path = CALLS["runtime"]
                result = load(program, served.address, path, events, CONNECTIONS, length, key)
                if number:  # the first one warms up
                    measured.setdefault(name, []).append(result)
    report(measured, as_json)


@contextmanager
def serving(directory: Path, url: str, document: dict[str, Any]) -> Iterator[Served]:
    """A server with these definitions, on SQLite or on a database of PostgreSQL."""
    keys = open_directory(directory, url=url)
    store = open_store(url or f"sqlite:///{directory / 'tidegate.db'}")
    token = make_owner(store, keys)
    store.close()
    command = [
        *(sys.executable, "-m", "tidegate", "serve", "--json", "--server-port", "0"),
        *("--store-directory", str(directory)),
    ]
    environment = {**os.environ, **LIMITS, "TIDEGATE_STORE_URL": url, "TIDEGATE_LOG_LEVEL": "error"}
    process = subprocess.Popen(
        pinned(command, SERVER_CORE), stdout=subprocess.PIPE, env=environment
    )
    try:
        assert process.stdout is not None
        base_url = json.loads(process.stdout.readline())["base_url"]
        demo = make_demo(base_url, token)
        served = Served(base_url, demo.tenant_id, token, "", process.pid)
        tenant = f"/tenants/{served.tenant_id}"
        name = served.call("GET", tenant)["name"]
        named = {**document, "tenant": {"name": name, "tenant_id": served.tenant_id}}
        served.call("PUT", f"{tenant}/definitions", named)
        wanted = {"name": "load", "rate_limit_per_minute": UNLIMITED}
        key = served.call("POST", f"{tenant}/api-keys", wanted)["key"]
        yield Served(base_url, served.tenant_id, token, key, process.pid)
    finally:
        stop(process)


def report(measured: dict[str, list[dict[str, Any]]], as_json: bool) -> None:
    """Print medians, ratios and verdicts."""
    for name, results in measured.items():
        statuses = {status for result in results for status in result["statuses"]}
        if statuses != {"200"}:
            raise click.ClickException(f"{name} answered with {sorted(statuses)}")
    medians = {
        name: {
            each: statistics.median(result[each] for result in results)
            for each in ("per_second", "p50_ms", "p99_ms")
        }
        for name, results in measured.items()
    }
    share = medians["postgresql"]["per_second"] / medians["sqlite"]["per_second"]
    tail = medians["postgresql"]["p99_ms"] / medians["sqlite"]["p99_ms"]
    if as_json:
        click.echo(json.dumps({**medians, "share": share, "tail": tail}))
        return
    click.echo(describe())
    click.echo(f"{'':12}{'decisions/s':>12}{'p50 ms':>9}{'p99 ms':>9}")
    for name, each in medians.items():
        click.echo(
            f"{name:12}{each['per_second']:12,.0f}{each['p50_ms']:9.2f}{each['p99_ms']:9.2f}"
        )
    met = share >= GOALS["share"], tail <= GOALS["tail"]
    click.echo(f"PostgreSQL: {share:.0%} of SQLite's decisions/s, at least 70 %: {met[0]}")
    click.echo(f"{tail:.1f} times its p99, at most 2: {met[1]}")


if __name__ == "__main__":
    main()
