"""A document as a tree of nodes that know where they were written.

``yaml_text``, ``json_text`` and ``from_python`` make it; ``reader`` reads it.
Offsets are code points from the start of the text, None when there was no text.
"""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from collections.abc import Sequence as AbstractSequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from tidegate.language.tree.diagnostics import quote
from tidegate.policy.definitions.findings import Finding
from tidegate.policy.document.names import FREE, KNOWN, MAX_FREE

if TYPE_CHECKING:
    from collections.abc import Container

MAX_BYTES = 32 * 1024 * 1024
MAX_DEPTH = 32
MAX_NODES = 1_100_000
"""Bounds the memory, together with the size: a node takes about 300 bytes."""
MAX_ITEMS = 1_000_000
"""Items of a list after which the rest of a document is not read."""
MAX_UNKNOWN = 2_000
"""Members with unknown names after which the rest of a document is not read."""

Style: TypeAlias = Literal["plain", "single", "double", "literal", "folded", "python"]


@attrs.frozen
class Scalar:
    """A text, number, bool or null."""

    value: str | int | float | bool | None
    start: int | None = None
    end: int | None = None
    style: Style = "python"


@attrs.frozen
class Sequence:
    items: tuple[Node, ...]
    start: int | None = None
    end: int | None = None


@attrs.frozen(kw_only=True)
class Excerpt(Sequence):
    """A list of plain data of which only these items are read, while all count."""

    items: tuple[Node, ...] = ()
    nodes: int
    """The number of nodes of the list as it was written."""


@attrs.frozen
class Mapping:
    """Entries as written, repeated keys included."""

    entries: tuple[tuple[Scalar, Node], ...]
    start: int | None = None
    end: int | None = None


@attrs.frozen(kw_only=True)
class Ready(Mapping):
    """An object of plain data that was read before, and is not read again."""

    entries: tuple[tuple[Scalar, Node], ...] = ()
    model: Any
    nodes: int
    """The number of nodes of the object as it was written."""


Node: TypeAlias = Scalar | Sequence | Mapping


class UnreadableDocumentError(Exception):
    """The text has no tree; ``finding`` says where and why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def unreadable(
    code: str, message: str, offset: int | None = None, hint: str | None = None
) -> UnreadableDocumentError:
    """The exception for a text without a tree."""
    return UnreadableDocumentError(Finding(code, message, "", hint=hint, offset=offset))


class NodeCount:
    """Counts the nodes of a tree while it is made."""

    def __init__(self, known: Container[str] | None = KNOWN) -> None:
        self._left = MAX_NODES
        self._known = known
        self._unknown = 0

    def name(self, name: str, offset: int | None) -> None:
        """Note the name of a member.

        Raises:
            UnreadableDocumentError: too many have names that no object has.
        """
        if self._known is None or name in self._known:
            return
        self._unknown += 1
        if self._unknown > MAX_UNKNOWN:
            message = f"more than {MAX_UNKNOWN:,} unknown members, such as {quote(name)}"
            raise unreadable("unknown-member", message, offset)

    def item(self, items: int, offset: int | None) -> None:
        """Count one more item of a list that has some.

        Raises:
            UnreadableDocumentError: it would have too many.
        """
        if items >= MAX_ITEMS:
            message = f"more than {MAX_ITEMS:,} items, the most that a list may have"
            raise unreadable("document-too-large", message, offset)

    def add(self, depth: int, offset: int | None, nodes: int = 1) -> None:
        """Count one more node, or several, at this depth.

        Raises:
            UnreadableDocumentError: too many, or too deep.
        """
        self._left -= nodes
        if self._left < 0:
            raise unreadable("document-too-large", f"more than {MAX_NODES} values", offset)
        if depth > MAX_DEPTH:
            raise unreadable("document-too-deep", f"nested deeper than {MAX_DEPTH}", offset)


def from_python(value: object) -> Node:
    """The tree of plain Python values, without positions.

    Raises:
        UnreadableDocumentError: a value that no document can hold, or past a limit.
    """
    return _from_python(value, 0, NodeCount(), is_free=False)


def count_nodes(value: object) -> int:
    """The nodes that the tree of plain Python values has."""
    if isinstance(value, AbstractMapping):
        return 1 + sum(map(count_nodes, value.values()))
    if isinstance(value, (list, tuple)):
        return 1 + sum(map(count_nodes, value))
    return 1


def _from_python(value: object, depth: int, count: NodeCount, *, is_free: bool) -> Node:
    if isinstance(value, (Ready, Excerpt)):
        count.add(depth, None, value.nodes)
        return value
    count.add(depth, None)
    match value:
        case None | bool() | int() | float() | str():
            return Scalar(value)
        case AbstractMapping():
            entries: list[tuple[Scalar, Node]] = []
            for key, each in value.items():
                name = _key(key)
                if not is_free or len(entries) >= MAX_FREE:
                    count.name(str(name.value), None)
                inner = _from_python(each, depth + 1, count, is_free=name.value in FREE)
                entries.append((name, inner))
            return Mapping(tuple(entries))
        case AbstractSequence() if not isinstance(value, (bytes, bytearray, memoryview)):
            count.item(len(value) - 1, None)
            items = (_from_python(each, depth + 1, count, is_free=False) for each in value)
            return Sequence(tuple(items))
    kind = type(value).__name__
    raise unreadable("wrong-type", f"a document cannot hold a value of type `{kind}`")


def _key(key: object) -> Scalar:
    if isinstance(key, str):
        return Scalar(key)
    raise unreadable("wrong-type", f"a member's name must be text, not `{type(key).__name__}`")


def find(root: Node, pointer: str) -> Node | None:
    """The node a JSON pointer leads to, or the nearest one around it that exists."""
    node = root
    for part in pointer.split("/")[1:]:
        inner = _child(node, part.replace("~1", "/").replace("~0", "~"))
        if inner is None:
            break
        node = inner
    return node


def _child(node: Node, name: str) -> Node | None:
    if isinstance(node, Mapping):
        return next((value for key, value in node.entries if key.value == name), None)
    if isinstance(node, Sequence) and name.isdecimal() and int(name) < len(node.items):
        return node.items[int(name)]
    return None
