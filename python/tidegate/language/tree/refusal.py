"""The exception that carries findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.errors import ExpressionError
from tidegate.language.tree.diagnostics import in_order, render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.language.tree.diagnostics import Diagnostic


def refuse(text: str, diagnostics: Sequence[Diagnostic]) -> ExpressionError:
    """The exception that carries these findings about a text."""
    return ExpressionError(in_order(diagnostics), render(text, diagnostics))
