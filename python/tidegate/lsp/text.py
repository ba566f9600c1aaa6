"""The text of an open document, with positions as the Language Server Protocol counts them.

Offsets are code points.  A position of the protocol (3.17, "Position") is a line and UTF-16 units
in it; lines end with LF, CRLF or CR, and with nothing else.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

import attrs
from lsprotocol import types as lsp

_ENDS = re.compile(r"\r\n|\n|\r")
_ASTRAL = 0x10000


@attrs.frozen(slots=False)
class Text:
    """A text that doesn't change; a change makes another."""

    text: str

    @cached_property
    def starts(self) -> list[int]:
        """The offset at which each line begins."""
        return [0, *(each.end() for each in _ENDS.finditer(self.text))]

    def line(self, number: int) -> str:
        """A line without its end; empty past the last one."""
        if not 0 <= number < len(self.starts):
            return ""
        is_last = number + 1 == len(self.starts)
        end = len(self.text) if is_last else self.starts[number + 1]
        return self.text[self.starts[number] : end].rstrip("\r\n")

    def offset(self, position: lsp.Position) -> int:
        """The offset of a position; past the end of a line or the text, that end."""
        if position.line >= len(self.starts):
            return len(self.text)
        at = self.starts[position.line]
        units = position.character
        for character in self.line(position.line):
            if units <= 0:
                break
            units -= 2 if ord(character) >= _ASTRAL else 1
            at += 1
        return at

    def position(self, offset: int) -> lsp.Position:
        """The position of an offset; past the end of the text, its end."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self.starts, offset) - 1
        before = self.text[self.starts[line] : offset]
        units = len(before) + sum(ord(each) >= _ASTRAL for each in before)
        return lsp.Position(line, units)

    def range(self, start: int, end: int) -> lsp.Range:
        """The range between two offsets."""
        return lsp.Range(self.position(start), self.position(end))

    def changed(self, change: lsp.TextDocumentContentChangeEvent) -> Text:
        """The text after a change of a part, or of all of it."""
        if isinstance(change, lsp.TextDocumentContentChangeWholeDocument):
            return Text(change.text)
        start = self.offset(change.range.start)
        end = max(start, self.offset(change.range.end))
        made = Text(self.text[:start] + change.text + self.text[end:])
        if not _has_end(self.text[max(0, start - 1) : end + 1]) and not _has_end(change.text):
            # The lines stay; to find those of a large document takes longer than a key may.
            line = bisect_right(self.starts, start)
            moved = len(change.text) - (end - start)
            later = [each + moved for each in self.starts[line:]]
            made.__dict__["starts"] = self.starts[:line] + later
        return made


def _has_end(text: str) -> bool:
    return "\n" in text or "\r" in text
