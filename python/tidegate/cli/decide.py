"""``tidegate decide``: definitions over events."""

from __future__ import annotations

import sys
import time

import click

from tidegate.cli.documents import definitions_argument, read_definitions
from tidegate.cli.inputs.events import events_argument, read_events
from tidegate.cli.output import console, errors, evaluator_option, json_option, print_json
from tidegate.cli.summary import Summary
from tidegate.engine import Engine
from tidegate.errors import EventError
from tidegate.evaluation.rules import Evaluator
from tidegate.policy.decision import Decision


@click.command()
@definitions_argument
@events_argument
@click.option(
    "--summary", "summarise", is_flag=True, help="Print a table instead of each decision."
)
@evaluator_option
@json_option
def decide(
    definitions: str, events: str, summarise: bool, evaluator: Evaluator, as_json: bool
) -> None:
    """Decide each line of EVENTS (JSON lines, gzip or plain; - is standard input)."""
    engine = Engine(read_definitions(definitions), evaluator=evaluator)
    summary = decide_all(
        engine, events, each=None if summarise else _print_json if as_json else _print_line
    )
    if summarise:
        print_json(summary.to_dict()) if as_json else summary.print(console)
    sys.exit(1 if summary.refused else 0)


def decide_all(engine: Engine, events: str, each: object = None) -> Summary:
    """Decide every event of a file in order; refused ones are told and counted."""
    summary = Summary()
    started = time.perf_counter()
    for line in read_events(events, progress=each is None):
        try:
            decision = engine.decide(line.text)
        except EventError as error:
            summary.refuse(error.code)
            errors.print(f"line {line.number}: {error}", style="red", markup=False)
            continue
        summary.add(decision)
        if callable(each):
            each(line.number, decision)
    summary.seconds = time.perf_counter() - started
    return summary


def _print_json(number: int, decision: Decision) -> None:
    print_json({"line": number, **decision.to_record()})


def _print_line(number: int, decision: Decision) -> None:
    place = f"{decision.policy} / {decision.clause}" if decision.policy else "-"
    console.print(
        f"{number:>7}  {decision.action.type:<9}  {decision.reason:<17}  {place}", markup=False
    )
