"""The cost of a call, following section "Cost" of docs/canonical-tree.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.language.tree import checked
from tidegate.values import Map, utf8_length

if TYPE_CHECKING:
    from tidegate.values import Charge

_FREE = frozenset(
    {"dyn", "type", "optional.of", "optional.none", "optional.ofNonZeroValue", "hasValue", "value"}
    | {"or", "orValue", "optional.unwrap", "unwrapOpt", "first", "last"}
)
_BY_COMPARISON = frozenset({"==", "!=", "in"})
_BY_AFFIX = frozenset({"startsWith", "endsWith"})


def of_arguments(node: checked.Call, arguments: list[Any]) -> int:
    """The charge before the function runs (rules 4, 6 and 8)."""
    literal = [isinstance(argument, checked.Literal) for argument in node.arguments]
    if node.function == "in":
        return int(isinstance(arguments[1], Map) or literal[1])
    if node.function in _FREE | _BY_COMPARISON | {"+"}:
        return 0
    if node.function in _BY_AFFIX:
        return size_in_bytes(arguments[1]) // 16
    if node.function == "size":
        return size_in_bytes(arguments[0]) // 16 if isinstance(arguments[0], str) else 0
    elements = sum(
        len(argument)
        for argument, is_literal in zip(arguments, literal, strict=True)
        if isinstance(argument, (list, Map)) and not is_literal
    )
    return sum(map(size_in_bytes, arguments)) // 16 + elements


def of_comparisons(node: checked.Call, charge: Charge) -> Charge:
    """The charge function for comparisons (rules 3, 4 and 9).

    Membership in a literal list costs one unit whatever its length, which is already charged.
    """
    if node.function == "in" and isinstance(node.arguments[1], checked.Literal):
        return _free
    return charge


def of_result(node: checked.Call, result: Any) -> int:
    """The charge after the function has run (rules 5 and 8)."""
    if node.function in _FREE:
        return 0
    return len(result) if isinstance(result, (list, Map)) else size_in_bytes(result) // 16


def size_in_bytes(value: Any) -> int:
    """The bytes of a string, in UTF-8, or of bytes; 0 for anything else."""
    if isinstance(value, str):
        return utf8_length(value)
    return len(value) if isinstance(value, bytes) else 0


def _free(_units: int) -> None:
    """Charge nothing."""
