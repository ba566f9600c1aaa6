"""``python -m benchmarks.server.tenants``: the start of a service with many tenants.

Starts on one directory alternate: with the compiled forms that it keeps, and without them. As soon
as the port is open, a tenant that isn't loaded yet is called.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import attrs
import click

from benchmarks.machine import describe
from benchmarks.traffic.policies import read_policies, to_definitions
from benchmarks.traffic.workload import TRAFFIC, has_traffic
from tidegate_server.demo import make_owner
from tidegate_server.operators.keys import load_keys
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_SECONDS = 1_800.0
TO_LOAD = re.compile(rb"^tidegate_tenants_to_load (\S+)$", re.MULTILINE)
EVENT = b'{"request":{"method":"GET","path":"/","client_ip":"192.0.2.1"}}'
CHECKED = 2.0
"""Least processor of a start from text, in starts with kept forms: 2.7 with 200 tenants and 3.9
with 2,000. A start without tenants is counted on both sides."""


@attrs.frozen
class Start:
    """One start, in seconds since the process began."""

    opened: float
    called: float
    """When the call of a tenant that wasn't loaded was answered."""
    loaded: float
    processor: float
    """Processor seconds of the process and its workers, until all tenants were loaded."""


@click.command()
@click.option("--tenants", default=200, show_default=True)
@click.option("--policies", default=50, show_default=True, help="Policies of each tenant.")
@click.option("--directory", type=click.Path(path_type=Path), help="Use or make this directory.")
def main(tenants: int, policies: int, directory: Path | None) -> None:
    """Make the tenants, then start on their directory with and without compiled forms."""
    if not has_traffic():
        raise click.ClickException(f"the shared traffic data is not at {TRAFFIC}")
    click.echo(f"{describe()}\n{tenants:,} tenants of {policies:,} policies")
    with tempfile.TemporaryDirectory() as place:
        data = directory or Path(place, "data")
        if not (data / "tidegate.db").exists():
            make(data, tenants, policies)
        key = (data / "benchmark-key").read_text()
        text = report("from text", data, key, forget=True)
        kept = report("compiled forms kept", data, key, forget=False)
    ratio = text.processor / kept.processor
    click.echo(f"processor, from text to kept: {ratio:.1f} (at least {CHECKED:.1f} is asked)")
    if ratio < CHECKED:
        raise SystemExit(1)


def report(name: str, data: Path, key: str, *, forget: bool) -> Start:
    """Start once, print it, and stop."""
    if forget:
        with sqlite3.connect(data / "tidegate.db") as database:
            database.execute("DELETE FROM compiled_sets")
    process, address, opened = start(data)
    try:
        started = time.perf_counter()
        call(address, key)
        called = opened + time.perf_counter() - started
        while left(address) > 0:
            if time.perf_counter() - started > MOST_SECONDS:
                raise click.ClickException("the tenants are not loaded")
            time.sleep(0.25)
        made = Start(opened, called, opened + time.perf_counter() - started, spent(process.pid))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(600)
    click.echo(
        f"{name:20} port open {made.opened:7.2f} s, first call {made.called:7.2f} s,"
        f" all loaded {made.loaded:7.2f} s, processor {made.processor:7.2f} s"
    )
    return made


def start(data: Path, *arguments: str) -> tuple[subprocess.Popen[bytes], str, float]:
    """Start a server; return it, its address, and the seconds until its port was open."""
    settings = {"TIDEGATE_LOG_LEVEL": "error", "TIDEGATE_METRICS_PUBLIC": "all"}
    command = ("-m", "tidegate", "serve", "--json", "--server-port", "0", "--store-directory")
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command, str(data), *arguments],
        stdout=subprocess.PIPE,
        env={**os.environ, **settings},
    )
    assert process.stdout is not None
    address = json.loads(process.stdout.readline())["base_url"]
    return process, address, time.perf_counter() - started


def call(address: str, key: str) -> bytes:
    """Have an event decided."""
    headers = {"content-type": "application/json", "x-service-api-key": key}
    request = urllib.request.Request(f"{address}/api/v1/runtime/mitigation", EVENT, headers)
    with urllib.request.urlopen(request, timeout=MOST_SECONDS) as answer:
        body: bytes = answer.read()
    return body


def left(address: str) -> float:
    """Return how many tenants are not loaded yet."""
    with urllib.request.urlopen(f"{address}/metrics", timeout=60) as answer:
        found = TO_LOAD.search(answer.read())
    assert found is not None
    return float(found[1])


def spent(pid: int) -> float:
    """Return the processor seconds of a process, of its children, and of theirs."""
    ticks = os.sysconf("SC_CLK_TCK")
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = sum(int(each) for each in fields[11:15]) / ticks
    return own + sum(spent(int(child)) for child in children)


def make(data: Path, tenants: int, policies: int) -> None:
    """Make a directory whose tenants have the same definitions; one of them has a key."""
    data.mkdir(mode=0o700)
    url = f"sqlite:///{data / 'tidegate.db'}"
    migrate(url)
    store = SqliteStore(url)
    token = make_owner(store, load_keys(data / "keys"))
    store.close()
    process, address, _ = start(data)
    try:
        made = control(address, token, "POST", "/tenants", {"name": "First"})
        document = to_definitions(read_policies()[:policies])
        document["tenant"] = {"name": "First", "tenant_id": made["tenant_id"]}
        control(address, token, "PUT", f"/tenants/{made['tenant_id']}/definitions", document)
        path = f"/tenants/{made['tenant_id']}/api-keys"
        key = control(address, token, "POST", path, {"name": "benchmark"})["key"]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(600)
    (data / "benchmark-key").write_text(key)
    with sqlite3.connect(data / "tidegate.db") as database:
        for number in range(1, tenants):
            changed = {"tenant_id": uuid4().bytes, "name": f"T {number}", "slug": f"t-{number}"}
            copy(database, "tenants", changed)
            copy(database, "definitions", {"tenant_id": changed["tenant_id"]})


def copy(database: sqlite3.Connection, table: str, changed: dict[str, object]) -> None:
    """Copy the rows of the first tenant, with other values in some columns."""
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    values = ", ".join("?" if each in changed else each for each in columns)
    given: Sequence[object] = [changed[each] for each in columns if each in changed]
    first = "(SELECT tenant_id FROM tenants WHERE name = 'First')"
    database.execute(
        f"INSERT INTO {table} SELECT {values} FROM {table} WHERE tenant_id = {first}",
        given,
    )


def control(address: str, token: str, method: str, path: str, body: object) -> Any:
    """A call of the control plane."""
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    data = json.dumps(body).encode()
    url = f"{address}/api/v1{path}"
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.loads(answer.read() or b"null")


if __name__ == "__main__":
    main()
