"""``python -m benchmarks.counts``: the traffic through the service, and what its results count.

All events go through ``beacon/events`` of a real server, in order; then ``results`` must say of
every policy, and of all decisions, what ``tidegate decide --summary`` says of the same definitions.
"""

from __future__ import annotations

import http.client
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmarks.machine import describe
from benchmarks.server.served import serving
from benchmarks.traffic.policies import read_policies, to_definitions
from benchmarks.traffic.workload import TRAFFIC, has_traffic, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.server.served import Served

EVENTS = "events.jsonl.gz"
BATCH = 1_000
PERIOD = "since=2026-03-01T00:00:00Z&until=2026-03-08T00:00:00Z&step=86400"
"""The traffic is of four days in March."""
MODES = ("monitor", "challenge", "block")
ALL = "all decisions"


@click.command()
@click.option("--events", "limit", type=int, help="Only this many, the first.")
def main(limit: int | None) -> None:
    """Send, count, compare."""
    if not has_traffic():
        raise click.ClickException(f"the shared traffic data is not at {TRAFFIC}")
    click.echo(describe())
    with tempfile.TemporaryDirectory() as directory:
        events = Path(directory) / "events.jsonl"
        lines = itertools.islice(read_lines(TRAFFIC / EVENTS), limit)
        events.write_bytes(b"\n".join(line.strip() for line in lines))
        started = time.perf_counter()
        served, summarised = both(events, read_policies())
        seconds = time.perf_counter() - started
    wrong = differences(served, summarised)
    for name, counted, expected in wrong:
        click.echo(f"{name}: results count {counted}, the summary {expected}")
    total = sum(served[ALL].values())
    click.echo(
        f"{total:,} events in {seconds:.0f} s, {len(served) - 1} policies with counts,"
        f" {len(wrong)} differ"
    )
    sys.exit(1 if wrong else 0)


def both(
    events: Path, policies: Sequence[dict[str, Any]]
) -> tuple[dict[str, Counter[str]], dict[str, Counter[str]]]:
    """What the service and the command count of a file of events: by policy, and for all.

    Raises:
        RuntimeError: the service refused other events than the command.
    """
    definitions = to_definitions(policies)
    with serving(definitions, core=None) as service:
        refused = send(service, events.read_bytes().splitlines())
        served = results(service)
    summary = summarise(definitions, events)
    if refused != sum(summary["refused"].values()):
        raise RuntimeError(f"the service refused {refused}, the command {summary['refused']}")
    summarised = {each.pop("policy"): Counter(each) for each in summary["policies"]}
    outcomes = Counter(summary["outcomes"])
    summarised[ALL] = Counter({name: outcomes[name] for name in ("allow", "challenge", "block")})
    return served, summarised


def send(service: Served, lines: Iterable[bytes]) -> int:
    """Send events in order, in batches; how many were refused."""
    refused = 0
    connection = http.client.HTTPConnection(service.address, timeout=600)
    headers = {"x-service-api-key": service.api_key, "content-type": "application/x-ndjson"}
    for batch in batches(lines):
        connection.request("POST", "/api/v1/beacon/events", b"\n".join(batch), headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status} {content[:1000].decode()}")
        refused += sum(item["status"] != 200 for item in json.loads(content))
    connection.close()
    return refused


def batches(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The lines, some at a time."""
    remaining = iter(lines)
    while batch := list(itertools.islice(remaining, BATCH)):
        yield batch


def results(service: Served) -> dict[str, Counter[str]]:
    """What the results of the service count."""
    tenant = f"/tenants/{service.tenant_id}"
    found = {
        each["slug"]: Counter({mode: each[mode] for mode in MODES})
        for each in service.call("GET", f"{tenant}/results/policies?limit=500")
        if each["total"]
    }
    total: Counter[str] = Counter()
    for step in service.call("GET", f"{tenant}/results/timeline?{PERIOD}"):
        total["challenge"] += step["challenge"]
        total["block"] += step["block"]
        total["allow"] += step["total"] - step["challenge"] - step["block"]
    return {**found, ALL: total}


def summarise(definitions: dict[str, Any], events: Path) -> Any:
    """What ``tidegate decide --summary`` says."""
    document = events.with_suffix(".definitions.json")
    document.write_text(json.dumps(definitions))
    command = [sys.executable, "-m", "tidegate", "decide", str(document), str(events)]
    ran = subprocess.run([*command, "--summary", "--json"], stdout=subprocess.PIPE)
    return json.loads(ran.stdout)


def differences(
    served: dict[str, Counter[str]], summarised: dict[str, Counter[str]]
) -> list[tuple[str, dict[str, int], dict[str, int]]]:
    """Names of which the two do not count the same."""
    return [
        (name, dict(served.get(name, {})), dict(summarised.get(name, {})))
        for name in sorted({*served, *summarised})
        if +served.get(name, Counter()) != +summarised.get(name, Counter())
    ]


if __name__ == "__main__":
    main()
