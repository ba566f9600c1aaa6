"""``tidegate bench``: how fast definitions decide, and where the work goes."""

from __future__ import annotations

import sys
from statistics import median
from typing import TYPE_CHECKING

import attrs
import click

from tidegate.cli.decide import need_one_input
from tidegate.cli.documents import read_definitions
from tidegate.cli.inputs.events import Source, events_argument, strictness_option
from tidegate.cli.output import console, counted, errors, json_option, print_json
from tidegate.cli.policies.measuring import Figures, Measured, read_arrivals

if TYPE_CHECKING:
    from tidegate.evaluation.envelope import Strictness

MOST_SHOWN = 10
"""Most expressions whose cost is printed; JSON has all."""


@click.command()
@click.argument("definitions", type=click.Path(exists=True, dir_okay=False))
@events_argument
@click.option(
    "--against",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Measure this document too, in turn with the other.",
)
@click.option(
    "--rate",
    type=click.IntRange(min=1),
    default=2_000,
    show_default=True,
    help="The requests a second of the verdict.",
)
@click.option(
    "--rounds", type=click.IntRange(1, 100), default=5, show_default=True, help="How often."
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20_000,
    show_default=True,
    help="Read no more events than this.",
)
@click.option(
    "--count",
    "count",
    type=click.IntRange(min=0),
    default=500,
    show_default=True,
    help="Count units of work for so many events.",
)
@strictness_option
@json_option
def bench(
    definitions: str,
    events: Source,
    against: str | None,
    rate: int,
    rounds: int,
    limit: int,
    count: int,
    strictness: Strictness,
    as_json: bool,
) -> None:
    """Measure how fast DEFINITIONS decide on EVENTS, and which expressions take the most work."""
    need_one_input(definitions, events)
    arrivals, refused = read_arrivals(events, limit)
    names = [definitions] if against is None else [definitions, against]
    measured = [Measured(read_definitions(each), arrivals, strictness) for each in names]
    ratios = []
    for _ in range(rounds):
        rates = [each.run() for each in measured]
        ratios.append(rates[-1] / max(rates[0], 1e-9))
    not_decided = len(arrivals) - min(each.decided for each in measured) + refused.total()
    if not_decided:
        message = f"error: events refused: {not_decided:,}"
        errors.print(message, style="red", markup=False)
    if not any(each.decided for each in measured):
        raise click.UsageError("there are no events to decide on")
    found = [each.figures(count) for each in measured]
    if as_json:
        print_json(
            {
                "events": len(arrivals),
                "refused": not_decided,
                "rate": rate,
                "documents": [
                    {
                        "file": name,
                        **attrs.asdict(each),
                        "core_share": rate / each.events_per_second,
                    }
                    for name, each in zip(names, found, strict=True)
                ],
                "ratios": ratios[: len(ratios) if against else 0],
            }
        )
    else:
        for name, each in zip(names, found, strict=True):
            _print(name, each, measured[0].decided, rate)
        if against is not None:
            console.print(
                f"\n{against} decides {median(ratios):.2f} times as many events a second as"
                f" {definitions} (rounds: {min(ratios):.2f} to {max(ratios):.2f})",
                markup=False,
            )
    sys.exit(1 if not_decided else 0)


def _print(name: str, figures: Figures, events: int, rate: int) -> None:
    lines = [
        f"\n{name}: {counted(events, 'event')}, {counted(len(figures.rounds), 'round')}",
        f"  {figures.events_per_second:,.0f} events/s"
        f" (rounds: {min(figures.rounds):,.0f} to {max(figures.rounds):,.0f}),"
        f" p50 {figures.p50_us:.1f} µs, p99 {figures.p99_us:.1f} µs",
        f"  state: {figures.keys:,} of {figures.max_keys:,} keys,"
        f" {figures.state_bytes / 1e6:,.2f} MB as a snapshot",
    ]
    if figures.counted:
        work = f"{figures.units:,} units for {counted(figures.counted, 'event')}"
        lines.append(f"  work: {work}, without an index")
        lines += [_cost(each.place, each.units, figures) for each in figures.costs[:MOST_SHOWN]]
        if len(figures.costs) > MOST_SHOWN:
            lines.append(f"    … {len(figures.costs) - MOST_SHOWN} more")
    lines += [f"  no index helps {place}: {why}" for place, why in figures.not_indexed.items()]
    share = 100 * rate / figures.events_per_second
    lines.append(
        f"  at {rate:,} requests/s this needs {share:.1f} % of a core,"
        f" and {figures.state_bytes / 1e6:,.2f} MB for the state of these events"
    )
    console.print("\n".join(lines), markup=False)


def _cost(place: str, units: int, figures: Figures) -> str:
    share = 100 * units / figures.units if figures.units else 0
    return f"    {share:5.1f} %  {place}: {units:,}"
