"""Parse a body to plain data: strict JSON (RFC 8259), limited, with the position of errors."""

from __future__ import annotations

import math
from collections import Counter
from itertools import chain
from json import JSONDecodeError, JSONDecoder
from typing import Any

from tidegate.evaluation.json_grammar import MAX_DIGITS, TOO_MANY_DIGITS, JsonGrammar, is_integer
from tidegate.language.tree.diagnostics import Source, quote
from tidegate.policy.definitions.findings import pointer_to
from tidegate_server.http.problems import ErrorDetail, Problem

MAX_DEPTH = 32
MAX_BYTES = 64 * 1024
"""The size limit of a body, unless the route has its own."""


def read_json_body(body: bytes) -> Any:
    """Return the value of a body.

    Refuses NaN and infinities, duplicate members, lone surrogates, a byte order mark, invalid
    UTF-8, integers of more than ``MAX_DIGITS`` digits, and nesting deeper than ``MAX_DEPTH``.

    Raises:
        Problem: ``invalid-json``, with line and column.
    """
    if not body:
        raise Problem("invalid-json", "the body is empty")
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise Problem("invalid-json", f"byte {error.start} of the body is no UTF-8") from None
    return _Body(text).whole() if len(body) <= MAX_BYTES else _read_large(text)


class _Body(JsonGrammar):
    """Builds dicts, lists and scalars."""

    def whole(self) -> Any:
        value = self._value("", 0)
        self.finish()
        return value

    def fault(self, message: str, at: int, pointer: str = "") -> Problem:
        position = Source(self.text).position(at)
        line, column = position.line, position.column
        place = ErrorDetail(detail=message, pointer=pointer, line=line, column=column)
        return Problem("invalid-json", message, errors=[place])

    def _value(self, pointer: str, depth: int) -> Any:
        first, start = self.next(), self.at
        if first in ("{", "["):
            if depth == MAX_DEPTH:
                raise self.fault(_TOO_DEEP, start, pointer)
            return self._object(pointer, depth) if first == "{" else self._array(pointer, depth)
        kind, content = self.scalar()
        return self._number(str(content), start, pointer) if kind == "number" else content

    def _array(self, pointer: str, depth: int) -> list[Any]:
        made: list[Any] = []
        for _ in self.items():
            made.append(self._value(pointer_to(pointer, len(made)), depth + 1))
        return made

    def _object(self, pointer: str, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, start in self.members():
            place = pointer_to(pointer, name)
            if name in made:
                raise self.fault(f"{quote(name)} is given twice", start, place)
            self.take(":", "`:`")
            made[name] = self._value(place, depth + 1)
        return made

    def _number(self, text: str, start: int, pointer: str) -> int | float:
        try:
            return _integer(text) if is_integer(text) else _finite(text)
        except Problem as problem:
            raise self.fault(problem.detail, start, pointer) from None


def _read_large(text: str) -> Any:
    """Return the value of a text that may have a million values, without their positions.

    It holds the text to the same rules in an eighth of the time or less.

    Raises:
        Problem: as for a small one, but only syntax errors have a line.
    """
    try:
        value = _LARGE.decode(text)
    except JSONDecodeError as error:
        raise _Body(text).fault(error.msg.lower(), error.pos) from None
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


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise Problem("invalid-json", TOO_MANY_DIGITS)
    return int(digits)


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
    parse_int=_integer,
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
