"""``python -m benchmarks.traffic.export DIRECTORY``: events and rule sets for the Rust benchmarks.

Writes ``events.jsonl`` (every twelfth published event) and ``rules-1k.jsonl`` and so on: the
canonical form of each published set, the programs one a line after a line with the rest.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import click
import orjson

import tidegate
from benchmarks.traffic.workload import TRAFFIC, has_traffic, iterate_rules, read_lines

SETS = {"1k": 1_000, "10k": 10_000, "100k": 100_000}
EVERY = 12


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--set", "names", type=click.Choice(list(SETS)), multiple=True, default=list(SETS))
def main(directory: Path, names: tuple[str, ...]) -> None:
    """Write the events and sets into DIRECTORY."""
    if not has_traffic():
        raise click.ClickException(f"the shared traffic data is not at {TRAFFIC}")
    directory.mkdir(parents=True, exist_ok=True)
    export_events(directory / "events.jsonl")
    for name in names:
        count = export_rules(name, directory / f"rules-{name}.jsonl")
        click.echo(f"rules-{name}: {count:,} rules")


def export_events(path: Path) -> None:
    """Write every twelfth published event."""
    with path.open("wb") as file:
        for event in itertools.islice(read_lines(TRAFFIC / "events.jsonl.gz"), 0, None, EVERY):
            file.write(event.rstrip(b"\n") + b"\n")


def export_rules(name: str, path: Path) -> int:
    """Write the canonical form of a published set; gives the number of rules."""
    expressions = {rule.rule_id: rule.expression for rule in iterate_rules(SETS[name])}
    document = orjson.loads(tidegate.RuleSet(expressions).to_canonical())
    programs = document.pop("programs")
    path.write_bytes(b"\n".join(orjson.dumps(each) for each in [document, *programs]))
    return len(expressions)


if __name__ == "__main__":
    main()
