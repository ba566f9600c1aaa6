"""``tidegate eval``: one expression over events."""

from __future__ import annotations

import sys
from typing import Any

import click

from tidegate.cli.inputs.events import events_argument, read_events
from tidegate.cli.output import console, evaluator_option, json_option, print_json, to_json
from tidegate.errors import EvaluationError, EventError
from tidegate.evaluation.rules import Evaluator
from tidegate.program import Program, compile


@click.command("eval")
@click.argument("expression")
@events_argument
@evaluator_option
@json_option
def evaluate(expression: str, events: str, evaluator: Evaluator, as_json: bool) -> None:
    """Evaluate EXPRESSION over each line of EVENTS and print the values."""
    program = compile(expression, evaluator=evaluator)
    failed = False
    for line in read_events(events):
        result = _outcome(program, line.text)
        failed = failed or "error" in result
        if as_json:
            print_json({"line": line.number, **result})
        elif "error" in result:
            console.print(f"error: {result['error']}: {result['message']}", markup=False)
        else:
            console.print(to_json(result["value"]), markup=False)
    sys.exit(1 if failed else 0)


def _outcome(program: Program, event: bytes) -> dict[str, Any]:
    try:
        return {"value": program.evaluate(event)}
    except EvaluationError as error:
        return {"error": error.code, "message": error.message}
    except EventError as error:
        return {"error": error.code, "message": str(error)}
