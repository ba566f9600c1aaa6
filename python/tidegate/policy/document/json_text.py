"""Parses JSON text into a tree with positions: strict RFC 8259."""

from __future__ import annotations

import re
from json import JSONDecodeError, JSONDecoder
from typing import TYPE_CHECKING

import attrs

from tidegate.evaluation.json_grammar import MAX_DIGITS, TOO_MANY_DIGITS, JsonGrammar, is_integer
from tidegate.policy.document import tree
from tidegate.policy.document.counting import NodeCount
from tidegate.policy.document.expected import whole_document
from tidegate.policy.document.tree import (
    MAX_DEPTH,
    Mapping,
    Node,
    Scalar,
    Sequence,
    UnreadableDocumentError,
    unreadable,
)

if TYPE_CHECKING:
    from tidegate.policy.document.expected import Expected

_TEXT = re.compile(r'[ \t\r\n]*("([^"\\\x00-\x1f]*)")[ \t\r\n]*,')
"""A list item that is a text without escapes, and not the last one."""


def _no_number(word: str) -> None:
    raise JSONDecodeError("a number that JSON does not have", word, 0)


# Integers are parsed as doubles, since the time for long ones grows with the square of their
# length.
_SKIP = JSONDecoder(parse_int=float, parse_constant=_no_number)


def compose_json(text: str) -> Node:
    """The tree for a JSON text.

    Args:
        text: the text of a document; parsing stops when too many values don't fit their places.

    Raises:
        UnreadableDocumentError: it isn't JSON, or exceeds a limit.
    """
    reader = _Reader(text)
    node = reader.value(0, whole_document())
    reader.finish()
    return node


class _Reader(JsonGrammar):
    """Builds the tree; the depth limit bounds the recursion."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._count = NodeCount()

    def fault(self, message: str, at: int) -> UnreadableDocumentError:
        return unreadable("invalid-json", message, at)

    def half_pair(self, escape: re.Match[str]) -> str:
        """Keep it: ``reader`` reports it with the other findings."""
        return chr(int(escape[2], 16))

    def value(self, depth: int, wanted: Expected | None) -> Node:
        """The next value; nothing inside it is kept if it isn't wanted."""
        first, start = self.next(), self.at
        self._count.add(depth, start)
        if first in ("{", "["):
            is_object = first == "{"
            if wanted is None or not self._count.collection(
                wanted, is_object=is_object, offset=start
            ):
                return self._skip(Mapping(()) if is_object else Sequence(()))
            return self._object(depth, wanted) if is_object else self._array(depth, wanted)
        kind, content = self.scalar()
        value = self._number(str(content), start) if kind == "number" else content
        if wanted is not None:
            self._count.scalar(value, wanted, start)
        return Scalar(value, start, self.at, "double" if kind == "string" else "plain")

    def _skip(self, node: Node) -> Node:
        """Skip a list or object that has no place: the document is refused in any case."""
        start = self.at
        try:
            _, self.at = _SKIP.raw_decode(self.text, start)
        except JSONDecodeError as error:
            raise self.fault(error.msg.lower(), error.pos) from None
        except RecursionError:
            raise unreadable(
                "document-too-deep", f"nested deeper than {MAX_DEPTH}", start
            ) from None
        return attrs.evolve(node, start=start, end=self.at)

    def _object(self, depth: int, wanted: Expected) -> Mapping:
        start = self.at
        entries: list[tuple[Scalar, Node]] = []
        for name, at in self.members():
            key = Scalar(name, at, self.at, "double")
            inner = self._count.name(name, wanted, len(entries), at)
            self.take(":", "`:`")
            entries.append((key, self.value(depth + 1, inner)))
        self._count.end(entries, wanted, start)
        return Mapping(tuple(entries), start, self.at)

    def _array(self, depth: int, wanted: Expected) -> Sequence:
        start = self.at
        items: list[Node] = []
        for _ in self.items():
            if not items and wanted.item is not None and wanted.item.is_any_text:
                self._texts(items, depth + 1)
            inner = self._count.item(len(items), wanted, self.at)
            items.append(self.value(depth + 1, inner))
        return Sequence(tuple(items), start, self.at)

    def _texts(self, items: list[Node], depth: int) -> None:
        """Read consecutive texts without escapes: a list may have a million of them."""
        while len(items) < tree.MAX_ITEMS and (found := _TEXT.match(self.text, self.at)):
            start, end = found.span(1)
            self._count.add(depth, start)
            items.append(Scalar(found[2], start, end, "double"))
            self.at = found.end()

    def _number(self, text: str, start: int) -> int | float:
        if not is_integer(text):
            return float(text)
        if len(text) > MAX_DIGITS:
            raise self.fault(TOO_MANY_DIGITS, start)
        return int(text)
