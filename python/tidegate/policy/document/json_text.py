"""JSON text to a tree with positions: strict RFC 8259."""

from __future__ import annotations

import re
from json import JSONDecodeError, decoder
from typing import TYPE_CHECKING, Any

from tidegate.policy.document.names import FREE, KNOWN, MAX_FREE
from tidegate.policy.document.tree import Mapping, Node, NodeCount, Scalar, Sequence, unreadable

if TYPE_CHECKING:
    from collections.abc import Container

_BLANK = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?(?![0-9.eE])")
MAX_DIGITS = 1_000
"""Digits of a whole number: the time to read one grows with the square of its length."""
_WORDS = {"true": True, "false": False, "null": None}
# Not in the stubs: the string reader of the standard library, which says where it ended.
_scan: Any = decoder.scanstring  # type: ignore[attr-defined]


def compose_json(text: str, known: Container[str] | None = KNOWN) -> Node:
    """The tree of a JSON text.

    Args:
        text: the text.
        known: the names that members have; the reading ends when too many have others. None for
            a text whose names may be any.

    Raises:
        UnreadableDocumentError: it is no JSON, or is past a limit.
    """
    reader = _Reader(text, known)
    node = reader.value(0, is_free=False)
    reader.skip_blank()
    if reader.at != len(text):
        raise reader.expected("the end of the document")
    return node


class _Reader:
    """Recursive descent; the depth limit bounds the recursion."""

    def __init__(self, text: str, known: Container[str] | None) -> None:
        self.text = text
        self.at = 0
        self._count = NodeCount(known)

    def skip_blank(self) -> None:
        blank = _BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at

    def expected(self, what: str) -> Exception:
        return unreadable("invalid-json", f"expected {what}", self.at)

    def value(self, depth: int, *, is_free: bool) -> Node:
        """The next value; an object that is free has names of the author's choice."""
        self.skip_blank()
        self._count.add(depth, self.at)
        match self.text[self.at : self.at + 1]:
            case "{":
                return self._object(depth, is_free=is_free)
            case "[":
                return self._array(depth)
            case '"':
                return self._string()
        return self._number_or_word()

    def _object(self, depth: int, *, is_free: bool) -> Mapping:
        start = self.at
        entries: list[tuple[Scalar, Node]] = []
        if not self._open("}"):
            while True:
                self.skip_blank()
                if self.text[self.at : self.at + 1] != '"':
                    raise self.expected("a member's name in double quotes")
                name = self._string()
                if not is_free or len(entries) >= MAX_FREE:
                    self._count.name(str(name.value), name.start)
                self._require(":")
                entries.append((name, self.value(depth + 1, is_free=name.value in FREE)))
                if self._is_last("}"):
                    break
        return Mapping(tuple(entries), start, self.at)

    def _array(self, depth: int) -> Sequence:
        start = self.at
        items: list[Node] = []
        if not self._open("]"):
            while True:
                self._count.item(len(items), self.at)
                items.append(self.value(depth + 1, is_free=False))
                if self._is_last("]"):
                    break
        return Sequence(tuple(items), start, self.at)

    def _open(self, closing: str) -> bool:
        """Step over the opening bracket. Returns whether the closing one follows."""
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
