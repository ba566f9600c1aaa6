"""Parse a body to plain data: strict JSON (RFC 8259), limited, with the position of errors."""

from __future__ import annotations

import math
from collections import Counter
from itertools import chain
from json import JSONDecodeError, JSONDecoder
from typing import TYPE_CHECKING, Any

from tidegate.language.tree.diagnostics import Source, quote
from tidegate.policy.definitions.findings import pointer_to
from tidegate.policy.document.expected import ANY
from tidegate.policy.document.json_text import compose_json
from tidegate.policy.document.tree import Mapping, Scalar, UnreadableDocumentError
from tidegate.server.http.problems import ErrorDetail, Problem

if TYPE_CHECKING:
    from tidegate.policy.document.tree import Node

MAX_DEPTH = 32
MAX_BYTES = 64 * 1024
"""The size limit of a body, unless the route has its own."""


def read_json_body(body: bytes) -> Any:
    """Return the value of a body.

    Refuses NaN and infinities, duplicate members, lone surrogates, a byte order mark, invalid
    UTF-8, and nesting deeper than ``MAX_DEPTH``.

    Raises:
        Problem: ``invalid-json``, with line and column.
    """
    if not body:
        raise Problem("invalid-json", "the body is empty")
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise Problem("invalid-json", f"byte {error.start} of the body is no UTF-8") from None
    try:
        if len(body) > MAX_BYTES:
            return _read_large(text)
        return _Plain(Source(text)).value(compose_json(text, ANY), "", 0)
    except UnreadableDocumentError as error:
        raise _refusal(Source(text), error.finding.message, error.finding.offset) from None


def _read_large(text: str) -> Any:
    """Return the value of a text that may have a million values, without their positions.

    Raises:
        Problem: as for a small one, but only syntax errors have a line.
    """
    try:
        value = _LARGE.decode(text)
    except JSONDecodeError as error:
        raise _refusal(Source(text), error.msg.lower(), error.pos) from None
    except ValueError:  # Python's limit on digits
        raise Problem("invalid-json", "a whole number has too many digits") from None
    except RecursionError:
        raise Problem("invalid-json", _TOO_DEEP) from None
    _check(value, 0)
    return value


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(members)
    if len(made) != len(members):
        [(twice, _)] = Counter(name for name, _ in members).most_common(1)
        raise Problem("invalid-json", f"{quote(twice)} is given twice")
    return made


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise Problem("invalid-json", "a number is too large")
    return value


def _no_number(word: str) -> None:
    raise Problem("invalid-json", f"`{word}` is no number")


_TOO_DEEP = f"nested deeper than {MAX_DEPTH}"
_LARGE = JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=_finite,
    parse_constant=_no_number,
)


def _check(value: Any, depth: int) -> None:
    """Refuse values that the decoder accepts but JSON doesn't."""
    if isinstance(value, str):
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                message = "the text has half of a surrogate pair"
                raise Problem("invalid-json", message) from None
        return
    if isinstance(value, (dict, list)):
        if depth == MAX_DEPTH:
            raise Problem("invalid-json", _TOO_DEEP)
        for each in chain(value, value.values()) if isinstance(value, dict) else value:
            if isinstance(each, (str, dict, list)):
                _check(each, depth + 1)


def _refusal(source: Source, message: str, offset: int | None, pointer: str = "") -> Problem:
    position = source.position(offset or 0)
    place = ErrorDetail(detail=message, pointer=pointer, line=position.line, column=position.column)
    return Problem("invalid-json", message, errors=[place])


class _Plain:
    """Converts a tree to dicts, lists and scalars."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def value(self, node: Node, pointer: str, depth: int) -> Any:
        if isinstance(node, Scalar):
            return self._scalar(node, pointer)
        if depth == MAX_DEPTH:
            raise self._refuse(f"nested deeper than {MAX_DEPTH}", node, pointer)
        if isinstance(node, Mapping):
            return self._object(node, pointer, depth)
        items = enumerate(node.items)
        return [self.value(each, pointer_to(pointer, at), depth + 1) for at, each in items]

    def _object(self, node: Mapping, pointer: str, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for key, value in node.entries:
            name = self._scalar(key, pointer)
            place = pointer_to(pointer, name)
            if name in members:
                raise self._refuse(f"{quote(name)} is given twice", key, place)
            members[name] = self.value(value, place, depth + 1)
        return members

    def _scalar(self, node: Scalar, pointer: str) -> Any:
        value = node.value
        if isinstance(value, float) and not math.isfinite(value):
            raise self._refuse("a number is too large", node, pointer)
        if isinstance(value, str) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                message = "the text has half of a surrogate pair"
                # The pointer could contain the very character that can't be sent.
                raise self._refuse(message, node, "") from None
        return value

    def _refuse(self, message: str, node: Node, pointer: str) -> Problem:
        return _refusal(self._source, message, node.start, pointer)
