"""``tidegate check``: an expression, or definitions documents."""

from __future__ import annotations

from typing import Any

import click

from tidegate.cli.documents import facts_of, read_compiled
from tidegate.cli.findings.examined import (
    examine,
    report,
    warnings_as_errors_option,
)
from tidegate.cli.findings.report import (
    EXPRESSION,
    Reported,
    file_name,
    format_option,
    of_document,
    of_expression,
    refused_expression,
)
from tidegate.cli.inputs.documents import documents_argument
from tidegate.cli.output import json_option
from tidegate.errors import ExpressionError
from tidegate.language.check.checker import check as check_expression
from tidegate.language.tree.schema import Schema


@click.command()
@documents_argument
@click.option("-e", "--expression", help="An expression to check against the field model.")
@warnings_as_errors_option
@format_option
@json_option
def check(
    files: tuple[str, ...],
    expression: str | None,
    warnings_as_errors: bool,
    report_form: str,
    as_json: bool,
) -> None:
    """Check definitions documents, or an expression, and print every finding with its place.

    FILES are documents, folders with documents, and patterns; - is standard input.
    """
    if (not files) == (expression is None):
        raise click.UsageError("give definitions files or --expression, one of them")
    names = files if expression is None else (EXPRESSION,)
    read = _document if expression is None else lambda _: _expression(expression)
    examined = examine(names, read, warnings_as_errors=warnings_as_errors)
    report("json" if as_json else report_form, examined, is_one=len(names) == 1)


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
    compilation = read_compiled(name)
    return facts_of(compilation), of_document(file_name(name), compilation.findings)
