"""``tidegate try``: the answers that packs would have given to a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidegate.cli.decide import decide_all
from tidegate.cli.inputs.events import Source, events_argument, strictness_option
from tidegate.cli.inputs.geo import engine_of, geo_option
from tidegate.cli.output import console, counted, evaluator_option, json_option, print_json
from tidegate.cli.packs.options import from_option, packs_of
from tidegate.cli.run import max_refusals_option
from tidegate.cli.subjects import Subjects
from tidegate.cli.summary import passed_over_text, visible
from tidegate.definitions import load_definitions
from tidegate.functions.addresses import parse_range
from tidegate.packs import BUNDLED, whole_document

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidegate.cli.summary import Summary
    from tidegate.evaluation.envelope import Strictness
    from tidegate.evaluation.rules import Evaluator
    from tidegate.policy.definitions.model import Definitions

BUSIEST = 10
"""Addresses and paths of each policy."""
SHOWN = 30
"""Characters of a path."""


def _networks(
    _context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]
) -> tuple[str, ...]:
    for each in texts:
        if parse_range(each) is None:
            raise click.BadParameter(f"`{each}` isn't an address or a network")
    return texts


@click.command("try")
@events_argument
@click.option(
    "--pack",
    "names",
    multiple=True,
    metavar="NAME",
    help="Try this pack; may be given several times. Without it, all packs are tried.",
)
@from_option
@click.option(
    "--trusted-proxy",
    "proxies",
    multiple=True,
    metavar="NETWORK",
    callback=_networks,
    help="An address or network of your own proxies; may be given several times.",
)
@max_refusals_option
@strictness_option
@geo_option
@evaluator_option
@json_option
def try_(
    events: Source,
    names: tuple[str, ...],
    folders: tuple[str, ...],
    proxies: tuple[str, ...],
    max_refusals: int,
    strictness: Strictness,
    databases: tuple[Path, ...],
    evaluator: Evaluator,
    as_json: bool,
) -> None:
    """Show the answers that packs would have given to a log; no document is needed.

    EVENTS are access logs or events; - is standard input, and packed files are unpacked.
    """
    packs = packs_of(names or (() if folders else BUNDLED), folders)
    definitions = load_definitions(whole_document(packs, proxies))
    engine = engine_of(databases, definitions, evaluator=evaluator, events=strictness)
    subjects = Subjects(proxies, evaluator)
    run, summary = decide_all(engine, events, subjects, max_refusals=max_refusals, busiest=BUSIEST)
    if as_json:
        print_json({"packs": {each.name: each.version for each in packs}} | summary.to_dict())
    else:
        _print(summary, definitions, len(packs))
    run.exit(1 if summary.refused else 0)


def _print(summary: Summary, definitions: Definitions, packs: int) -> None:
    found = summary.to_dict()
    decided, outcomes = summary.decided, found["outcomes"]
    span = f", {summary.notes.span[0]} to {summary.notes.span[1]}" if summary.notes.span else ""
    console.print(f"{counted(packs, 'pack')} over {counted(decided, 'event')}{span}")
    if summary.notes.passed_over:
        console.print(passed_over_text(summary.notes.passed_over))
    for code, number in summary.refused.items():
        console.print(f"{number:,} refused: {code}", style="red")
    console.print(
        f"would have challenged {_share(outcomes['challenge'], decided)},"
        f" blocked {_share(outcomes['block'], decided)}"
    )
    for each in found["policies"]:
        counts = [f"{each['total']:,} fired"]
        counts += [f"{each[name]:,} {name}" for name in ("challenge", "block") if each[name]]
        console.print(f"\n{each['policy']}: {', '.join(counts)}", style="bold")
        console.print("  " + _line(each["addresses"], visible), markup=False)
        console.print("  " + _line(each["paths"], _short), markup=False)
    console.print()
    quiet = {each.slug for each in definitions.policies}
    quiet -= {each["policy"] for each in (*found["policies"], *found["could_not_fire"])}
    for policy in sorted(quiet):
        console.print(f"{policy} did not fire")
    for each in found["could_not_fire"]:
        console.print(f"{each['policy']} could not fire: {each['because']}", markup=False)


def _share(number: int, of: int) -> str:
    return f"{number:,} ({number / of:.2%})" if of else "0"


def _line(busiest: list[dict[str, Any]], shown: Callable[[str], str]) -> str:
    return ", ".join(f"{shown(each['value'])} ({each['events']:,})" for each in busiest)


def _short(value: str) -> str:
    """A value without its middle: the end of a path says more than the rest."""
    if len(value) <= SHOWN:
        return visible(value)
    return visible(f"{value[: SHOWN // 3]}…{value[-SHOWN // 2 :]}").replace("\\u2026", "…")
