"""Checks a text against a schema: the entry point of the language.

``check`` parses, walks the tree (``tree_checker``), estimates the cost and looks for probable
mistakes; it reports everything that is wrong at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import attrs
import orjson

from tidegate.language.check.estimate import CostEstimate, estimate
from tidegate.language.check.lint import warnings_of
from tidegate.language.check.references import References, references_of
from tidegate.language.check.tree_checker import TreeChecker
from tidegate.language.parse.parser import parse
from tidegate.language.printer import to_text
from tidegate.language.tree.diagnostics import Diagnostic, in_order
from tidegate.language.tree.form import envelope
from tidegate.language.tree.refusal import refuse
from tidegate.language.tree.schema import Schema
from tidegate.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from tidegate.language.tree import ast, checked
    from tidegate.types import Type

__all__ = ["CheckedExpression", "References", "check"]


@attrs.frozen
class CheckedExpression:
    """An expression that may be saved and evaluated.

    Attributes:
        text: the author's text.
        tree: its syntax tree.
        root: the checked tree, which both evaluators run.
        type: the type of the result.
        references: the names that the expression reads.
        cost_estimate: the worst case of one evaluation, and its most expensive part.
        warnings: findings that do not reject it.
    """

    text: str
    tree: ast.Node
    root: checked.Checked
    type: Type
    references: References
    cost_estimate: CostEstimate
    warnings: tuple[Diagnostic, ...] = ()

    @cached_property
    def canonical(self) -> bytes:
        """The canonical form as JSON; cached, because a set is serialised again when one part
        changes."""
        return orjson.dumps(envelope(self.text, self.type, self.root))


def check(
    text: str | ast.Node,
    schema: Schema | None = None,
    *,
    expect: Type | Iterable[Type] | None = None,
    strict: bool = True,
    limits: Limits = DEFAULT,
) -> CheckedExpression:
    """Parse and check an expression.

    Args:
        text: the expression, or its syntax tree.
        schema: the names it may use; ``Schema.default()`` if left out.
        expect: the type, or types, its result may have; anything by default.
        strict: if false, names are resolved and macros recognised, but types and constants are left
            to the evaluation, as in unchecked CEL.
        limits: limits on the expression and its cost.

    Raises:
        ExpressionError: the text does not parse or does not check.
    """
    schema = schema if schema is not None else Schema.default()
    if not isinstance(text, str):
        text = to_text(text)
    tree = parse(text, limits)
    checker = TreeChecker(text, schema, strict, limits)
    root, kind = checker.run(tree, _expected(expect))
    if checker.findings:
        raise refuse(text, checker.findings)
    cost = estimate(root, schema, limits)
    if strict and cost.total > limits.cost:
        raise refuse(text, [cost.refusal(limits.cost)])
    warnings = tuple(in_order(warnings_of(root))) if strict else ()
    return CheckedExpression(text, tree, root, kind, references_of(root), cost, warnings)


def _expected(expect: Type | Iterable[Type] | None) -> tuple[Type, ...]:
    if expect is None:
        return ()
    return tuple(expect) if isinstance(expect, Iterable) else (expect,)
