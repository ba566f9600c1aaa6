"""Regular expressions: constant patterns, run by an automaton in linear time.

A subject longer than 16 KiB is cut there (before the code point that would cross it)
for matching; ``regex.replace`` keeps what was cut off as it is.

Successive matches do not overlap.  An empty match right where the match before it
ended does not count; the search goes on one code point later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tidegate.functions import failures
from tidegate.functions.automaton import Automaton
from tidegate.functions.bounded import BoundedText
from tidegate.functions.registry import overload
from tidegate.functions.text import strings_in
from tidegate.limits import DEFAULT
from tidegate.values import OptionalValue

Spans = tuple[tuple[int, int] | None, ...]


def _compiled(pattern: str) -> Automaton:
    try:
        return Automaton(pattern)
    except ValueError as error:
        raise failures.invalid_argument("the pattern is no regular expression") from error


def _cut(subject: str) -> str:
    data = subject.encode()
    if len(data) <= DEFAULT.regex_subject_bytes:
        return subject
    return data[: DEFAULT.regex_subject_bytes].decode(errors="ignore")


def _matches(automaton: Automaton, subject: str) -> Iterator[Any]:
    """The spans of each successive match: the whole, then the groups."""
    start, last_end = 0, -1
    while start <= len(subject):
        spans = automaton.search(subject, start)
        if spans is None:
            return
        begin, end = spans[0]
        if begin == end == last_end:
            start = end + 1
            continue
        yield spans
        start = last_end = end


@overload("string.matches(string) -> bool", "matches(string, string) -> bool")
def matches(subject: str, pattern: str) -> bool:
    """``"tacocat".matches("c.t")``: whether the pattern is found anywhere."""
    return _compiled(pattern).search(_cut(subject), 0) is not None


@overload("string.matchesAny(list(string)) -> bool")
def matches_any(subject: str, patterns: list[Any]) -> bool:
    """``"tacocat".matchesAny(["d.g", "c.t"])``; false for an empty list."""
    automata = [_compiled(pattern) for pattern in strings_in(patterns)]
    text = _cut(subject)
    return any(automaton.search(text, 0) is not None for automaton in automata)


def _single_group(pattern: str) -> Automaton:
    automaton = _compiled(pattern)
    if automaton.group_count > 1:
        raise failures.invalid_argument("the pattern has more than one capture group")
    return automaton


def _captured(text: str, spans: Spans) -> str:
    """The group if there is one, else the whole match."""
    return _group(text, spans[-1])


@overload("regex.extract(string, string) -> optional_type(string)")
def extract(subject: str, pattern: str) -> OptionalValue:
    """``regex.extract("item-A", "item-(\\\\w+)").value() == "A"``: the group of the first match.

    The whole match when the pattern has no group.  Empty when there is no match, and when
    there is a group that is empty or took no part.  ``invalid_argument`` for a pattern
    with more than one group.
    """
    automaton, text = _single_group(pattern), _cut(subject)
    spans = automaton.search(text, 0)
    if spans is None or (automaton.group_count and not _captured(text, spans)):
        return OptionalValue()
    return OptionalValue(_captured(text, spans))


@overload("regex.extractAll(string, string) -> list(string)")
def extract_all(subject: str, pattern: str) -> list[str]:
    """``regex.extractAll("id:1, id:2", "id:(\\\\d)") == ["1", "2"]``: of every match.

    As ``regex.extract``; groups that are empty or took no part are left out.
    """
    automaton, text = _single_group(pattern), _cut(subject)
    found = [_captured(text, spans) for spans in _matches(automaton, text)]
    return [part for part in found if part] if automaton.group_count else found


_REPLACEMENT_PART = re.compile(r"\\(?P<escaped>[0-9\\])|(?P<text>[^\\]+)|(?P<wrong>\\)", re.DOTALL)


def _replacement_parts(replacement: str, group_count: int) -> list[str | int]:
    """Texts and numbers of groups, in order."""
    parts: list[str | int] = []
    for match in _REPLACEMENT_PART.finditer(replacement):
        escaped = match["escaped"]
        if match["wrong"] or (escaped and escaped != "\\" and int(escaped) > group_count):
            raise failures.invalid_argument("the replacement refers to no group of the pattern")
        parts.append(match["text"] or (int(escaped) if escaped != "\\" else "\\"))
    return parts


@overload("regex.replace(string, string, string) -> string",
          "regex.replace(string, string, string, int) -> string")  # fmt: skip
def replace(
    subject: str, pattern: str, replacement: str, count: int = -1, *, limit: int
) -> str:
    """``regex.replace("foo bar", "(fo)o (ba)r", "\\\\2 \\\\1") == "ba fo"``.

    The first ``count`` matches, all when it is negative.  In the replacement ``\\0`` is the
    whole match, ``\\1`` to ``\\9`` a group (nothing when it took no part), ``\\\\`` a backslash;
    any other use of a backslash and a number above the pattern's groups is
    ``invalid_argument``, even without a match.
    """
    automaton, text = _compiled(pattern), _cut(subject)
    parts = _replacement_parts(replacement, automaton.group_count)
    built, at = BoundedText(limit), 0
    for number, spans in enumerate(_matches(automaton, text)):
        if number == count:
            break
        begin, end = spans[0]
        built.add(text[at:begin])
        for part in parts:
            built.add(part if isinstance(part, str) else _group(text, spans[part]))
        at = end
    built.add(subject[at:])
    return str(built)


def _group(text: str, span: tuple[int, int] | None) -> str:
    """What a group took, nothing when it took no part."""
    return text[slice(*span)] if span else ""
