"""A strict JSON parser (RFC 8259) that keeps the position of each value.

It rejects NaN and infinities, duplicate members, lone surrogates, a byte order mark, invalid UTF-8,
anything after the value, and whatever exceeds the limits.  Numbers keep their text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from tidegate.errors import EventError
from tidegate.evaluation.json_grammar import JsonGrammar, ScalarKind, is_integer
from tidegate.limits import DEFAULT, Limits
from tidegate.values import INT_MAX, INT_MIN, UINT_MAX, Map, UInt, from_python, utf8_length

if TYPE_CHECKING:
    from collections.abc import Callable

Kind: TypeAlias = ScalarKind | Literal["array", "object", "other"]


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
    if is_integer(text) and len(text) <= 20:
        value = int(text)
        if INT_MIN <= value <= INT_MAX:
            return value
        if 0 <= value <= UINT_MAX:
            return UInt(value)
    return float(text)


class _Reader(JsonGrammar):
    """Builds the nodes, within the limits."""

    def __init__(self, text: str, limits: Limits) -> None:
        super().__init__(text)
        self._limits = limits
        self._path: list[str] = []
        self._depth = 0

    def whole(self) -> Node:
        node = self._value()
        self.finish()
        return node

    def fault(self, message: str, at: int) -> EventError:
        return EventError(message, offset=self._offset(at), is_unreadable=True)

    def _offset(self, at: int) -> int:
        return utf8_length(self.text[:at])

    def _past(self, message: str, at: int) -> EventError:
        return EventError(
            message, pointer(self._path), self._offset(at), is_unreadable=not self._path
        )

    def _value(self) -> Node:
        first, start = self.next(), self.at
        if first == "{":
            return self._nested(self._object, start)
        if first == "[":
            return self._nested(self._array, start)
        kind, content = self.scalar()
        if kind == "string":
            self._bounded(content, start)
        return Node(kind, content, self._offset(start))

    def _nested(self, read: Callable[[int], Node], start: int) -> Node:
        if self._depth == self._limits.event_depth:
            deepest = self._limits.event_depth
            raise self._past(f"objects and arrays nest deeper than {deepest}", start)
        self._depth += 1
        node = read(self._offset(start))
        self._depth -= 1
        return node

    def _array(self, offset: int) -> Node:
        elements: list[Node] = []
        for _ in self.items():
            if len(elements) == self._limits.event_members:
                raise self._past(f"more than {len(elements)} elements in an array", self.at)
            elements.append(self._part(str(len(elements))))
        return Node("array", elements, offset)

    def _object(self, offset: int) -> Node:
        members: dict[str, Node] = {}
        for name, start in self.members():
            self._bounded(name, start)
            if name in members:
                raise self.fault(f"duplicate member `{name}`", start)
            if len(members) == self._limits.event_members:
                raise self._past(f"more than {len(members)} members in an object", start)
            self.take(":", "`:`")
            members[name] = self._part(name)
        return Node("object", members, offset)

    def _part(self, step: str) -> Node:
        self._path.append(step)
        node = self._value()
        self._path.pop()
        return node

    def _bounded(self, text: Any, start: int) -> None:
        longest = self._limits.event_string_bytes
        if utf8_length(text) > longest:
            raise self._past(f"a string is longer than {longest} bytes", start)
