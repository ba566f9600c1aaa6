"""Rows of columns as JSON objects: the definition, which the native ``write_rows`` must match."""

from __future__ import annotations

import json
import struct
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from tidegate.errors import EventError
from tidegate.evaluation.json_text import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Column: TypeAlias = "tuple[str, bool, bytes, bytes, bytes | None]"
"""The text before each value; whether the values are JSON instead of texts; all values together, in
UTF-8; 64-bit offsets where each begins and the last ends, counted from a place of their own; and a
byte for each that isn't zero where it is null."""


def quoted(text: str) -> str:
    """A text as JSON."""
    return json.dumps(text, ensure_ascii=False)


def write_rows(columns: Sequence[Column], after: str, count: int) -> list[bytes | int]:
    """The object of each row, or the number of the first column whose value isn't JSON.

    Args:
        columns: in the order of the text.
        after: the text after the last value.
        count: the number of rows.
    """
    cells = [list(_cells(column)) for column in columns]
    return [_row([each[row] for each in cells], after) for row in range(count)]


def _cells(column: Column) -> Iterator[tuple[str, str | None]]:
    """The text before a value, and the JSON of the value; None where it isn't JSON."""
    before, is_json, data, offsets, nulls = column
    places = struct.unpack(f"={len(offsets) // 8}q", offsets)
    for row, (start, end) in enumerate(pairwise(places)):
        text = data[start - places[0] : end - places[0]].decode()
        if nulls is not None and nulls[row]:
            yield before, "null"
        elif is_json:
            yield before, text if _is_json(text) else None
        else:
            yield before, quoted(text)


def _row(cells: Sequence[tuple[str, str | None]], after: str) -> bytes | int:
    parts = []
    for number, (before, value) in enumerate(cells):
        if value is None:
            return number
        parts += [before, value]
    return "".join([*parts, after]).encode()


def _is_json(text: str) -> bool:
    try:
        read_json(text.encode())
    except EventError:
        return False
    return True
