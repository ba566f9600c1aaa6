"""Findings with their file, and the formats in which commands print them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import click
from rich.console import Console
from rich.text import Text

from tidegate.cli.output import to_json
from tidegate.errors import DefinitionsError, ExpressionError, TidegateError
from tidegate.language.tree.diagnostics import Diagnostic, Source
from tidegate.policy.definitions.findings import MAX_FINDINGS, Finding, more_than_shown

EXPRESSION = "<expression>"
"""The file name for an expression given on its own."""
STANDARD_INPUT = "<stdin>"
_COLOURS = {"error": "bold red", "warning": "bold yellow"}

format_option = click.option(
    "--format",
    "report_form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
    help="github: annotations of a workflow; sarif: for code scanning.",
)


@attrs.frozen
class Reported:
    """One finding and its location.

    Attributes:
        file: as given to the command.
        line: one-based; 0 for a finding about something that isn't a text.
        column: one-based, in code points.
        finding: the finding.
    """

    file: str
    line: int
    column: int
    finding: Finding | Diagnostic
    excerpt: str | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class FindingsError(TidegateError):
    """A command's input text was rejected; ``reported`` has every finding."""

    code = "findings"

    def __init__(self, reported: Sequence[Reported]) -> None:
        super().__init__("\n".join(str(text_of(each)) for each in reported))
        self.reported = tuple(reported)


def file_name(name: str) -> str:
    """The name of a document in findings."""
    return STANDARD_INPUT if name == "-" else name


def of_expression(text: str, found: Iterable[Diagnostic]) -> list[Reported]:
    """Findings about an expression given on its own."""
    source = Source(text)
    reported = []
    for each in found:
        place = source.position(each.span.start)
        excerpt = source.excerpt(each.span)
        reported.append(Reported(EXPRESSION, place.line, place.column, each, excerpt))
    return reported


def of_document(file: str, found: Iterable[Finding]) -> list[Reported]:
    """Findings about a document."""
    return [Reported(file, each.line or 1, each.column or 1, each, each.excerpt) for each in found]


def refused_expression(text: str, error: ExpressionError) -> FindingsError:
    """The rejection of an expression given on its own."""
    return FindingsError(of_expression(text, error.diagnostics))


def refused_document(file: str, error: DefinitionsError) -> FindingsError:
    """The rejection of a document."""
    return FindingsError(of_document(file, error.diagnostics))  # type: ignore[arg-type]


def print_text(out: Console, reported: Sequence[Reported]) -> None:
    """Findings as text, coloured by severity if ``out`` is a terminal."""
    for each in reported[:MAX_FINDINGS]:
        out.print(text_of(each))
    if more := more_than_shown(len(reported)):
        out.print(more, markup=False)


def text_of(reported: Reported) -> Text:
    """``file:line:column: error[code]: message``, the line itself, hints, and related locations."""
    finding = reported.finding
    colour = _COLOURS[finding.severity]
    text = Text.assemble(
        f"{reported}: ", (f"{finding.severity}[{finding.code}]", colour), f": {finding.message}"
    )
    pointer = getattr(finding, "pointer", "")
    if pointer:
        text.append(f" at `{pointer}`")
    *lines, carets = (reported.excerpt or "").split("\n")
    for line in lines:
        text.append(f"\n  {line}")
    text.append(f"\n  {carets}" if carets else "", colour)
    if finding.hint:
        text.append(f"\n  hint: {finding.hint}")
    for second in getattr(finding, "second", ()):
        place = f"{reported.file}:{second.line or 1}:{second.column or 1}"
        text.append(f"\n  {place}: {second.message}")
    return text


def json_of(reported: Reported) -> dict[str, Any]:
    """A finding as a JSON object."""
    place = {"file": reported.file, "line": reported.line, "column": reported.column}
    return attrs.asdict(reported.finding) | place


def github_of(reported: Reported) -> str:
    """A finding as a GitHub workflow command that creates an annotation."""
    finding = reported.finding
    place = {"line": reported.line, "col": reported.column} if reported.line else {}
    members = {"file": reported.file, **place, "title": finding.code}
    shown = ",".join(f"{name}={_escaped(str(value), ',:')}" for name, value in members.items())
    hint = f"\nhint: {finding.hint}" if finding.hint else ""
    return f"::{finding.severity} {shown}::{_escaped(finding.message + hint, '')}"


def _escaped(text: str, others: str) -> str:
    for character in ("%", "\r", "\n", *others):
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def sarif_of(reported: Sequence[Reported], version: str, meanings: dict[str, str]) -> str:
    """Findings as one SARIF 2.1.0 document.

    Args:
        reported: the findings.
        version: version of Tidegate.
        meanings: the meaning of each code.
    """
    codes = dict.fromkeys(each.finding.code for each in reported)
    rules = [{"id": code, "shortDescription": {"text": meanings.get(code, code)}} for code in codes]
    driver = {"name": "tidegate", "version": version, "rules": rules}
    document = {
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_result(each) for each in reported],
            }
        ],
    }
    return to_json(document)


def _result(reported: Reported) -> dict[str, Any]:
    finding = reported.finding
    hint = f" ({finding.hint})" if finding.hint else ""
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": finding.severity,
        "message": {"text": finding.message + hint},
        "locations": [_location(reported.file, reported.line, reported.column)],
    }
    second = [
        _location(reported.file, each.line or 1, each.column or 1)
        | {"message": {"text": each.message}}
        for each in getattr(finding, "second", ())
    ]
    return result | ({"relatedLocations": second} if second else {})


def _location(file: str, line: int, column: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": file}}
    if line:
        place["region"] = {"startLine": line, "startColumn": column}
    return {"physicalLocation": place}
