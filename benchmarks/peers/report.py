"""Tables of measurements for people and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table as Grid

from benchmarks.peers.measurement import FORMS, Row, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

OWN = "tidegate"
"""The engine that ratios are taken against."""

HEADINGS = {"from_bytes": "JSON bytes", "from_dict": "dict", "from_prepared": "prepared"}
NAMED = 3
"""How many of the rules left out are named; the JSON has all."""


def print_table(console: Console, table: Table) -> None:
    """One table: nanoseconds of a call and, in brackets, how many times Tidegate's that is."""
    own = _own_row(table.rows)
    grid = Grid(title=f"{table.name}: median ns a call (times tidegate)", title_justify="left")
    grid.add_column("engine")
    for form in FORMS:
        grid.add_column(HEADINGS[form], justify="right")
    if table.rules > 1:
        grid.add_column("ns a rule", justify="right")
        grid.add_column("rules", justify="right")
    for row in table.rows:
        if row.nanoseconds:
            grid.add_row(row.engine, *_cells(table, row, own))
    console.print(grid)
    for row in table.rows:
        for line in _remarks(row, table.events):
            console.print(f"  {row.engine}: {line}", markup=False, highlight=False)


def to_json(tables: Iterable[Table], machine: str, origin: str) -> dict[str, Any]:
    """Everything that was measured, with all rules that were left out."""
    return {"machine": machine, "workload": origin, "tables": [asdict(table) for table in tables]}


def _own_row(rows: Sequence[Row]) -> Row | None:
    return next((row for row in rows if row.engine.split()[0] == OWN and row.nanoseconds), None)


def _cells(table: Table, row: Row, own: Row | None) -> list[str]:
    cells = [_cell(row, own, form) for form in FORMS]
    if table.rules > 1:
        least = min(row.nanoseconds.values()) / row.rules
        cells += [f"{least:,.1f}", f"{row.rules:,}"]
    return cells


def _cell(row: Row, own: Row | None, form: str) -> str:
    if form not in row.nanoseconds:
        return "-"
    taken = row.nanoseconds[form]
    if own is None or form not in own.nanoseconds:
        return f"{taken:,.0f}"
    # A rule that was left out must not make an engine look faster.
    ratio = (taken / row.rules) / (own.nanoseconds[form] / own.rules)
    return f"{taken:,.0f} ({_short(ratio)}x)"


def _short(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"


def _remarks(row: Row, events: int) -> list[str]:
    found = [row.reason] if row.reason else []
    if row.nanoseconds and row.compared_events < events:
        found.append(f"answers compared on {row.compared_events} of {events} events, for time")
    for what, rules in (("does not take", row.refused), ("answers otherwise", row.disagreed)):
        if rules:
            more = ", ..." if len(rules) > NAMED else ""
            found.append(f"{what} {len(rules):,} of the rules: {', '.join(rules[:NAMED])}{more}")
    return found
