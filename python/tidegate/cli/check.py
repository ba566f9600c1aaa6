"""``tidegate check``: an expression, or definitions documents."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Any

import click

from tidegate.cli.documents import read_definitions
from tidegate.cli.findings.codes import codes
from tidegate.cli.findings.report import (
    STANDARD_INPUT,
    FindingsError,
    Reported,
    format_option,
    github_of,
    json_of,
    of_document,
    of_expression,
    print_text,
    refused_expression,
    sarif_of,
)
from tidegate.cli.output import console, errors, json_option, print_json
from tidegate.errors import ExpressionError
from tidegate.language.check.checker import check as check_expression
from tidegate.language.tree.schema import Schema


@click.command()
@click.argument(
    "definitions", required=False, type=click.Path(exists=True, dir_okay=False, allow_dash=True)
)
@click.option("-e", "--expression", help="An expression to check against the field model.")
@format_option
@json_option
def check(definitions: str | None, expression: str | None, form: str, as_json: bool) -> None:
    """Check a DEFINITIONS document (- is standard input), or an expression, and print every
    finding with its place."""
    if (definitions is None) == (expression is None):
        raise click.UsageError("give a definitions file or --expression, one of them")
    form = "json" if as_json else form
    try:
        if expression is not None:
            facts, reported = _expression(expression)
        else:
            assert definitions is not None
            facts, reported = _document(definitions)
    except FindingsError as error:
        _print(form, error.reported, None)
        sys.exit(1)
    _print(form, reported, facts)


def _expression(text: str) -> tuple[dict[str, Any], list[Reported]]:
    try:
        checked = check_expression(text, Schema.default())
    except ExpressionError as error:
        raise refused_expression(text, error) from None
    facts = {
        "type": str(checked.type),
        "fields": sorted(checked.references.fields),
        "cost_estimate": checked.cost_estimate.total,
        "work_estimate": checked.cost_estimate.work,
    }
    return facts, of_expression(text, checked.warnings)


def _document(name: str) -> tuple[dict[str, Any], list[Reported]]:
    definitions = read_definitions(name)
    facts = {
        kind: len(getattr(definitions, kind))
        for kind in ("actions", "entities", "mitigations", "policies", "lists")
    }
    compilation = definitions.compilation
    found = () if compilation is None else compilation.findings
    return facts, of_document(STANDARD_INPUT if name == "-" else name, found)


def _print(form: str, reported: list[Reported] | tuple[Reported, ...], facts: Any) -> None:
    """Print findings, and the facts about a valid text."""
    match form:
        case "json":
            shown = [json_of(each) for each in reported]
            good = facts is not None
            print_json(
                {"ok": True, **facts, "warnings": shown} if good else {"ok": False, "errors": shown}
            )
        case "github":
            for each in reported:
                click.echo(github_of(each))
        case "sarif":
            meanings = {code: known.meaning for code, known in codes().items()}
            click.echo(sarif_of(reported, version("tidegate"), meanings))
        case _:
            print_text(errors, reported)
            if facts is not None:
                console.print(_verdict(facts), markup=False)


def _verdict(facts: dict[str, Any]) -> str:
    if "type" in facts:
        return f"ok: {facts['type']}, at most {facts['cost_estimate']} units"
    return "ok: " + ", ".join(f"{number} {kind}" for kind, number in facts.items())
