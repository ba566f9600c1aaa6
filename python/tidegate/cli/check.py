"""``tidegate check``: an expression, or a definitions document."""

from __future__ import annotations

import sys

import click

from tidegate.cli.output import console, finding_json, json_option, print_json, report_failure
from tidegate.definitions import load_definitions
from tidegate.errors import DefinitionsError, ExpressionError
from tidegate.language.checker import check as check_expression
from tidegate.language.schema import Schema
from tidegate.policy.findings import render


@click.command()
@click.argument("definitions", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option("-e", "--expression", help="An expression to check against the field model.")
@json_option
def check(definitions: str | None, expression: str | None, as_json: bool) -> None:
    """Check a DEFINITIONS document, or an expression, and print every finding."""
    if (definitions is None) == (expression is None):
        raise click.UsageError("give a definitions file or --expression, one of them")
    if expression is not None:
        _check_expression(expression, as_json)
    elif definitions is not None:
        _check_definitions(definitions, as_json)


def _check_expression(text: str, as_json: bool) -> None:
    try:
        checked = check_expression(text, Schema.default())
    except ExpressionError as error:
        _refuse(error, as_json)
        return
    if as_json:
        print_json(
            {
                "ok": True,
                "type": str(checked.type),
                "fields": sorted(checked.references.fields),
                "cost_estimate": checked.cost_estimate.total,
                "work_estimate": checked.cost_estimate.work,
                "warnings": [finding_json(warning) for warning in checked.warnings],
            }
        )
        return
    console.print(f"ok: {checked.type}, at most {checked.cost_estimate.total} units", markup=False)
    for warning in checked.warnings:
        console.print(f"warning: {warning.message}", markup=False)


def _check_definitions(name: str, as_json: bool) -> None:
    try:
        definitions = load_definitions(name)
    except DefinitionsError as error:
        _refuse(error, as_json)
        return
    counts = {
        kind: len(getattr(definitions, kind))
        for kind in ("actions", "entities", "mitigations", "policies", "lists")
    }
    warnings = [] if definitions.compilation is None else definitions.compilation.findings
    if as_json:
        print_json({"ok": True, **counts, "warnings": [finding_json(each) for each in warnings]})
        return
    console.print("ok: " + ", ".join(f"{number} {kind}" for kind, number in counts.items()))
    if warnings:
        console.print(render(warnings), markup=False)


def _refuse(error: ExpressionError | DefinitionsError, as_json: bool) -> None:
    if as_json:
        print_json({"ok": False, "errors": [finding_json(one) for one in error.diagnostics]})
    else:
        report_failure(error)
    sys.exit(1)
