"""A document as a tree of nodes that know their position in the text.

``yaml_text``, ``json_text`` and ``plain_data`` create it; ``reader`` interprets it. Offsets are
code points from the start of the text, None if there wasn't a text.
"""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from typing import Any, Literal, TypeAlias

import attrs

from tidegate.policy.definitions.findings import Finding

MAX_BYTES = 32 * 1024 * 1024
MAX_DEPTH = 32
MAX_NODES = 1_100_000
"""Limits memory, together with the size: a node takes about 300 bytes."""
MAX_ITEMS = 1_000_000
"""After this many list items the rest of a document is not read."""
MAX_MISTAKES = 2_000
"""After this many values that don't fit their places the rest of a document is not read."""

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
    """The number of nodes in the list as written."""


@attrs.frozen
class Mapping:
    """Entries as written, repeated keys included."""

    entries: tuple[tuple[Scalar, Node], ...]
    start: int | None = None
    end: int | None = None


@attrs.frozen(kw_only=True)
class Ready(Mapping):
    """An object of plain data that was read before and isn't read again."""

    entries: tuple[tuple[Scalar, Node], ...] = ()
    model: Any
    nodes: int
    """The number of nodes in the object as written."""


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


def decode(document: str | bytes) -> str:
    """The text of a document, without a byte order mark.

    Raises:
        UnreadableDocumentError: it isn't UTF-8, or is too large.
    """
    try:
        text = document if isinstance(document, str) else document.decode("utf-8")
        size = len(text.encode("utf-8"))
    except UnicodeError:
        raise unreadable("invalid-encoding", "the document is not UTF-8") from None
    if size > MAX_BYTES:
        raise unreadable("document-too-large", f"more than {MAX_BYTES} bytes")
    return text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")


def count_nodes(value: object) -> int:
    """The number of nodes in the tree for plain Python values."""
    if isinstance(value, AbstractMapping):
        return 1 + sum(map(count_nodes, value.values()))
    if isinstance(value, (list, tuple)):
        return 1 + sum(map(count_nodes, value))
    return 1


def find(root: Node, pointer: str) -> Node | None:
    """The node at a JSON pointer, or the nearest existing one around it."""
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
