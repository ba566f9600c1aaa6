"""``python -m benchmarks.goals``: every goal, met or not, and the phases of the sets."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmarks import machine
from benchmarks.goals import (
    answers,
    changes,
    decisions,
    frames,
    from_python,
    hostile_sets,
    in_turn,
    native,
    patterns,
)
from benchmarks.goals.goal import of_runs
from benchmarks.traffic.export import SETS, export_events, export_rules
from benchmarks.traffic.workload import TRAFFIC, has_traffic, iterate_rules, load

if TYPE_CHECKING:
    from benchmarks.goals.goal import Goal

SKIPPABLE = ("answers", "changes", "decisions", "hostile", "patterns", "python")


@click.command()
@click.option("--directory", type=click.Path(path_type=Path), help="Keep exported sets here.")
@click.option("--set", "names", type=click.Choice(list(SETS)), multiple=True, default=list(SETS))
@click.option("--skip", type=click.Choice(SKIPPABLE), multiple=True)
@click.option("--generated", default=10_000, show_default=True, help="Sets compared for G14.")
@click.option("--events", "limit", type=click.IntRange(1), help="At most this many events a check.")
def main(
    directory: Path | None,
    names: tuple[str, ...],
    skip: tuple[str, ...],
    generated: int,
    limit: int | None,
) -> None:
    """Measure all goals and print what was found; always exits 0."""
    if not has_traffic():
        raise click.ClickException(f"the shared traffic data is not at {TRAFFIC}")
    with tempfile.TemporaryDirectory() as temporary:
        _measure(directory or Path(temporary), list(names), frozenset(skip), generated, limit)


def _measure(
    directory: Path, names: list[str], skip: frozenset[str], generated: int, limit: int | None
) -> None:
    click.echo(machine.describe() + "\n")
    events = _export(directory, names)
    goals: list[Goal] = []
    # The machine's other load changes within minutes, so these are measured three times.
    runs = [native.measure(directory, names)]
    if "python" not in skip:
        goals += from_python.measure(events[::10])
        goals += in_turn.measure(directory, events[::10])
        goals += frames.measure(load().sequence)
    if "patterns" not in skip:
        goals += patterns.measure(events)
    runs.append(native.measure(directory, names))
    if "hostile" not in skip:
        found, hostile_table = hostile_sets.measure()
        goals += found
    if "changes" not in skip:
        texts = [rule.expression for rule in iterate_rules(SETS["10k"])]
        goals += changes.measure(_bundle(directory / "rules-10k.jsonl"), texts, events)
    if "decisions" not in skip:
        goals += decisions.measure()
    runs.append(native.measure(directory, names))
    goals += of_runs([native.goals(figures) for figures in runs])
    tables = ["Phases, means in ns an event:", native.phase_table(native.middle(runs))]
    if "hostile" not in skip:
        tables += ["Hostile sets and events:", hostile_table]
    if "answers" not in skip:
        goals += answers.measure(generated, limit)
    goals.sort(
        key=lambda goal: (
            goal.name[0] != "G",
            int(goal.name[1:] or 0) if goal.name[0] == "G" else 0,
        )
    )
    click.echo("| goal | what | bound | found | |\n|---|---|--:|--:|---|")
    for goal in goals:
        click.echo(goal.row())
    for table in tables:
        click.echo(f"\n{table}")
    click.echo("\n" + machine.describe())


def _export(directory: Path, names: list[str]) -> list[bytes]:
    """Write what is not there yet; gives the events."""
    directory.mkdir(parents=True, exist_ok=True)
    events = directory / "events.jsonl"
    if not events.exists():
        export_events(events)
    for name in dict.fromkeys(["1k", "10k", *names]):
        path = directory / f"rules-{name}.jsonl"
        if not path.exists():
            export_rules(name, path)
    return events.read_bytes().splitlines()


def _bundle(path: Path) -> bytes:
    """The canonical form of an exported set."""
    head, *programs = path.read_bytes().splitlines()
    return head.removesuffix(b"}") + b',"programs":[' + b",".join(programs) + b"]}"


if __name__ == "__main__":
    main()
