"""Findings about an expression, and how to show them: line, column, excerpt, caret."""

from __future__ import annotations

import re
from bisect import bisect_right
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.language.tree.ast import Span

# An excerpt of an overlong line shows this much around the finding.
_LINE_ENDS = re.compile("\n")
_EXCERPT_WIDTH = 96


@attrs.frozen
class Diagnostic:
    """One finding.

    Attributes:
        code: stable, kebab-case.
        message: lower case, no final stop, user text in backticks.
        span: the offending text.
        severity: an error rejects the expression, a warning does not.
        hint: how to fix it.
    """

    code: str
    message: str
    span: Span
    severity: Literal["error", "warning"] = "error"
    hint: str | None = None


@attrs.frozen
class Position:
    """One-based line and column, in code points."""

    line: int
    column: int


class Source:
    """A text that can locate spans in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(each.end() for each in _LINE_ENDS.finditer(text))]

    def position(self, offset: int) -> Position:
        """Line and column of an offset; an offset past the end counts as the end."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)

    def excerpt(self, span: Span) -> str:
        """The line a span starts in, and carets under the span's part of it."""
        place = self.position(span.start)
        ends = [*self._starts[place.line : place.line + 1], len(self.text) + 1]
        line = self.text[self._starts[place.line - 1] : ends[0] - 1].rstrip("\r")
        start = place.column - 1
        width = max(1, min(span.end - span.start, len(line) - start))
        cut = max(0, start - _EXCERPT_WIDTH // 3)
        shown = line[cut : cut + _EXCERPT_WIDTH]
        lead = "…" if cut else ""
        tail = "…" if cut + _EXCERPT_WIDTH < len(line) else ""
        carets = "^" * max(1, min(width, len(shown) - (start - cut)))
        return f"{lead}{_plain(shown)}{tail}\n{' ' * (start - cut + len(lead))}{carets}"


def _plain(text: str) -> str:
    """``text`` with each control character shown as a space or replacement."""
    text = text.replace("\t", " ")
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def quote(text: str, limit: int = 60) -> str:
    """User text for a message: in backticks, on one line, truncated."""
    shown = text if len(text) <= limit else text[: limit - 1] + "…"
    return f"`{_plain(shown)}`"


def render(text: str, diagnostics: Iterable[Diagnostic]) -> str:
    """All findings with their positions, excerpts and hints, in the order of the text."""
    source = Source(text)
    return "\n".join(_render_one(source, finding) for finding in in_order(diagnostics))


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Findings by position; those at the same position keep their order."""
    return sorted(diagnostics, key=lambda finding: (finding.span.start, finding.span.end))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most likely meant by ``name``."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.7)
    return close[0] if close else None


def _render_one(source: Source, finding: Diagnostic) -> str:
    place = source.position(finding.span.start)
    head = f"{place.line}:{place.column}: {finding.severity}: {finding.message} [{finding.code}]"
    lines = [head, *("  " + line for line in source.excerpt(finding.span).split("\n"))]
    if finding.hint:
        lines.append(f"  hint: {finding.hint}")
    return "\n".join(lines)
