"""Locates places within a value in the document's text.

The value of a quoted, folded or indented scalar is not a slice of the document.  So both are walked
in parallel: white space in the value matches any white space in the document, an escape matches the
character it produces.  That is exact for plain, quoted and literal scalars, and for folded ones up
to where words were joined.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from tidegate.language.tree.ast import Span
from tidegate.language.tree.diagnostics import Source
from tidegate.policy.definitions.findings import SecondPlace
from tidegate.policy.document.tree import Scalar, find

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.policy.definitions.findings import Finding
    from tidegate.policy.document.tree import Node

_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}"
    r"|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[^\n])"
)
_BLOCK_HEADER = re.compile(r"[|>][^\n]*\n?")
_BREAKS = "\r\n\x85\u2028\u2029"
"""The characters that end a line in YAML."""
_BREAK = re.compile(f"[{_BREAKS}]")
_COMMENT = re.compile(r"[ \t]+#")
_BLANKS = " \t" + _BREAKS
_LONGEST = 64 * 1024
"""In a longer scalar a finding points at the beginning; no expression is that long."""


def locate(findings: Iterable[Finding], root: Node, source: Source | None) -> list[Finding]:
    """The findings with line, column and excerpt, in document order."""
    if source is None:
        return list(findings)
    placed = [(place_of(each, root, source.text), each) for each in findings]
    placed.sort(key=lambda pair: pair[0].start)
    return [
        attrs.evolve(
            _at(each, span, source),
            second=_second(each, root, source),
            hint=_cut_hint(each, root, source.text) or each.hint,
        )
        for span, each in placed
    ]


def _cut_hint(finding: Finding, root: Node, text: str) -> str | None:
    """How to write an expression that YAML has cut at a supposed comment."""
    node = find(root, finding.pointer) if finding.span is not None else None
    if not isinstance(node, Scalar) or node.style != "plain" or node.end is None:
        return None
    if not _COMMENT.match(text, node.end):
        return None
    return "quote it: YAML takes ` #` for the beginning of a comment; single quotes go around it"


def _second(finding: Finding, root: Node, source: Source) -> tuple[SecondPlace, ...]:
    """A finding's other places, with line and column."""
    placed = []
    for each in finding.second:
        node = find(root, each.pointer)
        known = node.start if node is not None and node.start is not None else 0
        at = known if each.offset is None else each.offset
        position = source.position(at)
        placed.append(attrs.evolve(each, line=position.line, column=position.column, offset=at))
    return tuple(placed)


def at_offset(finding: Finding, source: Source | None) -> Finding:
    """A finding that has only an offset, with line, column and excerpt."""
    if source is None or finding.offset is None:
        return finding
    return _at(finding, Span(finding.offset, finding.offset + 1), source)


def _at(finding: Finding, span: Span, source: Source) -> Finding:
    position = source.position(span.start)
    return attrs.evolve(
        finding,
        line=position.line,
        column=position.column,
        excerpt=source.excerpt(span),
        offset=span.start,
    )


def place_of(finding: Finding, root: Node, text: str) -> Span:
    """The part of a document that a finding is about.

    Args:
        finding: one without an offset; of one that has it, the part is a single code point.
        root: the tree of the document.
        text: the document.
    """
    if finding.offset is not None:
        return Span(finding.offset, finding.offset + 1)
    node = find(root, finding.pointer)
    if node is None or node.start is None or node.end is None:
        return Span(0, 1)
    if finding.span is None or not isinstance(node, Scalar) or len(str(node.value)) > _LONGEST:
        return Span(node.start, node.end)
    offsets = document_offsets(node, text)
    last = len(offsets) - 1
    start = offsets[min(finding.span.start, last)]
    return Span(start, offsets[min(max(finding.span.end - 1, finding.span.start), last)] + 1)


def document_offsets(node: Scalar, text: str) -> list[int]:
    """The document offset of each code point in a scalar's value, and of its end."""
    if node.start is None or node.end is None or not isinstance(node.value, str):
        return [0]
    at = _first(node, text, node.start)
    offsets: list[int] = []
    for character in node.value:
        at = _skip_to(character, node, text, at)
        offsets.append(min(at, node.end))
        at += _width(character, node, text, at)
    offsets.append(min(at, node.end))
    return offsets


def joins_lines(node: Scalar, text: str, span: Span) -> bool:
    """Whether a part of a scalar's value spans several lines of the document."""
    if node.start is None or node.end is None or node.style == "literal":
        return False
    if not _BREAK.search(text, node.start, node.end):
        return False
    offsets = document_offsets(node, text)
    return _BREAK.search(text, offsets[span.start], offsets[span.end - 1]) is not None


def _first(node: Scalar, text: str, start: int) -> int:
    """Skip the opening quote, or the header line of a block scalar."""
    if node.style in ("single", "double"):
        return start + 1
    header = _BLOCK_HEADER.match(text, start) if node.style in ("literal", "folded") else None
    return header.end() if header else start


def _skip_to(character: str, node: Scalar, text: str, at: int) -> int:
    """Skip text that is in the document but not in the value: indentation and folds."""
    # After a continued line YAML drops the indentation, so a blank of the value is an escape there.
    if character in _BLANKS and not _is_continuation(node, text, at):
        return at
    while at < len(text) and (text[at] in _BLANKS or _is_continuation(node, text, at)):
        at += 1
    return at


def _is_continuation(node: Scalar, text: str, at: int) -> bool:
    escapes = node.style == "double" and text.startswith("\\", at)
    return escapes and text[at + 1 : at + 2] in tuple(_BREAKS)


def _width(character: str, node: Scalar, text: str, at: int) -> int:
    """How many code points of the document produce one of the value."""
    if node.style == "double" and text.startswith("\\", at):
        escape = _ESCAPE.match(text, at)
        return escape.end() - at if escape else 1
    if node.style == "single" and character == "'":
        return 2
    if character in _BLANKS and text[at : at + 1] not in (*_BLANKS,):
        return 0
    return 1
