"""``tidegate decide``: definitions over events."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

from tidegate.cli.documents import definitions_argument, read_definitions
from tidegate.cli.inputs.events import Source, events_argument, strictness_option
from tidegate.cli.output import console, evaluator_option, json_option, print_json
from tidegate.cli.run import Run, max_refusals_option
from tidegate.cli.summary import Summary
from tidegate.engine import Engine
from tidegate.evaluation.envelope import Strictness
from tidegate.evaluation.rules import Evaluator
from tidegate.policy.decision import EngineDecision


@click.command()
@definitions_argument
@events_argument
@click.option(
    "--summary", "summarise", is_flag=True, help="Print a table instead of each decision."
)
@max_refusals_option
@strictness_option
@evaluator_option
@json_option
def decide(
    definitions: str,
    events: Source,
    summarise: bool,
    max_refusals: int,
    strictness: Strictness,
    evaluator: Evaluator,
    as_json: bool,
) -> None:
    """Decide each line of EVENTS by DEFINITIONS; - is standard input, gzip is unpacked."""
    need_one_input(definitions, events)
    engine = Engine(read_definitions(definitions), evaluator=evaluator, events=strictness)
    each = None if summarise else _print_json if as_json else _print_line
    run, summary = decide_all(engine, events, each, max_refusals)
    if summarise:
        print_json(summary.to_dict()) if as_json else summary.print(console)
    elif run.is_interrupted:
        console.print(f"stopped after {summary.decided:,} decisions", markup=False)
    run.exit(1 if summary.refused else 0)


def need_one_input(definitions: str, events: Source) -> None:
    """Refuse standard input for both the document and the events.

    Raises:
        click.UsageError: both are to be read from it.
    """
    if definitions == "-" and events.is_standard_input:
        raise click.UsageError("definitions and events cannot both be standard input")


def decide_all(
    engine: Engine,
    events: Source,
    each: Callable[[int, EngineDecision], None] | None = None,
    max_refusals: int = 0,
) -> tuple[Run[EngineDecision], Summary]:
    """Decide every event of a source in order; refused ones are reported and counted."""
    summary = Summary()
    run = Run(engine.decide, max_refusals, lambda _, error: summary.refuse(error.code))
    started = time.perf_counter()
    for line, decision in run.over(events, progress=each is None):
        summary.add(decision)
        if each is not None:
            each(line.number, decision)
    summary.seconds = time.perf_counter() - started
    summary.engine_seconds = run.seconds
    return run, summary


def _print_json(number: int, decision: EngineDecision) -> None:
    print_json({"line": number, **decision.to_record()})


def _print_line(number: int, decision: EngineDecision) -> None:
    place = f"{decision.policy} / {decision.clause}" if decision.policy else "-"
    console.print(
        f"{number:>7}  {decision.action.type:<9}  {decision.reason:<17}  {place}", markup=False
    )
