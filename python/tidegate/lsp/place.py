"""The place of a cursor in a document that may be broken, since it is being written.

A YAML parser reads nothing of a document with a mistake, and the line that somebody types has one
most of the time.  So the place is found by indentation, line by line upwards, and by the brackets
and quotes of the line itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

if TYPE_CHECKING:
    from tidegate.lsp.text import Text

ITEM = "*"
"""An item of a list, in a path."""
Style: TypeAlias = Literal["plain", "single", "double", "block"]
_KEY = re.compile(r"(?P<key>\"[^\"]*\"|'[^']*'|[A-Za-z_][\w.-]*)\s*:(?=\s|$)\s*")
_DASH = re.compile(r"-(?:\s+|$)")
_HEADER = re.compile(r"[|>][-+0-9]*\s*(?:#.*)?$")
_ESCAPE = re.compile(r"\\(?:x(..)|u(....)|U(........)|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b", "N": "\x85", "_": "\xa0"}
_FOLD = re.compile(r"[ \t]*(?:\r\n|\n|\r)[ \t]*")
_FLOW = re.compile(
    r"\s+|[\[\]{},]|\"(?:\\.|[^\"\\])*\"?|'(?:''|[^'])*'?|:|[^\s\[\]{},\"'][^\[\]{},]*"
)
_FLOW_KEY = re.compile(r"(?P<key>[A-Za-z_][\w.-]*)\s*:(?:\s+(?P<rest>.*)|$)", re.DOTALL)
MAX_LINES = 200_000
"""Most lines that are read upwards."""
MAX_OBJECT_LINES = 5_000
"""Most lines that are read for the members of one object."""


@attrs.frozen
class Place:
    """A place in a document.

    Attributes:
        path: names of members, and :data:`ITEM` for each list, from the outside.
        is_key: whether the name of a member is being written, else a value.
        text: the value up to the cursor, as YAML reads it; or the name of the member.
        style: how the value is written.
        siblings: members that the object around has.
    """

    path: tuple[str, ...]
    is_key: bool
    text: str
    style: Style = "plain"
    siblings: frozenset[str] = frozenset()

    def written(self, value: str) -> str:
        """A part of the value as the document writes it."""
        if self.style == "double":
            return value.replace("\\", "\\\\").replace('"', '\\"')
        return value.replace("'", "''") if self.style == "single" else value


@attrs.frozen
class _Line:
    """One line: its dashes and its member, by columns."""

    dashes: tuple[int, ...]
    key: str | None
    column: int
    """Where the member, or the text without one, begins."""
    rest: str
    rest_column: int


def place_at(text: Text, offset: int) -> Place:
    """The place at an offset.

    Args:
        text: the document.
        offset: of the cursor.
    """
    if text.text.lstrip()[:1] == "{":
        return _in_flow((), text.text[:offset], frozenset())
    number = text.position(offset).line
    before = text.text[text.starts[number] : offset]
    whole = text.line(number)
    is_blank = not whole.strip()
    limit = len(before) if is_blank else len(whole) - len(whole.lstrip(" "))
    current = _read(before)
    above = _above(text, number, limit, is_item=bool(current.dashes))
    if above.scalar is not None:
        return _in_scalar(text, above, offset)
    path = above.path + (ITEM,) * len(current.dashes)
    if current.key is not None:
        siblings = _siblings(text, number, current.column)
        return _in_value((*path, current.key), current.rest, siblings)
    if current.dashes:
        siblings = _siblings(text, number, current.column)
        return _in_value(path, current.rest, siblings)
    return Place(path, True, before.strip(), siblings=_siblings(text, number, limit))


@attrs.frozen
class _Above:
    path: tuple[str, ...]
    scalar: int | None = None
    """The line at which the scalar or flow around the cursor begins; None outside of both."""
    column: int = 0
    is_block: bool = False
    owner: int = 0
    """The column of the member that has the scalar."""


def _above(text: Text, number: int, limit: int, *, is_item: bool) -> _Above:
    """The members and lists around a line, by the lines above it."""
    path: list[str] = []
    found: _Above | None = None
    after_dash = is_item
    for at in range(number - 1, max(-1, number - 1 - MAX_LINES), -1):
        start = text.starts[at]
        if text.text.startswith(" " * (limit + after_dash), start):
            continue  # deeper, as most lines of a large document are
        if after_dash and text.text.startswith("- ", start + limit):
            continue  # an earlier item of the same list
        content = text.line(at)
        if not content.strip() or content.lstrip().startswith("#"):
            continue
        line = _read(content)
        is_parent = line.key is not None and (
            line.column < limit or (after_dash and line.column == limit and not line.dashes)
        )
        is_list = line.key is None and bool(line.dashes) and line.dashes[-1] < limit
        if (is_parent or is_list) and _begins_scalar(line.rest):
            is_block = _HEADER.match(line.rest) is not None
            path.clear()
            owner = line.column if is_parent else line.dashes[-1]
            found = _Above((), at, line.rest_column, is_block, owner)
        if is_parent and line.key is not None:
            path.append(line.key)
            limit, after_dash = line.column, False
        for dash in reversed(line.dashes):
            if dash < limit:
                path.append(ITEM)
                limit, after_dash = dash, True
        if limit == 0 and not after_dash:
            break
    names = tuple(reversed(path))
    return _Above(names) if found is None else attrs.evolve(found, path=names)


def _begins_scalar(rest: str) -> bool:
    """Whether the lines below may go on with a value that begins here."""
    return bool(rest) and not rest.startswith("#")


def _read(content: str) -> _Line:
    at = len(content) - len(content.lstrip(" "))
    dashes = []
    while (dash := _DASH.match(content, at)) is not None:
        dashes.append(at)
        at = dash.end()
    key = _KEY.match(content, at)
    if key is None:
        return _Line(tuple(dashes), None, at, content[at:], at)
    name = key["key"].strip("\"'")
    return _Line(tuple(dashes), name, at, content[key.end() :], key.end())


def _siblings(text: Text, number: int, column: int) -> frozenset[str]:
    """The members of the object that has members at this column."""
    found: set[str] = set()
    if not _read(text.line(number)).dashes:
        found |= _in_direction(text, number, column, -1)
    return frozenset(found | _in_direction(text, number, column, 1))


def _in_direction(text: Text, number: int, column: int, step: int) -> set[str]:
    found: set[str] = set()
    at = number + step
    while 0 <= at < len(text.starts) and abs(at - number) < MAX_OBJECT_LINES:
        content = text.line(at)
        line = _read(content)
        at += step
        if not content.strip() or content.lstrip().startswith("#"):
            continue
        if line.column < column or (step > 0 and line.dashes and line.dashes[0] < column):
            break
        if line.column == column and line.key is not None:
            found.add(line.key)
            if line.dashes:
                break
    return found


def _in_scalar(text: Text, above: _Above, offset: int) -> Place:
    assert above.scalar is not None
    start = text.starts[above.scalar] + above.column
    if not above.is_block:
        return _in_value(above.path, text.text[start:offset], frozenset())
    last = text.position(offset).line
    first = next(
        (at for at in range(above.scalar + 1, last + 1) if text.line(at).strip()), above.scalar + 1
    )
    indent = len(text.line(first)) - len(text.line(first).lstrip(" "))
    lines = [text.line(at)[indent:] for at in range(above.scalar + 1, last)]
    lines.append(text.text[text.starts[last] : offset][indent:])
    return Place(above.path, False, "\n".join(lines), "block", _around(text, above))


def _around(text: Text, above: _Above) -> frozenset[str]:
    assert above.scalar is not None
    return _siblings(text, above.scalar, above.owner)


def _in_value(path: tuple[str, ...], raw: str, siblings: frozenset[str]) -> Place:
    """The place in a value that may be a flow collection."""
    if raw[:1] in "{[" and raw:
        return _in_flow(path, raw, siblings)
    value, style = _decoded(raw)
    return Place(path, False, value, style, siblings)


def _decoded(raw: str) -> tuple[str, Style]:
    """A scalar up to the cursor as YAML reads it, and its style."""
    folded = _FOLD.sub(lambda each: "\n" if each[0].count("\n") > 1 else " ", raw)
    if folded[:1] == "'":
        return folded[1:].replace("''", "'"), "single"
    if folded[:1] == '"':
        return _ESCAPE.sub(_unescaped, folded[1:]), "double"
    return folded, "plain"


def _unescaped(found: re.Match[str]) -> str:
    digits = found[1] or found[2] or found[3]
    if not digits:
        return _ESCAPED.get(found[4], found[4])
    try:
        return chr(int(digits, 16))
    except (ValueError, OverflowError):
        return found[0]


@attrs.define
class _Open:
    is_map: bool
    name: str | None = None
    members: list[str] = attrs.field(factory=list)


def _in_flow(path: tuple[str, ...], raw: str, around: frozenset[str]) -> Place:
    """The place at the end of the beginning of a flow collection, or of JSON."""
    stack: list[_Open] = []
    last = ""
    for found in _FLOW.finditer(raw):
        part = found[0]
        if part in {"{", "["} and not last:
            stack.append(_Open(part == "{"))
        elif part in {"}", "]"}:
            last = ""
            if stack:
                stack.pop()
        elif part == "," and stack:
            last = ""
            stack[-1].name = None
        elif part.isspace():
            last += part if last else ""
        elif stack and stack[-1].is_map and stack[-1].name is None:
            last = _member(stack[-1], last + part)
        else:
            last += part
    names = list(path)
    for each in stack:
        names += [] if each.is_map else [ITEM]
        names += [each.name] if each.is_map and each.name is not None else []
    inner = stack[-1] if stack else None
    siblings = frozenset(inner.members) if inner is not None and inner.is_map else around
    if inner is not None and inner.is_map and inner.name is None:
        return Place(tuple(names), True, last.strip("\"' "), siblings=siblings)
    value, style = _decoded(last)
    return Place(tuple(names), False, value, style, siblings)


def _member(inner: _Open, written: str) -> str:
    """Note the member that a text names, if it is complete; the rest begins its value."""
    if written[:1] in "\"'":
        name, colon, rest = written[1:].partition(written[0])
        if colon and rest.lstrip()[:1] == ":":
            inner.name = name
            inner.members.append(name)
            return rest.lstrip()[1:].lstrip()
        return written
    found = _FLOW_KEY.match(written)
    if found is None:
        return written
    inner.name = found["key"]
    inner.members.append(found["key"])
    return found["rest"] or ""
