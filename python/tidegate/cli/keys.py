"""``tidegate keys``: whether the keys of entity definitions tell actors apart."""

from __future__ import annotations

from typing import Any

import attrs
import click
from rich.table import Table
from rich.text import Text

from tidegate.cli.decide import need_one_input
from tidegate.cli.documents import definitions_argument, read_compiled
from tidegate.cli.findings.examined import warnings_as_errors_option
from tidegate.cli.inputs.events import Source, events_argument, strictness_option
from tidegate.cli.output import console, json_option, print_json
from tidegate.cli.run import max_refusals_option, see_all
from tidegate.evaluation.envelope import Strictness
from tidegate.language.tree.diagnostics import nearest, quote
from tidegate.policy.definitions.compiled import CompiledDefinitions
from tidegate.policy.traffic.doctor import KeyDoctor, KeyReport

_SHOWN_KEYS = 5


@click.command()
@definitions_argument
@events_argument
@click.option(
    "--entity", "only", multiple=True, help="Only this entity definition; may be given repeatedly."
)
@warnings_as_errors_option
@max_refusals_option
@strictness_option
@json_option
def keys(
    definitions: str,
    events: Source,
    only: tuple[str, ...],
    warnings_as_errors: bool,
    max_refusals: int,
    strictness: Strictness,
    as_json: bool,
) -> None:
    """Judge the keys of the entity definitions in DEFINITIONS by EVENTS."""
    need_one_input(definitions, events)
    compiled = read_compiled(definitions).compiled
    _need_known(compiled, only)
    doctor = KeyDoctor(compiled, only, strictness)
    run, looked_at, refused = see_all(doctor.see, events, max_refusals)
    reports = doctor.reports()
    if as_json:
        shown = [_to_json(each) for each in reports]
        print_json({"looked_at": looked_at, "refused": refused, "keys": shown})
    else:
        for each in reports:
            _print(each)
        console.print(f"{looked_at:,} events, {refused:,} refused", markup=False)
    has_failed = warnings_as_errors and any(each.findings for each in reports)
    run.exit(1 if refused or has_failed else 0)


def _need_known(compiled: CompiledDefinitions, only: tuple[str, ...]) -> None:
    known = [each.slug for each in compiled.entities]
    for slug in only:
        if slug not in known:
            meant = nearest(slug, known)
            hint = f"; did you mean `{meant}`?" if meant else ""
            raise click.UsageError(f"there is no enabled entity definition {quote(slug)}{hint}")


def _to_json(report: KeyReport) -> dict[str, Any]:
    counts = report.figures.counts()
    return {
        "entity": report.slug,
        "verdict": report.verdict,
        "findings": [attrs.asdict(each) for each in report.findings],
        "events": report.figures.events,
        "window_seconds": report.window_seconds,
        **counts,
        **{name: [attrs.asdict(each) for each in counts[name]] for name in ("parts", "beside")},
        "largest": [{"key": list(each.key), "events": each.events} for each in counts["largest"]],
    }


def _print(report: KeyReport) -> None:
    figures, counts = report.figures, report.figures.counts()
    console.print(f"{report.slug}: {report.verdict}", markup=False)
    for each in report.findings:
        console.print(f"  {each.code}: {each.detail}", markup=False)
    table = Table.grid(padding=(0, 2))
    keys_an_event = counts["distinct_per_event"] or 0
    table.add_row("  events with a key", f"{figures.events:,}")
    table.add_row("  without", f"{figures.missing:,} lack a part")
    table.add_row("", f"{figures.not_applicable:,} the match expression leaves out")
    table.add_row("  keys", f"{figures.distinct:,}, {keys_an_event:.2f} an event")
    for part in counts["parts"]:
        fill = "-" if part.fill_rate is None else f"{part.fill_rate:.0%}"
        table.add_row(f"  filled {fill}", Text(part.expression))
    for other in counts["beside"]:
        reverse = f"the reverse {other.reverse_median}, {other.reverse_p99}"
        table.add_row(
            f"  {other.definition} a key", f"median {other.median}, 99 % {other.p99}; {reverse}"
        )
    for group in counts["largest"][:_SHOWN_KEYS]:
        table.add_row(f"  {group.events:,} events", Text(", ".join(map(str, group.key))))
    table.add_row("  memory", f"{counts['memory_bytes']:,} bytes")
    console.print(table)
