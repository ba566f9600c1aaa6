"""The names that an expression reads, for indexes, reports and the order of evaluation."""

from __future__ import annotations

import attrs

from tidegate.language.tree.checked import (
    Call,
    Checked,
    Field,
    Has,
    HasField,
    Index,
    Literal,
    Select,
    list_name,
)
from tidegate.language.tree.walk import walk

_HEADERS = "request.headers"


@attrs.frozen
class References:
    """The names that an expression reads.

    Attributes:
        fields: declared fields and variables, by full name.
        headers: literal header names, lower case.
        lists: named lists.
        functions: functions and operators, by name.
        actions: slugs of actions, read as ``actions.SLUG``.
    """

    fields: frozenset[str] = frozenset()
    headers: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    actions: frozenset[str] = frozenset()


def references_of(root: Checked) -> References:
    """The names that a checked tree reads."""
    fields: set[str] = set()
    headers: set[str] = set()
    lists: set[str] = set()
    functions: set[str] = set()
    for node in walk(root):
        match node:
            case Field(name=name) | HasField(name=name):
                fields.add(name)
            case (
                Select(operand=Field(name="request.headers"), field=name)
                | Has(operand=Field(name="request.headers"), field=name)
                | Index(operand=Field(name="request.headers"), index=Literal(value=str(name)))
            ):
                headers.add(name)
            case Call(function=function, arguments=arguments):
                functions.add(function)
                if (named := list_name(node)) is not None:
                    lists.add(named)
                match function, arguments:
                    case "in", (Literal(value=str(name)), Field(name="request.headers")):
                        headers.add(name)
    actions = frozenset(
        name.removeprefix("actions.") for name in fields if name.startswith("actions.")
    )
    return References(
        frozenset(fields), frozenset(headers), frozenset(lists), frozenset(functions), actions
    )
