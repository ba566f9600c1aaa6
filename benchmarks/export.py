"""``python -m benchmarks.export DIRECTORY``: events and rule sets for the Rust benchmarks.

Writes ``events.jsonl`` (every twelfth published event) and ``rules-1k.json`` and so on: the
canonical form of each published set.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import click

import tidegate
from benchmarks.workload import TRAFFIC, has_traffic, iterate_rules, read_lines

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
    with (directory / "events.jsonl").open("wb") as file:
        for event in itertools.islice(read_lines(TRAFFIC / "events.jsonl.gz"), 0, None, EVERY):
            file.write(event.rstrip(b"\n") + b"\n")
    for name in names:
        expressions = {rule.rule_id: rule.expression for rule in iterate_rules(SETS[name])}
        data = tidegate.RuleSet(expressions).to_canonical()
        (directory / f"rules-{name}.json").write_bytes(data)
        click.echo(f"rules-{name}: {len(expressions):,} rules, {len(data):,} bytes")


if __name__ == "__main__":
    main()
