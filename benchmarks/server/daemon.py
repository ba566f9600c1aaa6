"""``python -m benchmarks.server.daemon``: a daemon's decisions and a bare echo, and its memory.

A service makes active mitigations, one an address, and a daemon follows it.  Daemon and echo are
pinned to one core, and the load generator has the other.  Rounds alternate, and medians are shown.
The service is stopped while a round runs: on a site it is on another machine.  Each decision is on
the disk of the daemon when it is answered.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import click

from benchmarks.machine import describe
from benchmarks.server.served import (
    SERVER_CORE,
    Served,
    load,
    load_generator,
    pinned,
    serving,
    stop,
)
from benchmarks.server.service import ECHO_PORT, echo

CONNECTIONS = 64
ENTRIES = 100_000
FIRST = int(ip_address("100.64.0.0"))
PATH = "/api/v1/runtime/mitigation"
GOALS = {"tail": 3.0, "mib": 100.0}
DEFINITIONS = {
    "apiVersion": "tidegate/v1",
    "entities": [{"name": "Address", "key_fields": ["request.client_ip"]}],
    "mitigations": [{"name": "Out", "slug": "out", "mode": "Block", "ttl_seconds": 86_400}],
    "policies": [
        {
            "name": "Trap",
            "expression": 'request.path == "/trap"',
            "clauses": [{"entity": "address", "mitigation": "out"}],
        }
    ],
}


@click.command()
@click.option("--seconds", default=10.0, show_default=True, help="Length of a round.")
@click.option("--rounds", default=5, show_default=True)
@click.option("--entries", default=ENTRIES, show_default=True, help="Active mitigations.")
@click.option("--program", type=Path, help="The load generator, if it is built already.")
def main(seconds: float, rounds: int, entries: int, program: Path | None) -> None:
    """Measure latency and resident memory."""
    program = program or load_generator()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        served = stack.enter_context(serving(DEFINITIONS))
        block_addresses(served, program, directory, entries)
        site = stack.enter_context(daemon(served, directory))
        while not is_level(served) or site.status()["entities"] < entries:
            time.sleep(0.5)
        memory = [site.resident_mib()]
        stack.enter_context(echo())
        visits = write(directory / "visits.jsonl", "/", FIRST - 50_000, 50_000)
        places = {
            "echo": (f"127.0.0.1:{ECHO_PORT}", "/"),
            "daemon": (site.address, PATH),
        }
        measured: dict[str, list[dict[str, Any]]] = {name: [] for name in places}
        os.kill(served.pid, signal.SIGSTOP)
        try:
            for number in range(rounds + 1):
                order = list(places.items())
                for name, (address, path) in order if number % 2 else reversed(order):
                    took = seconds if number else 2.0
                    result = load(program, address, path, visits, CONNECTIONS, took)
                    if number:  # the first one warms up
                        measured[name].append(result)
        finally:
            os.kill(served.pid, signal.SIGCONT)
        memory.append(site.resident_mib())
    report(measured, entries, memory)


def block_addresses(served: Served, program: Path, directory: Path, entries: int) -> None:
    """Have the service block addresses."""
    traps = write(directory / "traps.jsonl", "/trap", FIRST, entries)
    headers = [f"x-service-api-key: {served.api_key}"]
    blocked, took = 0, 10.0
    while blocked < entries:
        # Each load begins with the first address.
        load(program, served.address, PATH, traps, CONNECTIONS, took, headers)
        took *= 2
        blocked = served.call("GET", f"/tenants/{served.tenant_id}/status")["keys"]


def write(path: Path, visited: str, first: int, count: int) -> Path:
    """A file of events, one an address."""
    events = (
        {"request": {"method": "GET", "path": visited, "client_ip": str(ip_address(first + each))}}
        for each in range(count)
    )
    path.write_text("\n".join(map(json.dumps, events)))
    return path


class Site:
    """A running daemon."""

    def __init__(self, process: subprocess.Popen[bytes], address: str) -> None:
        self.process, self.address = process, address

    def status(self) -> Any:
        """The daemon's status."""
        with urlopen(f"http://{self.address}/status", timeout=30) as answer:
            return json.loads(answer.read())

    def resident_mib(self) -> float:
        """The daemon's resident memory."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024


@contextmanager
def daemon(served: Served, directory: Path) -> Iterator[Site]:
    """A daemon that follows a service."""
    key = served.call(
        "POST", f"/tenants/{served.tenant_id}/api-keys", {"name": "sync", "can_sync": True}
    )["key"]
    environment = {**os.environ, "TIDEGATE_HOME": str(directory / "home")}
    tidegate = [sys.executable, "-m", "tidegate"]
    subprocess.run(
        [*tidegate, "init", "--api-base", served.base_url, "--api-key", key,
         "--tenant-id", served.tenant_id],
        check=True, capture_output=True, env=environment,
    )  # fmt: skip
    command = pinned([*tidegate, "run", "--json", "--daemon-port", "0"], SERVER_CORE)
    with (directory / "daemon.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment)
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        yield Site(process, said["base_url"].removeprefix("http://"))
    finally:
        stop(process)


def is_level(served: Served) -> bool:
    """Whether the daemon said that it holds, and has saved, all that the service has."""
    found = served.call("GET", f"/tenants/{served.tenant_id}/daemons")
    return bool(found) and all(each["is_equal"] and each["sequence"] for each in found)


def report(measured: dict[str, list[dict[str, Any]]], entries: int, memory: list[float]) -> None:
    """Print medians, ratios and verdicts."""
    click.echo(describe())
    medians = {
        name: [statistics.median(each[figure] for each in results) for figure in FIGURES]
        for name, results in measured.items()
    }
    for name, (rate, half, tail) in medians.items():
        click.echo(f"{name:8}{rate:10,.0f} requests/s, p50 {half:6.2f} ms, p99 {tail:6.2f} ms")
    pairs = zip(measured["daemon"], measured["echo"], strict=True)
    ratio = statistics.median(one["p99_ms"] / other["p99_ms"] for one, other in pairs)
    click.echo(f"p99 at most {GOALS['tail']:.0f} x echo: {ratio <= GOALS['tail']} ({ratio:.2f} x)")
    click.echo(
        f"{entries:,} active mitigations under {GOALS['mib']:.0f} MiB: "
        f"{memory[0] < GOALS['mib']} ({memory[0]:.0f} MiB, {memory[1]:.0f} MiB after the load)"
    )


FIGURES = ("per_second", "p50_ms", "p99_ms")


if __name__ == "__main__":
    main()
