"""A strict JSON parser (RFC 8259) that keeps the position of each value.

It rejects NaN and infinities, duplicate members, lone surrogates, a byte order mark, invalid UTF-8,
anything after the value, and whatever exceeds the limits.  Numbers keep their text.
"""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

import attrs

from tidegate.errors import EventError
from tidegate.limits import DEFAULT, Limits
from tidegate.values import INT_MAX, INT_MIN, UINT_MAX, Map, UInt, from_python, utf8_length

Kind: TypeAlias = Literal["null", "bool", "number", "string", "array", "object", "other"]


@attrs.frozen
class Node:
    """One value in an event, from JSON text or from Python.

    ``content`` is a bool, the text of a number or string, a list of nodes, or a dict of them by
    name.  ``offset`` is the value's byte offset in the text.  ``origin`` is the original Python
    object, if there was one; ``other`` marks values that JSON cannot express.
    """

    kind: Kind
    content: Any = None
    offset: int | None = None
    origin: Any = attrs.field(default=None, eq=False)


def read_json(data: bytes, limits: Limits = DEFAULT) -> Node:
    """Parse a JSON text, which is one value.

    Raises:
        EventError: the text isn't strict JSON (the pointer is empty), or exceeds a limit.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise EventError(
            "the text is not valid UTF-8", offset=error.start, is_unreadable=True
        ) from error
    return _Reader(text, limits).whole()


def pointer(path: list[str]) -> str:
    """The JSON pointer (RFC 6901) of a place."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)


def json_value(node: Node) -> Any:
    """The value of the language for a node.

    Raises:
        TypeError, ValueError: it came from Python and has no such value.
    """
    match node.kind:
        case "number":
            return node.origin if isinstance(node.origin, UInt) else _number_value(node.content)
        case "array":
            return [json_value(element) for element in node.content]
        case "object":
            return Map((name, json_value(member)) for name, member in node.content.items())
        case "other":
            return from_python(node.origin)
        case _:
            return node.content


def _number_value(text: str) -> int | UInt | float:
    """An int or a uint, if the number has neither fraction nor exponent and fits.

    Otherwise the nearest double, which may be an infinity.
    """
    # No 64-bit integer has more characters, and longer ones are costly to parse.
    if not set(text) & set(".eE") and len(text) <= 20:
        value = int(text)
        if INT_MIN <= value <= INT_MAX:
            return value
        if 0 <= value <= UINT_MAX:
            return UInt(value)
    return float(text)


_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9A-Fa-f]{4}))')
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: tuple[tuple[str, Kind, bool | None], ...] = (
    ("true", "bool", True),
    ("false", "bool", False),
    ("null", "null", None),
)


class _Reader:
    """A position in a text, advanced by reading."""

    def __init__(self, text: str, limits: Limits) -> None:
        self._text = text
        self._limits = limits
        self._at = 0
        self._path: list[str] = []
        self._depth = 0

    def whole(self) -> Node:
        node = self._value()
        if self._next():
            raise self._unexpected("the end of the text")
        return node

    # --- faults ---------------------------------------------------------------------------

    def _offset(self, at: int) -> int:
        return utf8_length(self._text[:at])

    def _fault(self, message: str, at: int | None = None) -> EventError:
        offset = self._offset(self._at if at is None else at)
        return EventError(message, offset=offset, is_unreadable=True)

    def _unexpected(self, wanted: str) -> EventError:
        found = self._text[self._at : self._at + 1]
        shown = f"`{found}`" if found.isprintable() and found else "a control character"
        return self._fault(f"expected {wanted}, found {shown if found else 'the end of the text'}")

    def _past(self, message: str, at: int) -> EventError:
        return EventError(
            message, pointer(self._path), self._offset(at), is_unreadable=not self._path
        )

    # --- values ---------------------------------------------------------------------------

    def _next(self) -> str:
        """The next non-space character, without consuming it; "" at the end."""
        space = _SPACE.match(self._text, self._at)
        assert space is not None
        self._at = space.end()
        return self._text[self._at : self._at + 1]

    def _take(self, character: str, wanted: str) -> None:
        if self._next() != character:
            raise self._unexpected(wanted)
        self._at += 1

    def _value(self) -> Node:
        first, start = self._next(), self._at
        if first == "{":
            return self._nested(self._object, start)
        if first == "[":
            return self._nested(self._array, start)
        if first == '"':
            return Node("string", self._string(), self._offset(start))
        number = _NUMBER.match(self._text, self._at)
        if number:
            self._at = number.end()
            return Node("number", number[0], self._offset(start))
        for word, kind, value in _WORDS:
            if self._text.startswith(word, self._at):
                self._at += len(word)
                return Node(kind, value, self._offset(start))
        raise self._unexpected("a value")

    def _nested(self, read: Any, start: int) -> Node:
        if self._depth == self._limits.event_depth:
            deepest = self._limits.event_depth
            raise self._past(f"objects and arrays nest deeper than {deepest}", start)
        self._depth += 1
        self._at += 1
        node = read(self._offset(start))
        self._depth -= 1
        assert isinstance(node, Node)
        return node

    def _array(self, offset: int) -> Node:
        elements: list[Node] = []
        if self._next() == "]":
            self._at += 1
            return Node("array", elements, offset)
        while True:
            if len(elements) == self._limits.event_members:
                raise self._past(f"more than {len(elements)} elements in an array", self._at)
            elements.append(self._part(str(len(elements))))
            if self._next() == "]":
                self._at += 1
                return Node("array", elements, offset)
            self._take(",", "`,` or `]`")

    def _object(self, offset: int) -> Node:
        members: dict[str, Node] = {}
        if self._next() == "}":
            self._at += 1
            return Node("object", members, offset)
        while True:
            if self._next() != '"':
                raise self._unexpected("a member name")
            start = self._at
            name = self._string()
            if name in members:
                raise self._fault(f"duplicate member `{name}`", start)
            if len(members) == self._limits.event_members:
                raise self._past(f"more than {len(members)} members in an object", start)
            self._take(":", "`:`")
            members[name] = self._part(name)
            if self._next() == "}":
                self._at += 1
                return Node("object", members, offset)
            self._take(",", "`,` or `}`")

    def _part(self, step: str) -> Node:
        self._path.append(step)
        node = self._value()
        self._path.pop()
        return node

    # --- strings --------------------------------------------------------------------------

    def _string(self) -> str:
        start = self._at
        self._at += 1
        parts: list[str] = []
        while True:
            plain = _PLAIN.match(self._text, self._at)
            assert plain is not None
            parts.append(plain[0])
            self._at = plain.end()
            following = self._text[self._at : self._at + 1]
            if following == '"':
                self._at += 1
                break
            if following != "\\":
                what = (
                    "a control character must be escaped" if following else "the string has no end"
                )
                raise self._fault(what)
            parts.append(self._escape())
        text = "".join(parts)
        if utf8_length(text) > self._limits.event_string_bytes:
            longest = self._limits.event_string_bytes
            raise self._past(f"a string is longer than {longest} bytes", start)
        return text

    def _escape(self) -> str:
        start = self._at
        escape = _ESCAPE.match(self._text, start)
        if not escape:
            raise self._fault("the escape is none of JSON's")
        self._at = escape.end()
        if escape[1]:
            return _ESCAPED[escape[1]]
        unit = int(escape[2], 16)
        if not 0xD800 <= unit <= 0xDFFF:
            return chr(unit)
        second = _ESCAPE.match(self._text, self._at)
        low = int(second[2], 16) if second and second[2] else 0
        if unit >= 0xDC00 or not 0xDC00 <= low <= 0xDFFF or not second:
            raise self._fault("the escape is half of a surrogate pair", start)
        self._at = second.end()
        return chr(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
