"""Parses JSON text into a tree with positions: strict RFC 8259."""

from __future__ import annotations

import re
from json import JSONDecodeError, JSONDecoder, decoder
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.policy.document import tree
from tidegate.policy.document.counting import NodeCount
from tidegate.policy.document.expected import whole_document
from tidegate.policy.document.tree import (
    MAX_DEPTH,
    Mapping,
    Node,
    Scalar,
    Sequence,
    unreadable,
)

if TYPE_CHECKING:
    from tidegate.policy.document.expected import Expected

_BLANK = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?(?![0-9.eE])")
MAX_DIGITS = 1_000
"""Most digits of an integer: the time to parse one grows with the square of its length."""
_TEXT = re.compile(r'[ \t\r\n]*("([^"\\\x00-\x1f]*)")[ \t\r\n]*,')
"""A list item that is a text without escapes, and not the last one."""
_WORDS = {"true": True, "false": False, "null": None}
# Not in the stubs: the standard library's string parser, which returns where it ended.
_scan: Any = decoder.scanstring  # type: ignore[attr-defined]


def _no_number(word: str) -> None:
    raise JSONDecodeError("a number that JSON does not have", word, 0)


# Integers are parsed as doubles, since the time for long ones grows with the square of their
# length.
_SKIP = JSONDecoder(parse_int=float, parse_constant=_no_number)


def compose_json(text: str, wanted: Expected | None = None) -> Node:
    """The tree for a JSON text.

    Args:
        text: the text.
        wanted: the expected value, a definitions document by default; parsing stops when too many
            values are something else.

    Raises:
        UnreadableDocumentError: it isn't JSON, or exceeds a limit.
    """
    reader = _Reader(text)
    node = reader.value(0, whole_document() if wanted is None else wanted)
    reader.skip_blank()
    if reader.at != len(text):
        raise reader.expected("the end of the document")
    return node


class _Reader:
    """Recursive descent; the depth limit bounds the recursion."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._count = NodeCount()

    def skip_blank(self) -> None:
        blank = _BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at

    def expected(self, what: str) -> Exception:
        return unreadable("invalid-json", f"expected {what}", self.at)

    def value(self, depth: int, wanted: Expected | None) -> Node:
        """The next value; nothing inside it is kept if it isn't wanted."""
        self.skip_blank()
        self._count.add(depth, self.at)
        start = self.at
        match self.text[start : start + 1]:
            case "{":
                if wanted is None or not self._count.collection(
                    wanted, is_object=True, offset=start
                ):
                    return self._skip(Mapping(()))
                return self._object(depth, wanted)
            case "[":
                if wanted is None or not self._count.collection(
                    wanted, is_object=False, offset=start
                ):
                    return self._skip(Sequence(()))
                return self._array(depth, wanted)
            case '"':
                scalar = self._string()
            case _:
                scalar = self._number_or_word()
        if wanted is not None:
            self._count.scalar(scalar.value, wanted, start)
        return scalar

    def _skip(self, node: Node) -> Node:
        """Skip a list or object that has no place."""
        start = self.at
        try:
            _, self.at = _SKIP.raw_decode(self.text, start)
        except JSONDecodeError as error:
            raise unreadable("invalid-json", error.msg.lower(), error.pos) from None
        except RecursionError:
            raise unreadable(
                "document-too-deep", f"nested deeper than {MAX_DEPTH}", start
            ) from None
        return attrs.evolve(node, start=start, end=self.at)

    def _object(self, depth: int, wanted: Expected) -> Mapping:
        start = self.at
        entries: list[tuple[Scalar, Node]] = []
        if not self._open("}"):
            while True:
                self.skip_blank()
                if self.text[self.at : self.at + 1] != '"':
                    raise self.expected("a member's name in double quotes")
                name = self._string()
                inner = self._count.name(str(name.value), wanted, len(entries), name.start)
                self._require(":")
                entries.append((name, self.value(depth + 1, inner)))
                if self._is_last("}"):
                    break
        self._count.end(entries, wanted, start)
        return Mapping(tuple(entries), start, self.at)

    def _array(self, depth: int, wanted: Expected) -> Sequence:
        start = self.at
        items: list[Node] = []
        if not self._open("]"):
            if wanted.item is not None and wanted.item.is_any_text:
                self._texts(items, depth + 1)
            while True:
                inner = self._count.item(len(items), wanted, self.at)
                items.append(self.value(depth + 1, inner))
                if self._is_last("]"):
                    break
        return Sequence(tuple(items), start, self.at)

    def _texts(self, items: list[Node], depth: int) -> None:
        """Read consecutive texts without escapes: a list may have a million of them."""
        while len(items) < tree.MAX_ITEMS and (found := _TEXT.match(self.text, self.at)):
            start, end = found.span(1)
            self._count.add(depth, start)
            items.append(Scalar(found[2], start, end, "double"))
            self.at = found.end()

    def _open(self, closing: str) -> bool:
        """Skip the opening bracket; return whether the closing one follows."""
        self.at += 1
        self.skip_blank()
        if self.text[self.at : self.at + 1] != closing:
            return False
        self.at += 1
        return True

    def _is_last(self, closing: str) -> bool:
        self.skip_blank()
        follows = self.text[self.at : self.at + 1]
        if follows not in (",", closing) or not follows:
            raise self.expected(f"`,` or `{closing}`")
        self.at += 1
        return follows == closing

    def _require(self, sign: str) -> None:
        self.skip_blank()
        if self.text[self.at : self.at + 1] != sign:
            raise self.expected(f"`{sign}`")
        self.at += 1

    def _string(self) -> Scalar:
        start = self.at
        try:
            value, self.at = _scan(self.text, start + 1, True)
        except JSONDecodeError as error:
            raise unreadable("invalid-json", error.msg.lower(), error.pos) from None
        return Scalar(value, start, self.at, "double")

    def _number_or_word(self) -> Scalar:
        start = self.at
        for word, value in _WORDS.items():
            if self.text.startswith(word, start):
                self.at += len(word)
                return Scalar(value, start, self.at, "plain")
        number = _NUMBER.match(self.text, start)
        if number is None:
            raise self.expected("a value")
        is_integer = number[1] is None and number[2] is None
        if is_integer and len(number[0]) > MAX_DIGITS:
            message = f"a whole number of more than {MAX_DIGITS:,} digits"
            raise unreadable("invalid-json", message, start)
        self.at = number.end()
        return Scalar(int(number[0]) if is_integer else float(number[0]), start, self.at, "plain")
