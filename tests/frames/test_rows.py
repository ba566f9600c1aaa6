"""Rows of columns as JSON."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.evaluation import native
from tidegate.frames.rows import Column, write_rows

CELLS = (
    st.none() | st.text(max_size=8) | st.sampled_from(["{}", '{"a":1}', "[1", "NaN", '"', "{}{}"])
)


def column(before: str, is_json: bool, cells: list[str | None], first: int = 0) -> Column:
    """A column of these values."""
    texts = [(cell or "").encode() for cell in cells]
    places = [first]
    for text in texts:
        places.append(places[-1] + len(text))
    nulls = bytes(cell is None for cell in cells)
    return before, is_json, b"".join(texts), struct.pack(f"={len(places)}q", *places), nulls


@given(
    st.lists(st.tuples(st.booleans(), CELLS, CELLS, CELLS), max_size=4),
    st.integers(0, 2**40),
)
def test_the_native_writer_is_the_definition(rows: list[tuple[bool, ...]], first: int) -> None:
    """Both writers give the same rows, and name the same column that has no JSON."""
    columns = [
        column(f'{"," if number else "{"}"{number}":', is_json, list(cells), first)  # type: ignore[arg-type]
        for number, (is_json, *cells) in enumerate(rows)
    ]
    count = 3 if rows else 0
    after = "}" if rows else ""
    assert native.write_rows(columns, after, count) == write_rows(columns, after, count)


def test_texts_are_escaped_and_json_is_kept() -> None:
    """A text can't leave its quotes, and text that isn't one JSON value gives its column."""
    columns = [
        column('{"a":', False, ['"}\n', None]),
        column(',"b":', True, ['{"c": 1}', '1,"d":2']),
    ]
    assert write_rows(columns, "}", 2) == [b'{"a":"\\"}\\n","b":{"c": 1}}', 1]


@pytest.mark.parametrize(
    "broken",
    [
        ('{"a":', False, b"abc", struct.pack("=2q", 0, 9), None),
        ('{"a":', False, b"abc", struct.pack("=2q", 2, 1), None),
        ('{"a":', False, b"abc", struct.pack("=2q", -1, 1), None),
        ('{"a":', False, b"abc", struct.pack("=3q", 0, 1, 2), None),
        ('{"a":', False, "ä".encode(), struct.pack("=2q", 0, 1), None),
        ('{"a":', False, b"\xff", struct.pack("=2q", 0, 1), None),
        ('{"a":', False, b"", b"", None),
    ],
)
def test_offsets_that_are_none_are_refused(broken: Column) -> None:
    """Offsets outside the values, or inside a character, are an error instead of a crash."""
    with pytest.raises(ValueError, match="no column of 1 texts"):
        native.write_rows([broken], "}", 1)
