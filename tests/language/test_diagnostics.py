"""Positions, excerpts and the rendering of findings."""

from __future__ import annotations

import pytest

from tidegate.language.tree.ast import Span
from tidegate.language.tree.diagnostics import Diagnostic, Position, Source, nearest, quote, render


@pytest.mark.parametrize(
    ("offset", "line", "column"), [(0, 1, 1), (2, 1, 3), (3, 2, 1), (6, 3, 1), (99, 3, 3)]
)
def test_offsets_become_lines_and_columns(offset: int, line: int, column: int) -> None:
    """Positions count from one, in code points, and stay within the text."""
    assert Source("ab\ncé\nef").position(offset) == Position(line, column)


def test_excerpts_underline_the_span() -> None:
    """Carets stand under the span, on the line where it starts."""
    assert Source("a &&\nbcd && e").excerpt(Span(5, 8)) == "bcd && e\n^^^"
    assert Source("ab").excerpt(Span(2, 2)) == "ab\n  ^"


def test_excerpts_of_long_lines_are_cut() -> None:
    """An overlong line shows what surrounds the finding."""
    text = "x" * 500 + "HERE" + "y" * 500
    line, carets = Source(text).excerpt(Span(500, 504)).split("\n")
    assert len(line) < 120
    assert line[carets.index("^") : carets.index("^") + 4] == "HERE"


def test_what_does_not_show_is_replaced() -> None:
    """Control characters of user text reach no terminal."""
    assert "\x1b" not in Source("a \x1b[31m b").excerpt(Span(0, 1))
    assert quote("a\x1b\n" + "x" * 100).isprintable()


def test_findings_are_rendered_in_the_order_of_the_text() -> None:
    """Findings come by position, whatever order they were made in."""
    late = Diagnostic("late", "second", Span(3, 4))
    early = Diagnostic("early", "first", Span(0, 1), "warning", "mend it")
    assert render("a  b", [late, early]).split("\n") == [
        "1:1: warning: first [early]", "  a  b", "  ^", "  hint: mend it",
        "1:4: error: second [late]", "  a  b", "     ^",
    ]  # fmt: skip


def test_nearest_names_only_what_is_near() -> None:
    """A slip finds its name, nonsense finds nothing."""
    known = ["request.path", "request.headers"]
    assert nearest("request.pth", known) == "request.path"
    assert nearest("zzz", known) is None
