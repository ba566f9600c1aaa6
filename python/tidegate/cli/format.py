"""``tidegate fmt``: an expression in its canonical layout."""

from __future__ import annotations

import sys
from typing import TextIO

import click

from tidegate.cli.output import json_option, print_json
from tidegate.language.printer import format as format_text


@click.command("fmt")
@click.argument("file", type=click.File("r", encoding="utf-8"), required=False)
@click.option("-e", "--expression", help="The expression itself instead of a file.")
@click.option(
    "--check", "only_check", is_flag=True, help="Print nothing; exit 1 when it would change."
)
@json_option
def format_(file: TextIO | None, expression: str | None, only_check: bool, as_json: bool) -> None:
    """Format the expression in FILE (- is standard input) and print it."""
    if (file is None) == (expression is None):
        raise click.UsageError("give a file or --expression, one of them")
    text = expression if expression is not None else file.read() if file is not None else ""
    formatted = format_text(text)
    changed = formatted != text.rstrip("\n")
    if as_json:
        print_json({"formatted": formatted, "changed": changed})
    elif not only_check:
        click.echo(formatted)
    sys.exit(1 if only_check and changed else 0)
