"""The type of each part of an expression, for editors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.language.check.tree_checker import TreeChecker
from tidegate.language.parse.parser import parse
from tidegate.limits import DEFAULT

if TYPE_CHECKING:
    from tidegate.language.check.folding import Found
    from tidegate.language.tree import ast
    from tidegate.language.tree.schema import Schema
    from tidegate.limits import Limits
    from tidegate.types import Type


def node_types(
    text: str, schema: Schema, limits: Limits = DEFAULT
) -> tuple[tuple[ast.Span, Type], ...]:
    """The type of each part of an expression, in source order; outer parts first.

    Args:
        text: the expression; a part of it that does not check has the type ``dyn``.
        schema: the names it may use.
        limits: limits on it.

    Raises:
        ExpressionError: the text does not parse.
    """
    checker = _Noting(text, schema, True, limits)
    checker.run(parse(text, limits), ())
    return tuple(checker.types())


class _Noting(TreeChecker):
    """The checker's walk with a record of each node."""

    def __init__(self, text: str, schema: Schema, strict: bool, limits: Limits) -> None:
        super().__init__(text, schema, strict, limits)
        self._noted: list[tuple[ast.Span, Type]] = []

    def _check(self, node: ast.Node) -> Found:
        found = super()._check(node)
        self._noted.append((node.span, found[1]))
        return found

    def types(self) -> list[tuple[ast.Span, Type]]:
        noted = [(span, self._inference.settle(kind)) for span, kind in self._noted]
        return sorted(noted, key=lambda each: (each[0].start, -each[0].end))
