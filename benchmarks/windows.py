"""``python -m benchmarks.windows``: every trigger of 74 windows against the published ones.

An expected trigger is an event that matches and at which its entity's window holds, whether
or not a mitigation is already active: in a decision, a clause that fired by itself.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

import tidegate
from benchmarks import machine
from benchmarks.traffic.policies import read_policies, to_definitions, to_slug
from benchmarks.traffic.workload import TRAFFIC, has_traffic, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.evaluation.rules import Evaluator

PAGE_COLUMNS = 120
"""Width of the table in a file or a pipe."""


@dataclass
class Run:
    """The results of one pass over the events."""

    triggers: dict[str, list[int]]
    """The indices of the events at which a clause fired by itself, by slug of its policy."""
    refused: list[int] = field(default_factory=list)
    events: int = 0
    seconds: float = 0.0


def run(events: Iterable[bytes], evaluator: Evaluator) -> Run:
    """Decide every event in order by the published policies."""
    policies = read_policies()
    engine = tidegate.Engine(
        tidegate.load_definitions(to_definitions(policies)), evaluator=evaluator
    )
    result = Run({to_slug(policy): [] for policy in policies})
    started = time.perf_counter()
    for index, event in enumerate(events):
        result.events += 1
        try:
            decision = engine.decide(event)
        except tidegate.EventError:
            result.refused.append(index)
            continue
        for clause in decision.fired:
            if not clause.active:
                result.triggers[clause.policy].append(index)
    result.seconds = time.perf_counter() - started
    return result


def read_expected() -> list[dict[str, Any]]:
    """The published triggers by policy: count, the first fifty, a digest of all."""
    with gzip.open(TRAFFIC / "expected-windows.json.gz") as stream:
        expected: list[dict[str, Any]] = json.load(stream)
    return expected


def difference(found: list[int], expected: dict[str, Any], limit: int | None) -> str:
    """The difference, or ``""``.

    Of the first ``limit`` events only the published first triggers are known; with
    ``limit`` None all are, by their digest.
    """
    first: list[int] = expected["first"]
    if limit is not None:
        known = [index for index in first if index < limit]
        complete = len(known) < len(first) or len(first) == expected["triggered_events"]
        return _first_difference(found if complete else found[: len(known)], known)
    if hashlib.sha256(",".join(map(str, found)).encode()).hexdigest() == expected["sha256"]:
        return ""
    return _first_difference(found[: len(first)], first) or "differs after the published first ones"


def _first_difference(found: list[int], expected: list[int]) -> str:
    for mine, theirs in itertools.zip_longest(found, expected):
        if mine != theirs:
            return f"first at event {min(index for index in (mine, theirs) if index is not None)}"
    return ""


@click.command()
@click.option("--evaluator", type=click.Choice(["native", "reference"]), default="native")
@click.option("--events", "limit", type=click.IntRange(1), help="Only this many events.")
def main(evaluator: Evaluator, limit: int | None) -> None:
    """Decide the traffic and compare every window's triggers; exit 1 on a difference."""
    if not has_traffic():
        raise click.ClickException(f"the shared traffic data is not at {TRAFFIC}")
    console = Console()
    if not console.is_terminal:
        console.width = PAGE_COLUMNS
    result = run(itertools.islice(read_lines(TRAFFIC / "events.jsonl.gz"), limit), evaluator)
    table = Table("policy", "found", "expected", "difference", title="triggers of windows")
    differences = 0
    for expected in read_expected():
        found = result.triggers[to_slug(expected)]
        text = difference(found, expected, limit)
        differences += bool(text)
        published = "-" if limit is not None else f"{expected['triggered_events']:,}"
        table.add_row(expected["policy_id"], f"{len(found):,}", published, text)
    console.print(table)
    console.print(machine.describe(), highlight=False)
    console.print(
        f"{evaluator}: {result.events:,} events, {len(result.refused):,} refused,"
        f" {result.seconds:.1f} s, {result.seconds / result.events * 1e6:.2f} µs an event"
        f" with reading the file; {differences} of {len(result.triggers)} policies differ",
        highlight=False,
    )
    sys.exit(1 if differences or result.refused else 0)


if __name__ == "__main__":
    main()
