"""Why a call is rejected, and what the author probably meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.functions.lists import ORDERED
from tidegate.language.check.macros import USAGE
from tidegate.language.tree import checked
from tidegate.language.tree.diagnostics import Diagnostic, nearest
from tidegate.types import DYN, PRIMITIVES, MapType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tidegate.language.check.declarations import Declaration, Key
    from tidegate.language.check.macros import ComprehensionShape
    from tidegate.language.tree.ast import Call, Span
    from tidegate.types import Type

_OPERATORS = frozenset(("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "!"))
_SHOWN_OVERLOADS = 3
_FOREIGN_FUNCTIONS = {
    "len": "write `size(...)`",
    "length": "write `size(...)`",
    "count": "write `size(...)`",
    "toLower": "write `value.lower()`",
    "lowercase": "write `value.lower()`",
    "toUpper": "write `value.upper()`",
    "uppercase": "write `value.upper()`",
    "now": "`observed_at` is the time of the event, and the only clock",
    "regex": 'write `value.matches("pattern")`',
    "match": 'write `value.matches("pattern")`',
}
"""Functions with this name in other languages."""


def no_overload(
    declaration: Declaration, given: Sequence[Type], span: Span, roots: Sequence[checked.Checked]
) -> Diagnostic:
    """A call to a known function with arguments that it does not accept."""
    name, listed = declaration.name, ", ".join(map(str, given))
    hint: str | None
    if name in _OPERATORS:
        message = f"`{name}` does not take ({listed})"
        mend = "convert one side, for example with `int()`, `double()` or `string()`"
        hint = mend if len(given) > 1 else None
        if name == "-" and _is_header(roots[0]):
            hint = 'a name with a dash goes in brackets: `request.headers["user-agent"]`'
    else:
        message = f"no overload of `{name}` takes ({listed})"
        shown = [f"`{each}`" for each in declaration.signatures[:_SHOWN_OVERLOADS]]
        more = ", ..." if len(declaration.signatures) > _SHOWN_OVERLOADS else ""
        hint = f"it is {', '.join(shown)}{more}"
    return Diagnostic("no-matching-overload", message, span, hint=hint)


def _is_header(node: checked.Checked) -> bool:
    """Whether a node is an entry of the headers, by ``.name``."""
    match node:
        case checked.Select(operand=checked.Field(name="request.headers")):
            return True
    return False


def unknown_function(
    node: Call, qualified: str, functions: Mapping[Key, Declaration]
) -> Diagnostic:
    """A call to an unknown function; ``qualified`` is its name with its namespace, if any."""
    hint = _meant(node, qualified, functions)
    message = f"unknown function `{node.function}`"
    return Diagnostic("unknown-function", message, node.function_span, hint=hint)


def misused_macro(node: Call, qualified: str) -> str | None:
    """The form of the macro with this name, if it is one."""
    return USAGE.get(qualified) or (None if node.target is None else USAGE.get(node.function))


def _meant(node: Call, qualified: str, functions: Mapping[Key, Declaration]) -> str | None:
    usage = misused_macro(node, qualified) or _FOREIGN_FUNCTIONS.get(node.function)
    if usage is not None:
        return usage
    is_member = node.target is not None
    if (node.function, not is_member) in functions:
        return f"write `{node.function}(...)`" if is_member else (
            f"write `value.{node.function}(...)`"
        )  # fmt: skip
    known = [name for name, member in functions if member == is_member or "." in name]
    close = nearest(node.function, known) or nearest(qualified, known)
    return f"did you mean `{close}`?" if close else None


_SORTED = frozenset(PRIMITIVES[kind] for kind in ORDERED) | {DYN}


def unsortable(shape: ComprehensionShape, over: Type, key: Type) -> Iterator[Diagnostic]:
    """A ``sortBy`` over a map, or by keys without an order."""
    if isinstance(over, MapType):
        hint = "sort its keys: `map.map(k, k).sort()`"
        message = f"`{over}` can't be sorted, only a list"
        yield Diagnostic("wrong-type", message, shape.range.span, hint=hint)
    if key not in _SORTED:
        yield Diagnostic("wrong-type", f"`{key}` has no order to sort by", shape.body.span)
