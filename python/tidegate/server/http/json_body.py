"""A body as plain data: strict JSON (RFC 8259), bounded, with the place of a fault."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tidegate.language.tree.diagnostics import Source, quote
from tidegate.policy.definitions.findings import pointer_to
from tidegate.policy.document.json_text import compose_json
from tidegate.policy.document.names import KNOWN
from tidegate.policy.document.tree import Mapping, Scalar, UnreadableDocumentError
from tidegate.server.http.problems import ErrorDetail, Problem

if TYPE_CHECKING:
    from tidegate.policy.document.tree import Node

MAX_DEPTH = 32
MAX_BYTES = 64 * 1024
"""The bound of a body, where the route names no other."""
MAX_FREELY_NAMED = 1024 * 1024
"""A larger body is a list, or a definitions document in a draft: no event is as large."""


def read_json_body(body: bytes) -> Any:
    """The value of a body.

    Refused are NaN and infinities, duplicate members, lone surrogates, a byte order mark,
    invalid UTF-8, and whatever nests deeper than ``MAX_DEPTH``.

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
        known = KNOWN if len(body) > MAX_FREELY_NAMED else None
        return _Plain(Source(text)).value(compose_json(text, known), "", 0)
    except UnreadableDocumentError as error:
        raise _refusal(Source(text), error.finding.message, error.finding.offset) from None


def _refusal(source: Source, message: str, offset: int | None, pointer: str = "") -> Problem:
    position = source.position(offset or 0)
    place = ErrorDetail(detail=message, pointer=pointer, line=position.line, column=position.column)
    return Problem("invalid-json", message, errors=[place])


class _Plain:
    """A tree to dicts, lists and scalars."""

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
                # The pointer could hold the very character that cannot be sent.
                raise self._refuse(message, node, "") from None
        return value

    def _refuse(self, message: str, node: Node, pointer: str) -> Problem:
        return _refusal(self._source, message, node.start, pointer)
