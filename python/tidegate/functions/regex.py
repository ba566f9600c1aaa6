"""Regular expressions: constant patterns, run by an automaton in linear time.

A subject longer than 16 KiB is cut there (before the code point that would cross it)
for matching; ``regex.replace`` keeps what was cut off as it is.

Successive matches do not overlap.  An empty match right where the previous match ended does not
count; the search continues one code point later.  Each search may read the whole rest of the
subject, so each match found costs reading the subject once.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidegate.functions import failures
from tidegate.functions.automaton import automaton, clip
from tidegate.functions.bounded import BoundedText
from tidegate.functions.registry import overload
from tidegate.functions.text import strings_in
from tidegate.regex import Regex, RegexError, parse
from tidegate.values import OptionalValue, utf8_length

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.functions.automaton import Automaton, Span
    from tidegate.values import Charge


@contextmanager
def _refused_patterns() -> Iterator[None]:
    try:
        yield
    except RegexError as error:
        raise failures.invalid_argument("the pattern is no regular expression") from error


def _parsed(pattern: str) -> Regex:
    with _refused_patterns():
        return parse(pattern)


def _automaton(pattern: str) -> Automaton:
    with _refused_patterns():
        return automaton(pattern)


@overload("string.matches(string) -> bool", "matches(string, string) -> bool")
def matches(subject: str, pattern: str) -> bool:
    """``"tacocat".matches("c.t")``: whether the pattern is found anywhere."""
    return _automaton(pattern).is_match(clip(subject))


@overload("string.matchesAny(list(string)) -> bool")
def matches_any(subject: str, patterns: list[Any]) -> bool:
    """``"tacocat".matchesAny(["d.g", "c.t"])``; false for an empty list."""
    automata = [_automaton(pattern) for pattern in strings_in(patterns)]
    return any(each.is_match(clip(subject)) for each in automata)


def _has_group(pattern: str) -> bool:
    """Whether the pattern has a capture group; ``invalid_argument`` if it has several."""
    groups = len(_parsed(pattern).group_names)
    if groups > 1:
        raise failures.invalid_argument("the pattern has more than one capture group")
    return groups == 1


def _taken(text: str, span: Span | None) -> str:
    """The text of a match or a group; empty if the group took no part."""
    return text[slice(*span)] if span else ""


@overload("regex.extract(string, string) -> optional_type(string)")
def extract(subject: str, pattern: str) -> OptionalValue:
    """``regex.extract("item-A", "item-(\\\\w+)").value() == "A"``: the group of the first match.

    The whole match when the pattern has no group.  Empty when there isn't a match, and when
    there is a group that is empty or took no part.  ``invalid_argument`` for a pattern
    with more than one group.
    """
    has_group, text = _has_group(pattern), clip(subject)
    match = _automaton(pattern).search(text)
    if match is None:
        return OptionalValue()
    if not has_group:
        return OptionalValue(_taken(text, match.span))
    group = _taken(text, match.groups[0])
    return OptionalValue(group) if group else OptionalValue()


@overload("regex.extractAll(string, string) -> list(string)")
def extract_all(subject: str, pattern: str, *, charge: Charge) -> list[str]:
    """``regex.extractAll("id:1, id:2", "id:(\\\\d)") == ["1", "2"]``: of every match.

    As ``regex.extract``; groups that are empty or took no part are left out.
    """
    has_group, text = _has_group(pattern), clip(subject)
    found = []
    for match in _automaton(pattern).find_all(text):
        charge(utf8_length(text) // 16)
        found.append(_taken(text, match.groups[0] if has_group else match.span))
    return [part for part in found if part] if has_group else found


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
    subject: str,
    pattern: str,
    replacement: str,
    count: int = -1,
    *,
    limit: int,
    charge: Charge,
) -> str:
    """``regex.replace("foo bar", "(fo)o (ba)r", "\\\\2 \\\\1") == "ba fo"``.

    The first ``count`` matches, all when it is negative.  In the replacement ``\\0`` is the
    whole match, ``\\1`` to ``\\9`` a group (nothing when it took no part), ``\\\\`` a backslash;
    any other use of a backslash and a number above the pattern's groups is
    ``invalid_argument``, even without a match.
    """
    parts = _replacement_parts(replacement, len(_parsed(pattern).group_names))
    text, built, at = clip(subject), BoundedText(limit), 0
    for number, match in enumerate(_automaton(pattern).find_all(text)):
        if number == count:
            break
        charge(utf8_length(text) // 16)
        begin, end = match.span
        built.add(text[at:begin])
        spans = (match.span, *match.groups)
        for part in parts:
            built.add(part if isinstance(part, str) else _taken(text, spans[part]))
        at = end
    built.add(subject[at:])
    return str(built)
