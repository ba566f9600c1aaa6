"""``python -m benchmarks.peers``: the same work under every engine, answers first."""

from __future__ import annotations

import click
import orjson
from rich.console import Console

from benchmarks import machine
from benchmarks.peers.adapter import load_adapters
from benchmarks.peers.measurement import FULL, QUICK, measure
from benchmarks.peers.report import print_table, to_json
from benchmarks.traffic import workload

PAGE_COLUMNS = 120
"""Width of tables in a file or a pipe."""


@click.command()
@click.option("--quick", is_flag=True, help="Fewer and shorter rounds, no set of 10,000.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of tables.")
def main(quick: bool, as_json: bool) -> None:
    """Time Tidegate and other engines on the same events and rules."""
    console = Console(stderr=as_json)
    if not console.is_terminal:
        console.width = PAGE_COLUMNS
    adapters, missing = load_adapters()
    loaded = workload.load()
    described = machine.describe()
    console.print(f"{described}\nworkload: {loaded.origin}", highlight=False)
    tables = []
    for table in measure(adapters, missing, loaded, QUICK if quick else FULL):
        tables.append(table)
        print_table(console, table)
    if as_json:
        click.echo(
            orjson.dumps(to_json(tables, described, loaded.origin), option=orjson.OPT_INDENT_2)
        )


if __name__ == "__main__":
    main()
