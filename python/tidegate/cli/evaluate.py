"""``tidegate eval``: one expression over events."""

from __future__ import annotations

import time
from typing import Any

import click

from tidegate.cli.failure import failure_of
from tidegate.cli.findings.report import refused_expression
from tidegate.cli.inputs.events import Line, Source, events_argument, strictness_option
from tidegate.cli.output import console, errors, evaluator_option, json_option, print_json
from tidegate.cli.run import Run, max_refusals_option
from tidegate.errors import EvaluationError, ExpressionError
from tidegate.evaluation.envelope import Strictness
from tidegate.evaluation.rules import Evaluator
from tidegate.program import Program, compile


@click.command("eval")
@click.argument("expression")
@events_argument
@click.option(
    "--summary", "summarise", is_flag=True, help="Print how many there were, and how fast."
)
@max_refusals_option
@strictness_option
@evaluator_option
@json_option
def evaluate(
    expression: str,
    events: Source,
    summarise: bool,
    max_refusals: int,
    strictness: Strictness,
    evaluator: Evaluator,
    as_json: bool,
) -> None:
    """Evaluate EXPRESSION over each line of EVENTS and print the values."""
    program = _compiled(expression, evaluator)
    refused = 0
    failed = 0
    count = 0

    def refuse(*_: object) -> None:
        nonlocal refused
        refused += 1

    run = Run(
        lambda line: _outcome(program, line.text, strictness), max_refusals, refuse, in_order=False
    )
    started = time.perf_counter()
    for line, outcome in run.over(events, progress=summarise):
        count += 1
        failed += "error" in outcome
        if not summarise:
            _print(line, outcome, as_json)
    if summarise or run.is_interrupted:
        _summarise(count, failed, refused, run.seconds, time.perf_counter() - started, as_json)
    run.exit(1 if failed or refused else 0)


def _compiled(expression: str, evaluator: Evaluator) -> Program:
    try:
        return compile(expression, evaluator=evaluator)
    except ExpressionError as error:
        raise refused_expression(expression, error) from None


def _outcome(program: Program, event: bytes, strictness: Strictness) -> dict[str, Any]:
    try:
        return {"value": program.evaluate(program.prepare(event, events=strictness))}
    except EvaluationError as error:
        return {"error": error.code, "message": failure_of(program.text, event, error)}


def _print(line: Line, outcome: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json({**line.to_dict(), **outcome})
    elif "error" in outcome:
        errors.print(
            f"{line.place}: error[{outcome['error']}]: {outcome['message']}",
            style="red",
            markup=False,
        )
    else:
        print_json(outcome["value"])


def _summarise(
    count: int, failed: int, refused: int, engine: float, total: float, as_json: bool
) -> None:
    rate = count / engine if engine else 0.0
    if as_json:
        print_json(
            {
                "events": count,
                "errors": failed,
                "refused": refused,
                "seconds": round(total, 3),
                "engine_seconds": round(engine, 3),
                "events_per_second": round(rate),
            }
        )
        return
    console.print(
        f"{count:,} events, {failed:,} errors, {refused:,} lines refused; {rate:,.0f} events/s,"
        f" {engine:.2f} s evaluated of {total:.2f} s",
        markup=False,
    )
