"""The JSON form of checked trees: the NODE of docs/canonical-tree.md, and its envelope.

The class of a node determines its form: the kind is the class name, each attribute is a member, and
the attribute's type says what it contains. So a new kind of node needs no code here.

The input may have been stored, sent or made by hand: every bound and kind is checked on the way,
and a fault is a finding, never a crash.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias, get_args

import attrs

from tidegate.errors import ExpressionError
from tidegate.language.tree import checked
from tidegate.language.tree.ast import Span
from tidegate.language.tree.diagnostics import Diagnostic
from tidegate.limits import DEFAULT, Limits
from tidegate.wire_values import from_wire, to_wire

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tidegate.types import Type

Json = dict[str, Any]
Scope: TypeAlias = tuple[str, ...]
"""The variables of the macros enclosing a node."""

VERSION = 1
"""Incremented when a reader of the old form could misread the new one."""

_KINDS: dict[str, type[Any]] = {
    re.sub("(?<=[a-z])(?=[A-Z])", "_", node.__name__).lower(): node
    for node in get_args(checked.Checked)
}
_NAMES = {node: kind for kind, node in _KINDS.items()}
_INSIDE = frozenset({"condition", "body"})
"""The members in which the variables of their node are visible."""
_ABSENT = object()


def envelope(text: str, kind: Type, root: checked.Checked) -> Json:
    """A checked expression: version, text, type and tree."""
    return {"version": VERSION, "text": text, "type": str(kind), "root": node_to_json(root)}


def node_to_json(node: checked.Checked) -> Json:
    """One node and everything below it; the checker has limited the depth."""
    found: Json = {"kind": _NAMES[type(node)], "span": [node.span.start, node.span.end]}
    return _write_members(node, found)


def node_from_json(
    data: object, limits: Limits = DEFAULT, text_length: int | None = None
) -> checked.Checked:
    """The checked tree for a NODE.

    Args:
        data: the NODE, as parsed JSON.
        limits: limits on its depth and nodes.
        text_length: where spans must end, if known.

    Raises:
        ExpressionError: the data isn't a well-formed NODE.
    """
    try:
        return _Reader(limits, text_length).node(data, 1, ())
    except RecursionError:
        refuse_tree("the tree nests too deeply for the caller's stack")


def children(node: checked.Checked) -> tuple[checked.Checked, ...]:
    """The nodes directly below a node, in source order."""
    found: list[checked.Checked] = []
    for name, nodes in WITH_NODES[type(node)]:
        found += nodes(getattr(node, name))
    return tuple(found)


def refuse_tree(message: str) -> NoReturn:
    """Reject an envelope or a part of it.

    Raises:
        ExpressionError: always.
    """
    finding = Diagnostic("invalid-canonical-tree", message, Span(0, 0))
    raise ExpressionError([finding], f"invalid canonical tree: {message}")


def read_string(data: Json, member: str) -> str:
    """A member that must be a string of Unicode text."""
    found = data.get(member)
    if not isinstance(found, str) or not _is_text(found):
        refuse_tree(f"`{member}` must be a string")
    return found


def _is_text(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


class _Place(NamedTuple):
    """The place of a member: the depth of its nodes, and their visible variables."""

    depth: int
    names: Scope


class _Reader:
    def __init__(self, limits: Limits, text_length: int | None) -> None:
        self._limits = limits
        self._text_length = text_length
        self._nodes = 0

    def node(self, data: object, depth: int, names: Scope) -> checked.Checked:
        """One node; ``names`` are the variables of the enclosing macros."""
        self._nodes += 1
        if depth > self._limits.nesting:
            refuse_tree(f"nodes nest more than {self._limits.nesting} levels deep")
        if self._nodes > self._limits.nodes:
            refuse_tree(f"more than {self._limits.nodes} nodes")
        if not isinstance(data, dict):
            refuse_tree("a node must be an object")
        kind = data.get("kind")
        node = _KINDS.get(kind) if isinstance(kind, str) else None
        if node is None:
            refuse_tree("a node has an unknown kind")
        span = self._span(data)
        found = self.members(node, data, _Place(depth + 1, names))
        if node is checked.Local and found["name"] not in names:
            refuse_tree(f"no macro declares the variable `{found['name'][:60]}`")
        if node is checked.Call and found["member"] and not found["arguments"]:
            refuse_tree("a member call needs its receiver")
        try:
            made: checked.Checked = node(**found, span=span)
        except ValueError as error:
            refuse_tree(str(error))
        return made

    def members(self, owner: type[Any], data: Json, place: _Place) -> dict[str, Any]:
        """The attributes of a node, or of an element or entry in it."""
        found: dict[str, Any] = {}
        names = place.names
        for member, attributes in _MEMBERS[owner].items():
            if len(attributes) > 1:
                nodes = [self.node(each, *place) for each in self.array(data, member)]
                if len(nodes) != len(attributes):
                    refuse_tree(f"`{member}` must have {len(attributes)} parts")
                found.update(zip((name for name, _ in attributes), nodes, strict=True))
                continue
            [(name, part)] = attributes
            inside = _Place(place.depth, names) if member in _INSIDE else place
            found[name] = part.read(self, data, member, inside)
            if name in {"variable", "variables"}:
                names = (*names, *([found[name]] if name == "variable" else found[name]))
        return found

    def array(self, data: Json, member: str) -> list[Any]:
        found = data.get(member)
        if not isinstance(found, list):
            refuse_tree(f"`{member}` must be an array")
        if len(found) > self._limits.list_elements:
            refuse_tree(f"`{member}` has more than {self._limits.list_elements} parts")
        return found

    def _span(self, data: Json) -> Span:
        span = data.get("span")
        if not isinstance(span, list) or len(span) != 2 or any(type(at) is not int for at in span):
            refuse_tree("`span` must be two offsets")
        start, end = span
        if not 0 <= start <= end or end > (self._text_length or end):
            refuse_tree("`span` lies outside the text")
        return Span(start, end)


_NodesOf: TypeAlias = "Callable[[Any], Sequence[checked.Checked]]"


class _Part(NamedTuple):
    """The content of a member."""

    read: Callable[[_Reader, Json, str, _Place], Any]
    write: Callable[[Any], Any]
    nodes: _NodesOf | None = None


def _read_value(_reader: _Reader, data: Json, member: str, _place: _Place) -> Any:
    try:
        return from_wire(data.get(member))
    except (ValueError, OverflowError) as error:
        refuse_tree(f"a literal has no value: {error}")


def _read_flag(_reader: _Reader, data: Json, member: str, _place: _Place) -> bool:
    found = data.get(member, False)
    if not isinstance(found, bool):
        refuse_tree(f"`{member}` must be true or false")
    return found


def _read_texts(reader: _Reader, data: Json, member: str, _place: _Place) -> tuple[str, ...]:
    found = reader.array(data, member) if member in data else []
    if not all(isinstance(each, str) for each in found):
        refuse_tree(f"`{member}` must be strings")
    return tuple(found)


def _read_nodes(
    reader: _Reader, data: Json, member: str, place: _Place
) -> tuple[checked.Checked, ...]:
    return tuple([reader.node(each, *place) for each in reader.array(data, member)])


def _read_condition(
    reader: _Reader, data: Json, member: str, place: _Place
) -> checked.Checked | None:
    found = data.get(member)
    return None if found is None else reader.node(found, *place)


def _parts_of(owner: type[Any]) -> _Part:
    """Elements or entries: objects with their own members."""

    def read(reader: _Reader, data: Json, member: str, place: _Place) -> tuple[Any, ...]:
        parts = reader.array(data, member)
        if not all(isinstance(each, dict) for each in parts):
            refuse_tree("an element or entry must be an object")
        return tuple([owner(**reader.members(owner, each, place)) for each in parts])

    def nodes(parts: Sequence[Any]) -> Sequence[checked.Checked]:
        names = [name for name, _ in WITH_NODES[owner]]
        return [getattr(part, name) for part in parts for name in names]

    return _Part(read, lambda parts: [_write_members(part, {}) for part in parts], nodes)


_PARTS: dict[str, _Part] = {
    "object": _Part(_read_value, to_wire),
    "str": _Part(lambda _reader, data, member, _place: read_string(data, member), str),
    "bool": _Part(_read_flag, lambda flag: flag or _ABSENT),
    "tuple[str, ...]": _Part(_read_texts, lambda texts: list(texts) or _ABSENT),
    "Checked": _Part(
        lambda reader, data, member, place: reader.node(data.get(member), *place),
        node_to_json,
        lambda node: (node,),
    ),
    "Checked | None": _Part(
        _read_condition,
        lambda node: _ABSENT if node is None else node_to_json(node),
        lambda node: () if node is None else (node,),
    ),
    "tuple[Checked, ...]": _Part(
        _read_nodes, lambda nodes: [node_to_json(node) for node in nodes], lambda nodes: nodes
    ),
    "tuple[ListElement, ...]": _parts_of(checked.ListElement),
    "tuple[MapEntry, ...]": _parts_of(checked.MapEntry),
}
"""The reader for an attribute by its type, as written in ``checked``."""


def _members_of(owner: type[Any]) -> dict[str, list[tuple[str, _Part]]]:
    """The attributes in a member, by its name; several are the parts of an array.

    Attributes ignored when comparing nodes have no place in the form.
    """
    found: dict[str, list[tuple[str, _Part]]] = {}
    for attribute in attrs.fields(owner):
        if attribute.eq:
            member = attribute.metadata.get(checked.MEMBER, attribute.name)
            found.setdefault(member, []).append((attribute.name, _PARTS[str(attribute.type)]))
    return found


def _with_nodes(members: dict[str, list[tuple[str, _Part]]]) -> list[tuple[str, _NodesOf]]:
    attributes = [each for member in members.values() for each in member]
    return [(name, part.nodes) for name, part in attributes if part.nodes is not None]


_MEMBERS = {owner: _members_of(owner) for owner in (*_NAMES, checked.ListElement, checked.MapEntry)}
WITH_NODES = {owner: _with_nodes(members) for owner, members in _MEMBERS.items()}
"""The attributes of a node with nodes below them, each with a function that returns these."""


def _write_members(owner: Any, found: Json) -> Json:
    for member, attributes in _MEMBERS[type(owner)].items():
        written = [part.write(getattr(owner, name)) for name, part in attributes]
        if written != [_ABSENT]:
            found[member] = written if len(written) > 1 else written[0]
    return found
