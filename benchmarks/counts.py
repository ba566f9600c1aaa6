"""``python -m benchmarks.counts``: the traffic through the service, and what it counts.

All events go through ``beacon/events`` of a real server, in order. Then every place that counts
must say what ``tidegate decide --summary`` says of the same definitions: the answers themselves,
results, timeline, metrics and the search of decisions.
"""

from __future__ import annotations

import http.client
import itertools
import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

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
PERIOD = "since=2026-03-01T00:00:00Z&until=2026-03-08T00:00:00Z"
"""The traffic is of four days in March, whenever it is sent."""
OUTCOMES = ("allow", "challenge", "block")
NUMBERS = ("total", *OUTCOMES, "by_others", "monitor")
ALL = "all decisions"
METRIC = re.compile(r'^tidegate_decisions_total\{.*action="(\w+)".*\} (\S+)$', re.MULTILINE)

Counted: TypeAlias = "dict[str, Counter[str]]"
"""The numbers of a policy, or of ``ALL``."""


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
        places, summarised = count(events, read_policies())
        seconds = time.perf_counter() - started
    wrong = differences(places, summarised)
    for place, name, counted, expected in wrong:
        click.echo(f"{name}: {place} counts {counted}, the summary {expected}")
    for place, counted_there in places.items():
        click.echo(f"{place:<18} {dict(counted_there[ALL])}, {len(counted_there) - 1} policies")
    outcomes = summarised[ALL]
    click.echo(f"{'decide --summary':<18} {dict(outcomes)}, {len(summarised) - 1} policies")
    click.echo(f"{sum(outcomes.values()):,} events in {seconds:.0f} s, {len(wrong)} numbers differ")
    sys.exit(1 if wrong else 0)


def count(events: Path, policies: Sequence[dict[str, Any]]) -> tuple[dict[str, Counted], Counted]:
    """The counts of a file of events by each place of the service, and by the command.

    Raises:
        RuntimeError: the service refused other events than the command.
    """
    definitions = to_definitions(policies)
    with serving(definitions, core=None) as service:
        answers = send(service, events.read_bytes().splitlines())
        refused = answers.pop("refused", 0)
        places = {
            "answers": {ALL: answers},
            "results": results(service, sum(answers.values())),
            "timeline": {ALL: timeline(service, f"{PERIOD}&step=86400")},
            "timeline, received": {ALL: timeline(service, "time=received")},
            "metrics": {ALL: metrics(service)},
            "decisions": decisions(service),
        }
    summary = summarise(definitions, events)
    if refused != sum(summary["refused"].values()):
        raise RuntimeError(f"the service refused {refused}, the command {summary['refused']}")
    summarised = {
        each["policy"]: Counter({name: each[name] for name in NUMBERS})
        for each in summary["policies"]
    }
    summarised[ALL] = Counter({name: summary["outcomes"][name] for name in OUTCOMES})
    return places, summarised


def send(service: Served, lines: Iterable[bytes]) -> Counter[str]:
    """Send events in order, in batches; how many were answered how, or refused."""
    answers: Counter[str] = Counter(dict.fromkeys(OUTCOMES, 0))
    connection = http.client.HTTPConnection(service.address, timeout=600)
    headers = {"x-service-api-key": service.api_key, "content-type": "application/x-ndjson"}
    for batch in batches(lines):
        connection.request("POST", "/api/v1/beacon/events", b"\n".join(batch), headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status} {content[:1000].decode()}")
        for item in json.loads(content):
            if item["status"] != 200:
                answers["refused"] += 1
                continue
            mitigation = (item["active_mitigation"] or {}).get("decision")
            answers[{"Challenge": "challenge", "Block": "block"}.get(mitigation, "allow")] += 1
    connection.close()
    return answers


def batches(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The lines, some at a time."""
    remaining = iter(lines)
    while batch := list(itertools.islice(remaining, BATCH)):
        yield batch


def results(service: Served, events: int) -> Counted:
    """The counts of policies' results; events that no policy answered were allowed."""
    path = f"/tenants/{service.tenant_id}/results/policies?limit=500&{PERIOD}"
    found = {
        each["slug"]: Counter({name: each[name] for name in NUMBERS})
        for each in service.call("GET", path)
        if each["total"]
    }
    stopped = {name: sum(each[name] for each in found.values()) for name in OUTCOMES[1:]}
    return {**found, ALL: Counter(stopped, allow=events - sum(stopped.values()))}


def timeline(service: Served, query: str) -> Counter[str]:
    """The sums of all steps."""
    steps = service.call("GET", f"/tenants/{service.tenant_id}/results/timeline?{query}")
    return Counter({name: sum(step[name] for step in steps) for name in OUTCOMES})


def metrics(service: Served) -> Counter[str]:
    """The counts for Prometheus."""
    found = Counter(dict.fromkeys(OUTCOMES, 0))
    with urllib.request.urlopen(f"{service.base_url}/metrics") as page:
        for action, number in METRIC.findall(page.read().decode()):
            found[action] += int(float(number))
    return found


def decisions(service: Served) -> Counted:
    """All decisions of the period, found page by page and counted."""
    tenant = f"/tenants/{service.tenant_id}"
    slugs = {
        each["policy_id"]: each["slug"]
        for each in service.call("GET", f"{tenant}/policies?limit=500")
    }
    counted: Counted = {ALL: Counter(dict.fromkeys(OUTCOMES, 0))}
    for each in service.pages(f"{tenant}/decisions?limit=500&{PERIOD}"):
        action = each["action"]
        counted[ALL][action] += 1
        for fired in each["fired"]:
            numbers = counted.setdefault(slugs[fired["policy_id"]], Counter())
            is_its_answer = action == "allow" or each["policy_id"] == fired["policy_id"]
            numbers["total"] += 1
            numbers[action if is_its_answer else "by_others"] += 1
            numbers["monitor"] += fired["mode"] == "Monitor"
    return counted


def summarise(definitions: dict[str, Any], events: Path) -> Any:
    """The counts of ``tidegate decide --summary``."""
    document = events.with_suffix(".definitions.json")
    document.write_text(json.dumps(definitions))
    command = [sys.executable, "-m", "tidegate", "decide", str(document), str(events)]
    ran = subprocess.run([*command, "--summary", "--json"], stdout=subprocess.PIPE)
    return json.loads(ran.stdout)


def differences(
    places: dict[str, Counted], summarised: Counted
) -> list[tuple[str, str, dict[str, int], dict[str, int]]]:
    """Places and names of which they do not count what the summary does."""
    return [
        (place, name, dict(counted.get(name, {})), dict(summarised.get(name, {})))
        for place, counted in places.items()
        for name in sorted({*counted, *summarised} if len(counted) > 1 else counted)
        if +counted.get(name, Counter()) != +summarised.get(name, Counter())
    ]


if __name__ == "__main__":
    main()
