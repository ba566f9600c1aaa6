"""``tidegate fmt``: expressions in their canonical layout, alone or in documents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import attrs
import click

from tidegate.cli.documents import read_bytes
from tidegate.cli.findings.report import (
    FindingsError,
    Reported,
    file_name,
    print_text,
    refused_document,
)
from tidegate.cli.inputs.documents import STANDARD_INPUT, documents_argument, is_document
from tidegate.cli.output import errors, json_option, print_json
from tidegate.errors import DefinitionsError
from tidegate.language.printer import format as format_text
from tidegate.policy.document import format_document

_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


@attrs.frozen
class _Done:
    name: str
    before: str
    after: str
    skipped: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return self.before != self.after


@click.command("fmt")
@documents_argument
@click.option("-e", "--expression", help="The expression itself instead of files.")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit 1 if it would.")
@click.option("-w", "--write", is_flag=True, help="Write the files instead of printing them.")
@json_option
def format_(
    files: tuple[str, ...],
    expression: str | None,
    only_check: bool,
    write: bool,
    as_json: bool,
) -> None:
    """Format the expressions in FILES: definitions documents, or an expression each.

    In a document only expressions change; comments, order and quotes stay. FILES may be folders and
    patterns; - is standard input.
    """
    if (not files) == (expression is None):
        raise click.UsageError("give files or --expression, one of them")
    if write and (only_check or expression is not None or STANDARD_INPUT in files):
        raise click.UsageError("--write is about files, and not for use with --check")
    if len(files) > 1 and not (write or only_check or as_json):
        raise click.UsageError("several files are only formatted with --write or --check")
    done: list[_Done] = []
    refused: list[Reported] = []
    for name in files:
        try:
            done.append(_formatted(name))
        except FindingsError as error:
            refused += error.reported
    if expression is not None:
        done.append(_Done("", expression, format_text(expression)))
    for each in done if write else ():
        if each.changed:
            Path(each.name).write_bytes(each.after.encode())
    print_text(errors, refused)
    for each in done:
        _report(each, only_check=only_check, write=write, as_json=as_json)
    if as_json:
        shown = [_to_json(each) for each in done]
        print_json(shown[0] if len(shown) == 1 and not refused else {"files": shown})
    sys.exit(1 if refused or (only_check and any(each.changed for each in done)) else 0)


def _formatted(name: str) -> _Done:
    data = read_bytes(name)
    if not is_document(data):
        text = _decoded(name, data).rstrip("\n")
        return _Done(name, text, format_text(text))
    try:
        made = format_document(data)
    except DefinitionsError as error:
        raise refused_document(file_name(name), error) from None
    text = _decoded(name, data)
    mark = _MARK if text.startswith(_MARK) else ""
    return _Done(name, text, mark + made.text, made.skipped)


def _decoded(name: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise click.UsageError(f"`{file_name(name)}` is not UTF-8") from None


def _report(done: _Done, *, only_check: bool, write: bool, as_json: bool) -> None:
    for pointer in done.skipped:
        message = "left as it is: with comments it needs a block of lines, such as `|-`"
        errors.print(f"{file_name(done.name)}: note: {message}, at `{pointer}`", markup=False)
    if done.changed and done.name and (only_check or write):
        word = "formatted" if write else "would be formatted"
        errors.print(f"{file_name(done.name)}: {word}", markup=False)
    elif not (only_check or write or as_json):
        click.echo(done.after, nl=not done.after.endswith("\n"))


def _to_json(done: _Done) -> dict[str, Any]:
    shown: dict[str, Any] = {"formatted": done.after, "changed": done.changed}
    if done.skipped:
        shown["skipped"] = list(done.skipped)
    return ({"file": done.name} if done.name else {}) | shown
