"""``tidegate decide``: definitions over events."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import attrs
import click
import orjson

from tidegate.cli.documents import definitions_argument, read_definitions
from tidegate.cli.inputs.events import Line, Source, events_argument, strictness_option
from tidegate.cli.inputs.geo import engine_of, geo_option
from tidegate.cli.output import (
    console,
    errors,
    evaluator_option,
    json_option,
    print_json,
    print_text,
)
from tidegate.cli.run import Run, max_refusals_option
from tidegate.cli.subjects import Subjects
from tidegate.cli.summary import OUTCOMES, Summary
from tidegate.engine import Engine, left_out
from tidegate.evaluation.envelope import Strictness
from tidegate.evaluation.rules import Evaluator
from tidegate.policy.decision import EngineDecision


@click.command()
@definitions_argument
@events_argument
@click.option(
    "--summary", "summarise", is_flag=True, help="Print a table instead of each decision."
)
@click.option(
    "--only",
    type=click.Choice(OUTCOMES),
    multiple=True,
    help="Print only decisions of this outcome; may be given several times.",
)
@max_refusals_option
@strictness_option
@geo_option
@evaluator_option
@json_option
def decide(
    definitions: str,
    events: Source,
    summarise: bool,
    only: tuple[str, ...],
    max_refusals: int,
    strictness: Strictness,
    databases: tuple[Path, ...],
    evaluator: Evaluator,
    as_json: bool,
) -> None:
    """Decide each line of EVENTS by DEFINITIONS; - is standard input; packed files are unpacked."""
    need_one_input(definitions, events)
    if summarise and only:
        raise click.UsageError("--only is about single decisions, which --summary doesn't print")
    read = read_definitions(definitions)
    engine = engine_of(databases, read, evaluator=evaluator, events=strictness)
    subjects = Subjects(read.settings.trusted_proxies, evaluator)
    write = _print_json if as_json else _print_line

    def each(line: Line, decision: EngineDecision) -> None:
        if not only or decision.action.type in only:
            write(line, decision, subjects)

    run, summary = decide_all(engine, events, subjects, None if summarise else each, max_refusals)
    if summarise:
        print_json(summary.to_dict()) if as_json else summary.print(console)
    elif run.is_interrupted:
        console.print(f"stopped after {summary.decided:,} decisions", markup=False)
    run.exit(1 if summary.refused else 0)


def need_one_input(definitions: str, events: Source) -> None:
    """Reject standard input for both the document and the events.

    Raises:
        click.UsageError: both would be read from it.
    """
    if definitions == "-" and events.is_standard_input:
        raise click.UsageError("definitions and events cannot both be standard input")


def decide_all(
    engine: Engine,
    events: Source,
    subjects: Subjects,
    each: Callable[[Line, EngineDecision], None] | None = None,
    max_refusals: int = 0,
    busiest: int = 5,
) -> tuple[Run[EngineDecision], Summary]:
    """Decide every event of a source in order; rejected ones are reported and counted.

    Args:
        engine: decides.
        events: the events.
        subjects: reads their requests.
        each: called with each decision; without it, a bar shows the progress.
        max_refusals: stop after this many refused lines in a row; 0 for never.
        busiest: how many of the busiest addresses and paths of a policy are shown.
    """
    trusts_proxies = bool(engine.definitions.settings.trusted_proxies)
    # Only the table shows what is counted by reading each event once more.
    is_table = each is None
    counted = left_out(engine) if is_table else None
    summary = Summary(left_out=counted, trusts_proxies=trusts_proxies, shown=busiest)
    run = Run(
        lambda line: engine.decide(line.text),
        max_refusals,
        lambda _, error: summary.refuse(error.code),
    )
    summary.notes = run.notes
    started = time.perf_counter()
    for line, decision in run.over(events, progress=each is None):
        record = decision.record
        subject = subjects.of(line.text) if is_table and record["fired"] else None
        summary.add(line, record, subject)
        if each is not None:
            each(line, decision)
    summary.seconds = time.perf_counter() - started
    summary.engine_seconds = run.seconds
    for warning in summary.warnings():
        errors.print(f"warning: {warning}", style="yellow", markup=False)
    return run, summary


def _print_json(line: Line, decision: EngineDecision, subjects: Subjects) -> None:
    # The members of the place, of the record and of the request, in one object.
    parts = [orjson.dumps(line.to_dict()), decision.to_json()]
    if decision.action.type != "allow":
        request = attrs.asdict(subjects.of(line.text), recurse=False)
        parts.append(orjson.dumps({"request": request}))
    print_text(b"{%b}" % b",".join(each[1:-1] for each in parts))


def _print_line(line: Line, decision: EngineDecision, subjects: Subjects) -> None:
    place = f"{decision.policy} / {decision.clause}" if decision.policy else "-"
    number = f"{line.number:>7}" if line.file is None else f"{line.file}:{line.number}"
    text = f"{number}  {decision.action.type:<9}  {decision.reason:<17}  {place}"
    if decision.action.type != "allow":
        text += f"  {subjects.of(line.text)}"
    click.echo(text)
