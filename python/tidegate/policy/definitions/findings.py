"""Findings about a definitions document: collected all at once, shown with their position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from tidegate.errors import DefinitionsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tidegate.language.tree.ast import Span

MAX_FINDINGS = 200
"""With this many findings a stage of the reading stops. More tell an author nothing new, and
finding the nearest name to each of a million wrong ones would take hours."""


@attrs.frozen
class SecondPlace:
    """Another place that a finding is about, such as the first of two duplicates.

    Attributes:
        message: a description of that place.
        pointer: JSON pointer of the member.
        line: one-based line, if the document was text.
        column: one-based column in code points.
        offset: its offset in the document, in code points; looked up by the pointer if unknown.
    """

    message: str
    pointer: str
    line: int | None = None
    column: int | None = None
    offset: int | None = None


@attrs.frozen
class Finding:
    """One problem in a definition.

    Attributes:
        code: stable, kebab-case.
        message: lower case, no final stop, user text in backticks.
        pointer: JSON pointer of the member in the document.
        line: one-based line, if the document was text.
        column: one-based column in code points.
        severity: an error rejects the document, a warning does not.
        hint: how to fix it.
        excerpt: the line with carets under the finding.
        span: for a finding inside an expression, its place in the expression's text.
        offset: the finding's offset in the document, in code points.
        second: other related places.
    """

    code: str
    message: str
    pointer: str
    line: int | None = None
    column: int | None = None
    severity: Literal["error", "warning"] = "error"
    hint: str | None = None
    excerpt: str | None = None
    span: Span | None = None
    offset: int | None = None
    second: tuple[SecondPlace, ...] = ()


def pointer_to(parent: str, name: str | int) -> str:
    """The JSON pointer of a member or item (RFC 6901)."""
    return f"{parent}/{str(name).replace('~', '~0').replace('/', '~1')}"


def refuse(findings: Iterable[Finding]) -> DefinitionsError:
    """The exception that carries the errors among the findings."""
    errors = [each for each in findings if each.severity == "error"]
    return DefinitionsError(errors, render(errors))


def render(findings: Sequence[Finding]) -> str:
    """Findings as text, one after another."""
    shown = [_render_one(each) for each in findings[:MAX_FINDINGS]]
    shown += [more] if (more := more_than_shown(len(findings))) else []
    return "\n".join(shown)


def more_than_shown(findings: int) -> str:
    """The line below the findings if more were found than shown, or may exist; else empty."""
    if findings > MAX_FINDINGS:
        return f"and {findings - MAX_FINDINGS} more"
    return "and perhaps more: the reading ended here" if findings == MAX_FINDINGS else ""


def _render_one(finding: Finding) -> str:
    place = f"{finding.line}:{finding.column}: " if finding.line is not None else ""
    where = f" at `{finding.pointer}`" if finding.pointer else ""
    lines = [f"{place}{finding.severity}: {finding.message}{where} [{finding.code}]"]
    if finding.excerpt:
        lines += [f"  {line}" for line in finding.excerpt.split("\n")]
    if finding.hint:
        lines.append(f"  hint: {finding.hint}")
    for each in finding.second:
        place = f"{each.line}:{each.column}: " if each.line is not None else ""
        lines.append(f"  {place}{each.message} at `{each.pointer}`")
    return "\n".join(lines)
