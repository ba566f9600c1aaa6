"""Converts plain data to a tree without positions, and a tree to plain data."""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from collections.abc import Sequence as AbstractSequence
from typing import TYPE_CHECKING, Any

from tidegate.policy.document.counting import NodeCount
from tidegate.policy.document.expected import whole_document
from tidegate.policy.document.tree import (
    Excerpt,
    Mapping,
    Ready,
    Scalar,
    Sequence,
    unreadable,
)

if TYPE_CHECKING:
    from tidegate.policy.document.expected import Expected
    from tidegate.policy.document.tree import Node


def from_python(value: object, wanted: Expected | None = None) -> Node:
    """The tree for plain Python values, without positions.

    Args:
        value: the values.
        wanted: the expected value, a definitions document by default.

    Raises:
        UnreadableDocumentError: a value that no document can contain, or past a limit.
    """
    return _from_python(value, 0, NodeCount(), wanted or whole_document())


def _from_python(value: object, depth: int, count: NodeCount, wanted: Expected | None) -> Node:
    """The tree for a value; nothing inside it if it isn't wanted."""
    if isinstance(value, (Ready, Excerpt)):
        count.add(depth, None, value.nodes)
        return value
    count.add(depth, None)
    match value:
        case None | bool() | int() | float() | str():
            if wanted is not None:
                count.scalar(value, wanted, None)
            return Scalar(value)
        case AbstractMapping():
            if wanted is None or not count.collection(wanted, is_object=True, offset=None):
                return Mapping(())
            entries: list[tuple[Scalar, Node]] = []
            for key, each in value.items():
                name = _key(key)
                inner = count.name(str(name.value), wanted, len(entries), None)
                entries.append((name, _from_python(each, depth + 1, count, inner)))
            count.end(entries, wanted, None)
            return Mapping(tuple(entries))
        case AbstractSequence() if not isinstance(value, (bytes, bytearray, memoryview)):
            if wanted is None or not count.collection(wanted, is_object=False, offset=None):
                return Sequence(())
            items: list[Node] = []
            for each in value:
                inner = count.item(len(items), wanted, None)
                items.append(_from_python(each, depth + 1, count, inner))
            return Sequence(tuple(items))
    kind = type(value).__name__
    raise unreadable("wrong-type", f"a document cannot hold a value of type `{kind}`")


def _key(key: object) -> Scalar:
    if isinstance(key, str):
        return Scalar(key)
    raise unreadable("wrong-type", f"a member's name must be text, not `{type(key).__name__}`")


def to_python(node: Node) -> Any:
    """Plain Python values for a tree; of a repeated name, the first value counts."""
    match node:
        case Mapping(entries=entries):
            found: dict[str, Any] = {}
            for key, value in entries:
                found.setdefault(str(key.value), to_python(value))
            return found
        case Sequence(items=items):
            return [to_python(each) for each in items]
    return node.value
