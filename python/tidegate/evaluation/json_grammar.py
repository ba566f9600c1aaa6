"""The grammar of JSON (RFC 8259), once for every reader that needs positions.

A subclass builds the values: the nodes of an event, the tree of a document, or the body of a
request. It bounds depth and sizes, and refuses members that are given twice.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

ScalarKind: TypeAlias = Literal["null", "bool", "number", "string"]

MAX_DIGITS = 1_000
"""Most characters of an integer: the time to parse one grows with the square of its length."""
TOO_MANY_DIGITS = f"a whole number of more than {MAX_DIGITS:,} digits"

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9A-Fa-f]{4}))')
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: tuple[tuple[str, ScalarKind, bool | None], ...] = (
    ("true", "bool", True),
    ("false", "bool", False),
    ("null", "null", None),
)


class JsonGrammar(ABC):
    """A position in a text, advanced by reading.

    Args:
        text: the text; ``at`` is the offset in it, in code points.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    @abstractmethod
    def fault(self, message: str, at: int) -> Exception:
        """Return the error for text at an offset that isn't JSON."""

    def half_pair(self, escape: re.Match[str]) -> str:
        """Return the text for an escape that is half of a surrogate pair, or refuse it."""
        raise self.fault("the escape is half of a surrogate pair", escape.start())

    def next(self) -> str:
        """Skip space; return the character that follows, or "" at the end."""
        space = _SPACE.match(self.text, self.at)
        assert space is not None
        self.at = space.end()
        return self.text[self.at : self.at + 1]

    def take(self, character: str, wanted: str) -> None:
        """Skip a character, which must follow."""
        if self.next() != character:
            raise self.unexpected(wanted)
        self.at += 1

    def finish(self) -> None:
        """Refuse text after the value."""
        if self.next():
            raise self.unexpected("the end of the text")

    def unexpected(self, wanted: str) -> Exception:
        """Return the error for text other than what is wanted."""
        found = self.text[self.at : self.at + 1]
        shown = f"`{found}`" if found.isprintable() and found else "a control character"
        if not found:
            shown = "the end of the text"
        return self.fault(f"expected {wanted}, found {shown}", self.at)

    def items(self) -> Iterator[None]:
        """Read an array; at each step the caller reads an item."""
        self.at += 1
        if self.next() == "]":
            self.at += 1
            return
        while True:
            yield
            if self.next() == "]":
                self.at += 1
                return
            self.take(",", "`,` or `]`")

    def members(self) -> Iterator[tuple[str, int]]:
        """Read an object; for each name and its offset, the caller reads the colon and a value."""
        self.at += 1
        if self.next() == "}":
            self.at += 1
            return
        while True:
            if self.next() != '"':
                raise self.unexpected("a member name")
            start = self.at
            yield self._string(), start
            if self.next() == "}":
                self.at += 1
                return
            self.take(",", "`,` or `}`")

    def scalar(self) -> tuple[ScalarKind, str | bool | None]:
        """Read a value that is neither an array nor an object; a number is its text."""
        if self.text.startswith('"', self.at):
            return "string", self._string()
        number = _NUMBER.match(self.text, self.at)
        if number is not None:
            self.at = number.end()
            return "number", number[0]
        for word, kind, value in _WORDS:
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return kind, value
        raise self.unexpected("a value")

    def _string(self) -> str:
        self.at += 1
        parts: list[str] = []
        while True:
            plain = _PLAIN.match(self.text, self.at)
            assert plain is not None
            parts.append(plain[0])
            self.at = plain.end()
            following = self.text[self.at : self.at + 1]
            if following == '"':
                self.at += 1
                return parts[0] if len(parts) == 1 else "".join(parts)
            if following != "\\":
                unescaped = "a control character must be escaped"
                raise self.fault(unescaped if following else "the string has no end", self.at)
            parts.append(self._escape())

    def _escape(self) -> str:
        start = self.at
        escape = _ESCAPE.match(self.text, start)
        if not escape:
            raise self.fault("the escape is none of JSON's", start)
        self.at = escape.end()
        if escape[1]:
            return _ESCAPED[escape[1]]
        unit = int(escape[2], 16)
        if not 0xD800 <= unit <= 0xDFFF:
            return chr(unit)
        second = _ESCAPE.match(self.text, self.at)
        low = int(second[2], 16) if second and second[2] else 0
        if unit >= 0xDC00 or not 0xDC00 <= low <= 0xDFFF or not second:
            return self.half_pair(escape)
        self.at = second.end()
        return chr(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))


def is_integer(number: str) -> bool:
    """Whether the text of a number has neither fraction nor exponent."""
    return not set(number) & set(".eE")
