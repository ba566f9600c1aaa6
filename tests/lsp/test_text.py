"""Positions of the protocol and offsets of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types as lsp

from tidegate.lsp.text import Text

PIECES = st.lists(st.sampled_from(["a", "é", "\U0001f600", "\n", "\r\n", "\r", "\u2028", "\x0c"]))


def test_astral_characters_count_twice() -> None:
    """A position counts UTF-16 units, an offset code points."""
    text = Text("a\U0001f600b\r\nc")
    assert text.position(3) == lsp.Position(0, 4)
    assert text.offset(lsp.Position(0, 3)) == 2
    assert text.position(5) == lsp.Position(1, 0)


def test_only_three_ends_of_lines_count() -> None:
    """U+2028 and form feeds are in a line, as the protocol says."""
    assert Text("a\u2028b\x0cc\x85d").position(6) == lsp.Position(0, 6)


@given(PIECES)
def test_an_offset_has_one_position(pieces: list[str]) -> None:
    """An offset that isn't within CRLF is found again by its position."""
    text = Text("".join(pieces))
    for at in range(len(text.text) + 1):
        if text.text[at - 1 : at + 1] != "\r\n" or at == 0:
            assert text.offset(text.position(at)) == at


@given(PIECES, PIECES, st.data())
def test_a_change_makes_the_text_of_its_parts(
    pieces: list[str], added: list[str], data: st.DataObject
) -> None:
    """A changed text has the lines of a text that was read anew."""
    text = Text("".join(pieces))
    assert text.starts
    ends = sorted(data.draw(st.tuples(*[st.integers(0, len(text.text))] * 2)))
    start, end = (text.offset(text.position(each)) for each in ends)
    new = "".join(added)
    changed = text.changed(lsp.TextDocumentContentChangePartial(text.range(start, end), new))
    assert changed.text == text.text[:start] + new + text.text[end:]
    assert changed.starts == Text(changed.text).starts


@pytest.mark.parametrize("position", [lsp.Position(9, 0), lsp.Position(0, 99)])
def test_positions_past_the_end_are_the_end(position: lsp.Position) -> None:
    """A client may ask past the end of a line or of the text."""
    assert Text("abc").offset(position) == 3
