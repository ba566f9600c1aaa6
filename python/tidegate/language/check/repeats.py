"""Warnings about conditions that a visitor can evade by sending a parameter or cookie twice.

Several values of one name form one text, joined by ``", "``: it equals none of them, and a back end
may use any of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.language.tree.checked import Call, Checked, Field, Index, Literal, Select
from tidegate.language.tree.diagnostics import Diagnostic, quote
from tidegate.language.tree.walk import children, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

_REPEATED = {
    "request.query_params": "derived.repeated_params",
    "request.cookies": "derived.repeated_cookies",
}
_ARGUMENTS = "request.arguments"
_EQUALITIES = frozenset(("==", "in", "inList"))
_CHANGES = frozenset(
    ("lower", "upper", "lowerAscii", "upperAscii", "trim", "urlDecode", "formDecode")
)


def evadable(root: Checked) -> Iterator[Diagnostic]:
    """``request.query_params["role"] == "admin"``, which `?role=user&role=admin` evades.

    An expression that checks for repeats is skipped, and so is a comparison under ``!``, which a
    repeat makes true.
    """
    read = {node.name for node in walk(root) if type(node) is Field}
    watched = {
        section
        for section, repeated in _REPEATED.items()
        if repeated in read or (section == "request.query_params" and _ARGUMENTS in read)
    }
    stack = [(root, True)]
    while stack:
        node, is_wanted = stack.pop()
        if type(node) is Call and is_wanted and node.function in _EQUALITIES:
            yield from _compared(node, watched)
        is_not = type(node) is Call and node.function == "!"
        stack += [(each, is_wanted != is_not) for each in reversed(children(node))]


def _compared(node: Call, watched: set[str]) -> Iterator[Diagnostic]:
    left, right = node.arguments
    if node.function == "==" and type(left) is Literal:
        left, right = right, left
    entry = _entry(left)
    if entry is None or entry[0] in watched or type(right) is not Literal:
        return
    section, name = entry
    values = right.value if isinstance(right.value, list) else [right.value]
    if not any(isinstance(value, str) and value for value in values):
        return  # a value that is absent or empty can be omitted as well
    shown = f"`{section}` {quote(name)}" if name is not None else f"a name in `{section}`"
    repeated = f'"{name}" in {_REPEATED[section]}' if name else f"{_REPEATED[section]}.size() > 0"
    hint = f"add `|| {repeated}`"
    if section == "request.query_params":
        hint += (
            ", or test each value: `request.arguments.exists(a, a.name == ... && a.value == ...)`"
        )
    yield Diagnostic(
        "evadable-by-repeat",
        f"several values of {shown} are joined, so a visitor who sends it twice evades this",
        node.span,
        "warning",
        hint,
    )


def _entry(node: Checked) -> tuple[str, str | None] | None:
    """The section and name of an entry that a visitor fills in; a name may be computed."""
    while type(node) is Call and node.function in _CHANGES and node.arguments:
        node = node.arguments[0]
    match node:
        case Select(operand=Field(name=section), field=name) if section in _REPEATED:
            return section, name
        case Index(operand=Field(name=section), index=Literal(value=str(name))):
            return (section, name) if section in _REPEATED else None
        case Index(operand=Field(name=section)) if section in _REPEATED:
            return section, None
        case _:
            return None
