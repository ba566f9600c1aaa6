"""Definitions of slugs, renames, formatting, and fixes of findings."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import attrs
from lsprotocol import types as lsp

from tidegate.errors import DefinitionsError, TidegateError
from tidegate.lsp.names import mentions, mentions_in, shape_at, slug_kind
from tidegate.lsp.spot import spot_at
from tidegate.policy.definitions.slugs import form_of_slug, is_slug
from tidegate.policy.document import format_document
from tidegate.policy.document.positions import document_offsets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.lsp.analysis import Analysis
    from tidegate.lsp.names import Mention, Named
    from tidegate.lsp.text import Text

_MEANT = re.compile(r"did you mean `(?P<meant>[^`]+)`\?")
_QUOTED = "quote it"
_BACKTICKS = re.compile(r"`([^`]+)`")


class RenameError(TidegateError):
    """A slug can't be renamed; the message says why."""

    code = "rename"


@attrs.frozen
class Slug:
    """A slug at the cursor: where it is written, and the object that it names."""

    start: int
    end: int
    named: Named


def slug_at(text: Text, offset: int, analysis: Analysis) -> Slug | None:
    """The slug at an offset, in its definition, a reference or an expression."""
    if analysis.root is None:
        return None
    spot = spot_at(analysis.root, text.text, offset)
    if spot is None or spot.is_key:
        return None
    for each in mentions_in(spot.node, spot.shape, text.text):
        if each.start <= offset <= each.end:
            known = _named(analysis, each.section, each.slug)
            return None if known is None else Slug(each.start, each.end, known)
    for named in analysis.objects:
        if named.place is spot.node:
            return Slug(spot.offsets[0], spot.offsets[-1], named)
    return None


def _named(analysis: Analysis, section: str, slug: str) -> Named | None:
    return next((each for each in analysis.slugs(section) if each.slug == slug), None)


def definition(text: Text, offset: int, analysis: Analysis) -> lsp.Range | None:
    """Where the object of the slug at an offset is defined."""
    found = slug_at(text, offset, analysis)
    place = None if found is None else found.named.place
    if place is None:
        return None
    offsets = document_offsets(place, text.text)
    return text.range(offsets[0], offsets[-1])


def references(text: Text, offset: int, analysis: Analysis) -> list[lsp.Range]:
    """Where the slug at an offset is used."""
    found = slug_at(text, offset, analysis)
    if found is None:
        return []
    uses = _mentions(text, analysis, found.named)
    return [text.range(each.start, each.end) for each in sorted(uses, key=lambda each: each.start)]


def _mentions(text: Text, analysis: Analysis, named: Named) -> Iterator[Mention]:
    if analysis.root is None:
        return
    for each in mentions(analysis.root, text.text):
        if each.section == named.section and each.slug == named.slug:
            yield each


def rename(text: Text, offset: int, new: str, analysis: Analysis) -> list[lsp.TextEdit]:
    """The edits that rename the slug at an offset, with all references.

    Raises:
        RenameError: the cursor isn't on a slug, the new one is invalid or taken, or an expression
            that may refer to it doesn't parse.
    """
    found = slug_at(text, offset, analysis)
    if found is None:
        raise RenameError("the cursor isn't on a slug")
    named = found.named
    shape = shape_at((named.section,))
    kind = None if shape is None else slug_kind(shape)
    if kind is None or not is_slug(new, kind):
        raise RenameError(f"`{new}` isn't a slug: {form_of_slug(kind or 'policy')}")
    if new != named.slug and _named(analysis, named.section, new) is not None:
        raise RenameError(f"`{new}` is already the slug of another object")
    broken = next((each for each in analysis.findings if each.code in _UNPARSED), None)
    if broken is not None:
        raise RenameError(
            f"fix the finding `{broken.code}` in line {broken.line} first: that expression may use"
            " the slug"
        )
    uses = _mentions(text, analysis, named)
    edits = [lsp.TextEdit(text.range(each.start, each.end), new) for each in uses]
    return [_definition_edit(text, named, new), *edits]


_UNPARSED = frozenset(
    {"syntax-error", "unterminated-string", "invalid-escape", "invalid-number", "invalid-text"}
    | {"reserved-word", "too-long", "too-deep"}
)


def _definition_edit(text: Text, named: Named, new: str) -> lsp.TextEdit:
    slug = named.members.get("slug")
    if slug is not None and slug[1].value is not None:
        offsets = document_offsets(slug[1], text.text)
        return lsp.TextEdit(text.range(offsets[0], offsets[-1]), new)
    key, name = named.members["name"]
    if slug is not None or key.start is None or name.end is None:
        raise RenameError("write the slug of the object into the document first")
    if name.style in ("literal", "folded"):
        raise RenameError("write the name on one line, or give the object a slug, first")
    line = text.position(key.start).line
    column = key.start - text.starts[line]
    before = text.line(line)[:column]
    is_block = not before.strip("- ")
    quoted = '"slug"' if text.text[key.start] == '"' else "slug"
    ending = "\r\n" if "\r\n" in text.text else "\n"
    added = (
        f"{ending}{' ' * column}slug: {new}" if is_block else f", {quoted}: {_value(quoted, new)}"
    )
    return lsp.TextEdit(text.range(name.end, name.end), added)


def _value(key: str, new: str) -> str:
    return f'"{new}"' if key.startswith('"') else new


def formatted(text: Text) -> list[lsp.TextEdit]:
    """The edits that format the expressions as ``tidegate fmt`` does; none for a broken text."""
    try:
        made = format_document(text.text).text
    except DefinitionsError:
        return []
    if made == text.text:
        return []
    before = text.text.splitlines(keepends=True)
    after = made.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if len(before) > MAX_COMPARED:
        return [lsp.TextEdit(text.range(0, len(text.text)), made)]
    return [
        lsp.TextEdit(text.range(starts[first], starts[last]), "".join(after[start:end]))
        for tag, first, last, start, end in matcher.get_opcodes()
        if tag != "equal"
    ]


MAX_COMPARED = 20_000
"""In a document of more lines the formatted text takes the place of all of it."""


def fixes(
    text: Text, analysis: Analysis, shown: lsp.Range
) -> Iterator[tuple[str, lsp.TextEdit, int]]:
    """The fixes of findings in a range: title, edit, and the finding's index.

    A finding says in its hint how to fix it; those that name the text that was meant, or ask for
    quotes, are offered as edits.
    """
    first, last = text.offset(shown.start), text.offset(shown.end)
    for at, finding in enumerate(analysis.findings):
        span = analysis.span(finding)
        if span.end < first or span.start > last or not finding.hint:
            continue
        meant = _MEANT.search(finding.hint)
        if meant is not None and analysis.root is not None:
            place = _meant_place(text, analysis, span.start, span.end, finding.message)
            if place is not None:
                edit = lsp.TextEdit(text.range(*place), meant["meant"])
                yield f"Replace with `{meant['meant']}`", edit, at
        elif finding.hint.startswith(_QUOTED):
            edit_ = _quoting(text, span.start)
            if edit_ is not None:
                yield "Write the value in single quotes", edit_, at


def _meant_place(
    text: Text, analysis: Analysis, start: int, end: int, message: str
) -> tuple[int, int] | None:
    """Where the text that the message quotes stands: the finding's span may be wider."""
    limit = end
    if analysis.root is not None and (spot := spot_at(analysis.root, text.text, start)) is not None:
        limit = max(end, spot.offsets[-1])
    for quoted in reversed(_BACKTICKS.findall(message)):  # the last is the text that is wrong
        at = text.text.find(quoted, start, max(limit, start + len(quoted)))
        if at >= 0:
            return at, at + len(quoted)
    return None


_MEMBER = re.compile(r"(?P<before>\s*(?:- +)*[A-Za-z_][\w.-]*: +|\s*(?:- +)+)(?P<value>\S.*?)\s*$")


def _quoting(text: Text, offset: int) -> lsp.TextEdit | None:
    """Quotes around the value of the line at an offset."""
    number = text.position(offset).line
    found = _MEMBER.match(text.line(number))
    if found is None or found["value"][0] in "'\"|>":
        return None
    start = text.starts[number] + found.start("value")
    value = found["value"].replace("'", "''")
    return lsp.TextEdit(text.range(start, start + len(found["value"])), f"'{value}'")
