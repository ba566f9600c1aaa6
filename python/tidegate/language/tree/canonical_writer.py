"""The checked tree as the NODE of docs/canonical-tree.md, and its envelope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.language.tree import checked
from tidegate.wire_values import to_wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidegate.types import Type

Json = dict[str, Any]

VERSION = 1
"""Changes when a reader of the old form could misread the new one."""


def envelope(text: str, kind: Type, root: checked.Checked) -> Json:
    """A checked expression: version, text, type and tree."""
    return {"version": VERSION, "text": text, "type": str(kind), "root": node_to_json(root)}


def node_to_json(node: checked.Checked) -> Json:
    """One node and all beneath it; the checker has bounded the depth."""
    kind, write = _WRITERS[type(node)]
    found: Json = {"kind": kind, "span": [node.span.start, node.span.end]}
    write(node, found)
    return found


def _each(nodes: tuple[checked.Checked, ...]) -> list[Json]:
    return [node_to_json(node) for node in nodes]


def _write_literal(node: checked.Literal, found: Json) -> None:
    found["value"] = to_wire(node.value)


def _write_name(node: checked.Field | checked.HasField | checked.Local, found: Json) -> None:
    found["name"] = node.name


def _write_select(node: checked.Select, found: Json) -> None:
    found["operand"] = node_to_json(node.operand)
    found["field"] = node.field
    if node.optional:
        found["optional"] = True


def _write_has(node: checked.Has, found: Json) -> None:
    found["operand"] = node_to_json(node.operand)
    found["field"] = node.field


def _write_index(node: checked.Index, found: Json) -> None:
    found["operand"] = node_to_json(node.operand)
    found["index"] = node_to_json(node.index)
    if node.optional:
        found["optional"] = True


def _write_call(node: checked.Call, found: Json) -> None:
    found["function"] = node.function
    if node.member:
        found["member"] = True
    found["args"] = _each(node.arguments)
    if node.regexes:
        found["regexes"] = list(node.regexes)


def _write_chain(node: checked.And | checked.Or, found: Json) -> None:
    found["args"] = _each(node.operands)


def _write_conditional(node: checked.Conditional, found: Json) -> None:
    found["args"] = _each((node.condition, node.then, node.otherwise))


def _write_list(node: checked.List, found: Json) -> None:
    found["elements"] = [
        {"value": node_to_json(element.value), **_flag("optional", element.optional)}
        for element in node.elements
    ]


def _write_map(node: checked.Map, found: Json) -> None:
    found["entries"] = [
        {
            "key": node_to_json(entry.key),
            "value": node_to_json(entry.value),
            **_flag("optional", entry.optional),
        }
        for entry in node.entries
    ]


def _write_comprehension(node: checked.Comprehension, found: Json) -> None:
    found["macro"] = node.macro
    found["variables"] = list(node.variables)
    found["range"] = node_to_json(node.range)
    if node.condition is not None:
        found["condition"] = node_to_json(node.condition)
    found["body"] = node_to_json(node.body)


def _write_bind(node: checked.Bind, found: Json) -> None:
    found["variable"] = node.variable
    found["value"] = node_to_json(node.value)
    found["body"] = node_to_json(node.body)


def _write_optional_map(node: checked.OptionalMap, found: Json) -> None:
    found["operand"] = node_to_json(node.operand)
    found["variable"] = node.variable
    found["body"] = node_to_json(node.body)
    if node.flat:
        found["flat"] = True


def _flag(name: str, value: bool) -> Json:
    return {name: True} if value else {}


_WRITERS: dict[type, tuple[str, Callable[[Any, Json], None]]] = {
    checked.Literal: ("literal", _write_literal),
    checked.Field: ("field", _write_name),
    checked.HasField: ("has_field", _write_name),
    checked.Local: ("local", _write_name),
    checked.Select: ("select", _write_select),
    checked.Has: ("has", _write_has),
    checked.Index: ("index", _write_index),
    checked.Call: ("call", _write_call),
    checked.And: ("and", _write_chain),
    checked.Or: ("or", _write_chain),
    checked.Conditional: ("conditional", _write_conditional),
    checked.List: ("list", _write_list),
    checked.Map: ("map", _write_map),
    checked.Comprehension: ("comprehension", _write_comprehension),
    checked.Bind: ("bind", _write_bind),
    checked.OptionalMap: ("optional_map", _write_optional_map),
}
