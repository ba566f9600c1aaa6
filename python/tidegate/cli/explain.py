"""``tidegate explain``: the reasons for a decision."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tidegate.cli.decide import need_one_input
from tidegate.cli.documents import definitions_argument, read_definitions
from tidegate.cli.inputs.events import Line, Source, events_argument, read_events, strictness_option
from tidegate.cli.inputs.geo import engine_of, geo_option
from tidegate.cli.output import console, errors, evaluator_option, json_option, print_json
from tidegate.engine import Engine
from tidegate.errors import EventError
from tidegate.evaluation.envelope import Strictness
from tidegate.evaluation.rules import Evaluator


@click.command()
@definitions_argument
@events_argument
@click.option(
    "--line", type=click.IntRange(min=1), help="Explain this line; the last one when left out."
)
@strictness_option
@geo_option
@evaluator_option
@json_option
def explain(
    definitions: str,
    events: Source,
    line: int | None,
    strictness: Strictness,
    databases: tuple[Path, ...],
    evaluator: Evaluator,
    as_json: bool,
) -> None:
    """Decide EVENTS up to a line, then explain that line: every condition,
    every node's value, every window, and why nothing fired where nothing did."""
    need_one_input(definitions, events)
    if line is not None and events.others:
        raise click.UsageError("--line is of one file")
    engine = engine_of(
        databases, read_definitions(definitions), evaluator=evaluator, events=strictness
    )
    waiting: Line | None = None
    for event in read_events(events):
        if waiting is not None:
            _decide(engine, waiting)
        waiting = event
        if event.number == line:
            break
    if waiting is None or (line is not None and waiting.number != line):
        raise click.UsageError(f"the events have no line {line}" if line else "there are no events")
    try:
        if waiting.error is not None:
            raise waiting.error
        explanation = engine.explain(waiting.text)
    except EventError as error:
        _report(waiting, error)
        sys.exit(1)
    if as_json:
        print_json(explanation.to_dict())
    else:
        console.print(str(explanation), markup=False)
    sys.exit(0)


def _decide(engine: Engine, line: Line) -> None:
    try:
        if line.error is not None:
            raise line.error
        engine.decide(line.text)
    except EventError as error:
        _report(line, error)


def _report(line: Line, error: EventError) -> None:
    errors.print(f"{line.place}: error[{error.code}]: {error}", style="red", markup=False)
