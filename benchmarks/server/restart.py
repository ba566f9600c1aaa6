"""``python -m benchmarks.server.restart``: how long a killed server takes to be back.

A decision log is written as a server writes it, without a snapshot; the server is started on it and
killed, then stopped (which saves the state), started and killed once more.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import click
import orjson
from uuid_utils import uuid7

from benchmarks.machine import describe
from benchmarks.server.served import Served
from benchmarks.traffic.policies import read_policies, to_definitions
from benchmarks.traffic.workload import TRAFFIC, has_traffic, read_lines
from tidegate.evaluation.native import Block
from tidegate_server.control.app import Application
from tidegate_server.demo import make_owner
from tidegate_server.engines.compiled import CompiledChange, CompiledSet
from tidegate_server.engines.compiling import compile_newest
from tidegate_server.engines.engines import Runtimes
from tidegate_server.operators.keys import load_keys
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log.lines import LogBlock
from tidegate_server.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from tidegate_server.engines.tenant import Tenant

COMMIT = 200
"""Decisions that share a commit, as under load."""
ROUNDS = 3


@click.command()
@click.option("--decisions", default=1_000_000, show_default=True)
def main(decisions: int) -> None:
    """Write the log, then measure starts."""
    if not has_traffic():
        raise click.ClickException(f"the shared traffic data is not at {TRAFFIC}")
    click.echo(describe())
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place) / "data"
        directory.mkdir(mode=0o700)
        tenant_id = make_tenant(directory)
        report("an empty log", directory)
        started = time.perf_counter()
        write_log(directory, tenant_id, decisions)
        size = (directory / "tidegate.db").stat().st_size
        seconds = time.perf_counter() - started
        click.echo(f"{decisions:,} decisions, {size / 2**20:,.0f} MiB, written in {seconds:.0f} s")
        report("all of the log after the snapshot", directory)
        end(start(directory)[0], signal.SIGTERM)
        report("a fresh snapshot", directory)


def report(name: str, directory: Path) -> None:
    """Start and kill a few times, and print the quickest start."""
    seconds = []
    for _ in range(ROUNDS):
        process, _, took = start(directory)
        end(process, signal.SIGKILL)
        seconds.append(took)
    click.echo(f"{name:34} ready after {min(seconds):6.2f} s (at most {max(seconds):.2f})")


def start(directory: Path) -> tuple[subprocess.Popen[bytes], str, float]:
    """A server on the directory, its address, and the seconds until it accepted connections."""
    # A snapshot during the measurement would make the next one another.
    settings = {"TIDEGATE_STORE_SNAPSHOT_EVERY": "1000000000", "TIDEGATE_LOG_LEVEL": "error"}
    started = time.perf_counter()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "tidegate", "serve", "--json", "--server-port", "0"),
            *("--store-directory", str(directory)),
        ],
        stdout=subprocess.PIPE,
        env={**os.environ, **settings},
    )
    assert process.stdout is not None
    address = json.loads(process.stdout.readline())["base_url"]
    return process, address, time.perf_counter() - started


def end(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """End a server and wait for it."""
    process.send_signal(number)
    process.wait(600)


def make_tenant(directory: Path) -> UUID:
    """A database with one tenant that has the definitions of the traffic."""
    url = f"sqlite:///{directory / 'tidegate.db'}"
    migrate(url)
    store = SqliteStore(url)
    token = make_owner(store, load_keys(directory / "keys"))
    store.close()
    process, address, _ = start(directory)
    name = "Restart"
    try:
        tenant_id = call(address, token, "POST", "/tenants", {"name": name})["tenant_id"]
        document = to_definitions(read_policies())
        document["tenant"] = {"name": name, "tenant_id": tenant_id}
        call(address, token, "PUT", f"/tenants/{tenant_id}/definitions", document)
    finally:
        end(process, signal.SIGKILL)
    return UUID(tenant_id)


def call(address: str, token: str, method: str, path: str, body: object) -> Any:
    """A call of the control plane."""
    return Served(address, "", token, "", 0).call(method, path, body)


def write_log(directory: Path, tenant_id: UUID, decisions: int) -> None:
    """Decide the traffic over and over, and log it."""
    store = SqliteStore(f"sqlite:///{directory / 'tidegate.db'}")
    keys = load_keys(directory / "keys")
    application = Application(store=store, keys=keys)

    async def compiled(tenant_id: UUID, base: int | None) -> CompiledSet | CompiledChange:
        return compile_newest(tenant_id, base, application)

    runtimes = Runtimes(store, keys, compiled)
    asyncio.run(runtimes.load())
    tenant = runtimes.find(tenant_id)
    assert tenant is not None
    for first in range(0, decisions, COMMIT):
        store.append([decide(tenant, range(first, min(first + COMMIT, decisions)))]).result()
    store.index_now()
    store.close()


def decide(tenant: Tenant, numbers: range) -> LogBlock:
    """Decisions on the traffic over and over, moved to now."""
    traffic = events()
    bodies = [
        b'{"idempotency_key":"%d",%b' % (number, traffic[number % len(traffic)][1:])
        for number in numbers
    ]
    calls = tenant.engine.read_calls(bodies, [False] * len(bodies), b"")
    at, key = time.time_ns(), str(uuid4())
    names = b"".join([uuid7().bytes for _ in bodies])
    block = Block(*calls.decide(names, [key] * len(bodies), at, "", tenant.redactor))
    return LogBlock(
        tenant.tenant_id, block.count, at, block.first_id, block.last_id, block.lines, block.index
    )


@functools.cache
def events() -> list[bytes]:
    """The traffic, without the members that are given anew."""
    given = {"idempotency_key", "observed_at"}
    read = map(orjson.loads, read_lines(TRAFFIC / "events.jsonl.gz"))
    return [orjson.dumps({k: v for k, v in event.items() if k not in given}) for event in read]


if __name__ == "__main__":
    main()
