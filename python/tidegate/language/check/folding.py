"""Constants that the checker folds: header names, and maps of literals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from tidegate.language.tree import ast, checked
from tidegate.types import Type
from tidegate.values import Map

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Found: TypeAlias = tuple[checked.Checked, Type]
"""A checked node and its type."""


def literal(
    kind: Type, value: Callable[[Any], object] | None = None
) -> Callable[[object, Any], Found]:
    """The check for a literal of a type.

    Args:
        kind: the type.
        value: converts the literal's value to a value of the language; None if they are the same.
    """

    def check_literal(_checker: object, node: Any) -> Found:
        found = node.value if value is None else value(node.value)
        return checked.Literal(found, span=node.span), kind

    return check_literal


def folded_header(operand: checked.Checked, name: str) -> str:
    """A literal header name in lower case, as header names arrive."""
    if type(operand) is checked.Field and operand.name == "request.headers":
        lower = name.lower() if name.isascii() else name
        return name if lower == name else lower
    return name


def folded_key(operand: checked.Checked, key: checked.Checked) -> checked.Checked:
    """A literal header name as a key, in lower case."""
    if type(key) is not checked.Literal or type(key.value) is not str:
        return key
    folded = folded_header(operand, key.value)
    return key if folded is key.value else checked.Literal(folded, span=key.span)


def constants_of(roots: Sequence[checked.Checked]) -> list[Any] | None:
    """The values of nodes if all are literals."""
    values = [root.value for root in roots if type(root) is checked.Literal]
    return values if len(values) == len(roots) else None


def folded_map(
    node: ast.MapLiteral, keys: Sequence[checked.Checked], values: Sequence[checked.Checked]
) -> Map | None:
    """A constant map, or None if a key is invalid or repeated: an error when evaluated."""
    constant_keys, constants = constants_of(keys), constants_of(values)
    if constant_keys is None or constants is None:
        return None
    if any(entry.optional for entry in node.entries):
        return None
    try:
        return Map(zip(constant_keys, constants, strict=True))
    except (TypeError, ValueError):
        return None
