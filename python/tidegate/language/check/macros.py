"""Recognises macros.

A call is a macro if its name, its number of arguments and the positions of declared variables all
fit; otherwise it is an ordinary call, and most likely an unknown function, whose finding then says
how to write the macro.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

import attrs

from tidegate.language.tree.ast import Call, Identifier, IntLiteral, ListLiteral, Node, Select

if TYPE_CHECKING:
    from collections.abc import Mapping


@attrs.frozen
class ComprehensionShape:
    """A comprehension as written; ``macro`` is the name in the checked tree."""

    macro: str
    variables: tuple[Identifier, ...]
    range: Node
    condition: Node | None
    body: Node


@attrs.frozen
class BindShape:
    variable: Identifier
    value: Node
    body: Node


@attrs.frozen
class BlockShape:
    values: tuple[Node, ...]
    body: Node


@attrs.frozen
class BlockIndexShape:
    number: int


@attrs.frozen
class OptionalMapShape:
    operand: Node
    variable: Identifier
    body: Node
    flat: bool


@attrs.frozen
class HasShape:
    select: Select


Shape = ComprehensionShape | BindShape | BlockShape | BlockIndexShape | OptionalMapShape | HasShape

MAX_SLOTS = 32
"""The most values of ``cel.block``; each is a level of the checked tree."""

# Macro and number of arguments, to how many of them declare a variable and whether a condition
# precedes the body.
_COMPREHENSIONS: Mapping[tuple[str, int], tuple[str, int, bool]] = {
    ("all", 2): ("all", 1, False),
    ("all", 3): ("all", 2, False),
    ("exists", 2): ("exists", 1, False),
    ("exists", 3): ("exists", 2, False),
    ("exists_one", 2): ("exists_one", 1, False),
    ("exists_one", 3): ("exists_one", 2, False),
    ("existsOne", 2): ("exists_one", 1, False),
    ("existsOne", 3): ("exists_one", 2, False),
    ("map", 2): ("map", 1, False),
    ("map", 3): ("map", 1, True),
    ("filter", 2): ("filter", 1, False),
    ("sortBy", 2): ("sortBy", 1, False),
    ("transformList", 3): ("transformList", 2, False),
    ("transformList", 4): ("transformList", 2, True),
    ("transformMap", 3): ("transformMap", 2, False),
    ("transformMap", 4): ("transformMap", 2, True),
    ("transformMapEntry", 3): ("transformMapEntry", 2, False),
    ("transformMapEntry", 4): ("transformMapEntry", 2, True),
}
_NAMES = frozenset(
    {name for name, _ in _COMPREHENSIONS}
    | {"has", "bind", "block", "index"}
    | {"optMap", "optFlatMap"}
)

USAGE: Mapping[str, str] = {
    "has": "write `has(a.b)`: the argument is a field of something",
    "all": "write `list.all(x, condition)`",
    "exists": "write `list.exists(x, condition)`",
    "exists_one": "write `list.exists_one(x, condition)`",
    "existsOne": "write `list.existsOne(i, x, condition)`",
    "map": "write `list.map(x, value)`",
    "filter": "write `list.filter(x, condition)`",
    "sortBy": "write `list.sortBy(x, key)`",
    "transformList": "write `list.transformList(i, x, value)`",
    "transformMap": "write `map.transformMap(k, v, value)`",
    "transformMapEntry": "write `map.transformMapEntry(k, v, {key: value})`",
    "cel.bind": "write `cel.bind(x, value, body)`",
    "cel.block": f"write `cel.block([first, second], body)`, with {MAX_SLOTS} values at most, and"
    " not in another block",
    "cel.index": "write `cel.index(0)` in `cel.block`, behind the value that it names",
    "optMap": "write `optional.optMap(x, value)`",
    "optFlatMap": "write `optional.optFlatMap(x, optional)`",
}
"""The form of a macro, by its name."""


def recognise(call: Call) -> Shape | None:
    """The macro that a call is, if it is one."""
    if call.function not in _NAMES:
        return None
    if call.target is None:
        return _has(call)
    if call.function == "bind":
        return _bind(call)
    if call.function in ("block", "index"):
        return _block(call)
    if call.function in ("optMap", "optFlatMap"):
        return _optional_map(call)
    return _comprehension(call)


def _has(call: Call) -> HasShape | None:
    if call.function != "has" or call.absolute or len(call.arguments) != 1:
        return None
    argument = call.arguments[0]
    if not isinstance(argument, Select) or argument.optional:
        return None
    return HasShape(argument)


def _bind(call: Call) -> BindShape | None:
    if call.target != Identifier("cel") or len(call.arguments) != 3:
        return None
    variable, value, body = call.arguments
    return BindShape(variable, value, body) if _is_variable(variable) else None


def _block(call: Call) -> BlockShape | BlockIndexShape | None:
    if call.target != Identifier("cel"):
        return None
    match call.function, call.arguments:
        case "block", (ListLiteral(elements), body) if len(elements) <= MAX_SLOTS:
            if not any(each.optional for each in elements):
                return BlockShape(tuple(each.value for each in elements), body)
        case "index", (IntLiteral(number),):
            return BlockIndexShape(number)
    return None


def _optional_map(call: Call) -> OptionalMapShape | None:
    if call.target is None or len(call.arguments) != 2:
        return None
    variable, body = call.arguments
    if not _is_variable(variable):
        return None
    return OptionalMapShape(call.target, variable, body, call.function == "optFlatMap")


def _comprehension(call: Call) -> ComprehensionShape | None:
    known = _COMPREHENSIONS.get((call.function, len(call.arguments)))
    if known is None or call.target is None:
        return None
    macro, count, conditional = known
    variables = tuple(each for each in call.arguments[:count] if _is_variable(each))
    if len(variables) != count:
        return None
    condition = call.arguments[count] if conditional else None
    return ComprehensionShape(macro, variables, call.target, condition, call.arguments[-1])


def _is_variable(node: Node) -> TypeGuard[Identifier]:
    return isinstance(node, Identifier) and not node.absolute
