"""Strings: the standard functions, the strings extension, and ours for traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.functions import failures
from tidegate.functions.registry import overload
from tidegate.values import utf8_length

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.types import NamedList


@overload("size(string) -> int", "string.size() -> int")
def size_of_string(text: str) -> int:
    """``size("ÿ") == 1``: code points."""
    return len(text)


@overload("size(bytes) -> int", "bytes.size() -> int")
def size_of_bytes(data: bytes) -> int:
    """``size(b"ÿ") == 2``: bytes."""
    return len(data)


@overload("string.contains(string) -> bool")
def contains(text: str, part: str) -> bool:
    """``"tacocat".contains("oca")``; every string contains ``""``."""
    return part in text


@overload("string.startsWith(string) -> bool")
def starts_with(text: str, prefix: str) -> bool:
    """``"tacocat".startsWith("ta")``."""
    return text.startswith(prefix)


@overload("string.endsWith(string) -> bool")
def ends_with(text: str, suffix: str) -> bool:
    """``"tacocat".endsWith("at")``."""
    return text.endswith(suffix)


def strings_in(elements: list[Any]) -> list[str]:
    """The elements, or the failure ``no_such_overload`` if one isn't a string."""
    if not all(isinstance(element, str) for element in elements):
        raise failures.no_such_overload("every element of the list must be a string")
    return elements


@overload("string.containsAny(list(string)) -> bool")
def contains_any(text: str, parts: list[Any]) -> bool:
    """``"tacocat".containsAny(["dog", "cat"])``; false for an empty list."""
    return any(part in text for part in strings_in(parts))


@overload("string.startsWithAny(list(string)) -> bool")
def starts_with_any(text: str, prefixes: list[Any]) -> bool:
    """``"tacocat".startsWithAny(["dog", "ta"])``; false for an empty list."""
    return text.startswith(tuple(strings_in(prefixes)))


@overload("string.endsWithAny(list(string)) -> bool")
def ends_with_any(text: str, suffixes: list[Any]) -> bool:
    """``"tacocat".endsWithAny(["dog", "cat"])``; false for an empty list."""
    return text.endswith(tuple(strings_in(suffixes)))


# --- phrases of named lists ---------------------------------------------------------------


def phrases_of(name: str, lists: Mapping[str, NamedList]) -> tuple[str, ...]:
    """The entries of a named list of texts; ``invalid_argument`` if there isn't one."""
    named = lists.get(name)
    if named is None or named.kind != "string":
        raise failures.invalid_argument(f"there is no list of texts `{name[:64]}`")
    return named.entries


@overload("string.containsAny(string) -> bool")
def contains_phrase(text: str, name: str, *, lists: Mapping[str, NamedList]) -> bool:
    """``request.user_agent.containsAny("scanners")``: whether the text has a phrase of the list.

    ``invalid_argument`` unless the tenant has such a list, of kind ``string``.
    """
    return any(phrase in text for phrase in phrases_of(name, lists))


@overload("string.startsWithAny(string) -> bool")
def starts_with_phrase(text: str, name: str, *, lists: Mapping[str, NamedList]) -> bool:
    """``request.path.startsWithAny("probes")``: as ``containsAny``, at the start."""
    return text.startswith(phrases_of(name, lists))


@overload("string.endsWithAny(string) -> bool")
def ends_with_phrase(text: str, name: str, *, lists: Mapping[str, NamedList]) -> bool:
    """``request.host.endsWithAny("domains")``: as ``containsAny``, at the end."""
    return text.endswith(phrases_of(name, lists))


# --- letters ------------------------------------------------------------------------------

_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_TO_LOWER = str.maketrans(_UPPER, _UPPER.lower())
_TO_UPPER = str.maketrans(_UPPER.lower(), _UPPER)


@overload("string.lowerAscii() -> string", "string.lower() -> string")
def lower(text: str) -> str:
    """``"TacoCÆt".lower() == "tacocÆt"``: ASCII letters only."""
    return text.translate(_TO_LOWER)


@overload("string.upperAscii() -> string", "string.upper() -> string")
def upper(text: str) -> str:
    """``"tacoCαt".upper() == "TACOCαT"``: ASCII letters only."""
    return text.translate(_TO_UPPER)


# --- places -------------------------------------------------------------------------------


def _position(text: str, index: int) -> int:
    """An index from 0 to the length of the text, or the failure ``index_out_of_range``."""
    if not 0 <= index <= len(text):
        raise failures.index_out_of_range(index)
    return index


@overload("string.charAt(int) -> string")
def char_at(text: str, index: int) -> str:
    """``"tacocat".charAt(3) == "o"``: a code point; ``""`` right after the last one.

    ``index_out_of_range`` anywhere else.
    """
    start = _position(text, index)
    return text[start : start + 1]


@overload("string.indexOf(string) -> int", "string.indexOf(string, int) -> int")
def index_of(text: str, part: str, start: int = 0) -> int:
    """``"tacocat".indexOf("a", 3) == 5``: the first place from ``start`` on, or -1.

    Code points.  ``""`` is found at ``start``.  ``index_out_of_range`` unless
    0 <= start <= size.
    """
    return text.find(part, _position(text, start))


@overload("string.lastIndexOf(string) -> int", "string.lastIndexOf(string, int) -> int")
def last_index_of(text: str, part: str, start: int | None = None) -> int:
    """``"tacocat".lastIndexOf("a", 3) == 1``: the last place that is at most ``start``, or -1.

    Code points.  ``""`` is found at ``start``, by default the size.
    ``index_out_of_range`` unless 0 <= start <= size.
    """
    last = len(text) if start is None else _position(text, start)
    return text.rfind(part, 0, last + len(part))


@overload("string.substring(int) -> string", "string.substring(int, int) -> string")
def substring(text: str, start: int, end: int | None = None) -> str:
    """``"tacocat".substring(0, 4) == "taco"``: code points from ``start`` up to ``end``.

    ``index_out_of_range`` unless 0 <= start <= end <= size.
    """
    first = _position(text, start)
    last = len(text) if end is None else _position(text, end)
    if last < first:
        raise failures.index_out_of_range(last)
    return text[first:last]


WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""The characters with Unicode's White_Space property."""


@overload("string.trim() -> string")
def trim(text: str) -> str:
    """``"  text\\n".trim() == "text"``: without white space, as Unicode has it, at both ends."""
    return text.strip(WHITE_SPACE)


@overload("string.reverse() -> string")
def reverse(text: str) -> str:
    """``"abc".reverse() == "cba"``: code points."""
    return text[::-1]


# --- taking apart and putting together ----------------------------------------------------


@overload("string.replace(string, string) -> string",
          "string.replace(string, string, int) -> string")  # fmt: skip
def replace(text: str, old: str, new: str, count: int = -1, *, limit: int) -> str:
    """``"banana".replace("a", "o", 2) == "bonona"``: from the left, without overlap.

    A negative count means all.  ``""`` is found before the text and after each of its
    code points: ``"ab".replace("", "-") == "-a-b-"``.
    """
    occurrences = text.count(old)
    replaced = occurrences if count < 0 else min(count, occurrences)
    growth = replaced * (utf8_length(new) - utf8_length(old))
    if utf8_length(text) + growth > limit:
        raise failures.too_long(limit)
    return text.replace(old, new, replaced)


@overload("string.split(string) -> list(string)", "string.split(string, int) -> list(string)")
def split(text: str, separator: str, parts: int = -1) -> list[str]:
    """``"a,b,c".split(",", 2) == ["a", "b,c"]``: at most ``parts`` parts, of which the last has the
    rest.

    A negative limit means no limit; 0 gives no part at all.  ``""`` splits between all
    code points: ``"abc".split("") == ["a", "b", "c"]``, ``"".split("") == []``; any other
    separator leaves ``""`` as ``[""]``.
    """
    if parts == 0:
        return []
    if separator:
        return text.split(separator, parts - 1 if parts > 0 else -1)
    if 0 < parts < len(text):
        return [*text[: parts - 1], text[parts - 1 :]]
    return list(text)


@overload("list(string).join() -> string", "list(string).join(string) -> string")
def join(elements: list[Any], separator: str = "", *, limit: int) -> str:
    """``["a", "b"].join("-") == "a-b"``; ``no_such_overload`` when an element isn't a string."""
    strings = strings_in(elements)
    length = sum(map(utf8_length, strings)) + max(0, len(strings) - 1) * utf8_length(separator)
    if length > limit:
        raise failures.too_long(limit)
    return separator.join(strings)


_ESCAPES = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


@overload("strings.quote(string) -> string")
def quote(text: str, *, limit: int) -> str:
    """``strings.quote("a\\nb") == "\\"a\\\\nb\\""``: a literal of the text, in double quotes.

    Escaped are ``\\a \\b \\f \\n \\r \\t \\v \\\\ \\"``; all else stays as it is.
    """
    quoted = f'"{text.translate(_ESCAPES)}"'
    if utf8_length(quoted) > limit:
        raise failures.too_long(limit)
    return quoted


# --- patterns with stars ------------------------------------------------------------------


def wildcard_parts(pattern: str) -> list[str]:
    """The texts between the stars; always one more than there are stars."""
    parts, at = [""], 0
    while at < len(pattern):
        if pattern[at] == "*":
            parts.append("")
        elif pattern[at : at + 2] in {"\\*", "\\\\"}:
            at += 1
            parts[-1] += pattern[at]
        else:
            parts[-1] += pattern[at]
        at += 1
    return parts


@overload("string.like(string) -> bool")
def like(text: str, pattern: str) -> bool:
    """``"/api/v1/users".like("/api/*/users")``: the whole text; ``*`` is any run, also none.

    ``\\*`` and ``\\\\`` stand for a star and a backslash; nothing else is special, not even
    another backslash.
    """
    first, *middle = wildcard_parts(pattern)
    if not middle:
        return text == first
    last = middle.pop()
    if len(text) < len(first) + len(last):
        return False
    if not (text.startswith(first) and text.endswith(last)):
        return False
    # Taking the first occurrence of each part leaves the most room for the later ones.
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


@overload("string.ilike(string) -> bool")
def ilike(text: str, pattern: str) -> bool:
    """As ``like``, with ASCII letters of either case equal."""
    return like(lower(text), lower(pattern))


# --- URLs ---------------------------------------------------------------------------------

_HEX_DIGITS = frozenset(b"0123456789abcdefABCDEF")
_MAX_ROUNDS = 5


def percent_decoded(text: str) -> str:
    """The text with ``%XX`` as the byte it names, bad sequences left, read as UTF-8 again.

    Invalid UTF-8 becomes U+FFFD, one for each maximal part of a sequence, as the Unicode standard
    recommends (and Python and Rust do).
    """
    data, out, at = text.encode(), bytearray(), 0
    while at < len(data):
        digits = data[at + 1 : at + 3]
        if data[at] == ord("%") and len(digits) == 2 and _HEX_DIGITS.issuperset(digits):
            out.append(int(digits, 16))
            at += 3
        else:
            out.append(data[at])
            at += 1
    return out.decode(errors="replace")


@overload("string.urlDecode() -> string", "string.urlDecode(int) -> string")
def url_decode(text: str, rounds: int = 1) -> str:
    """``"%252e".urlDecode(2) == "."``: percent-decoding, at most ``rounds`` times.

    Ends early when a round changes nothing. Bad sequences stay, invalid UTF-8 becomes U+FFFD.
    ``invalid_argument`` unless 0 <= rounds <= 5.
    """
    if not 0 <= rounds <= _MAX_ROUNDS:
        raise failures.invalid_argument(f"the rounds must be 0 to {_MAX_ROUNDS}")
    for _ in range(rounds):
        decoded = percent_decoded(text)
        if decoded == text:
            break
        text = decoded
    return text


@overload("string.formDecode() -> string")
def form_decode(text: str) -> str:
    """``"a+b%2B".formDecode() == "a b+"``: plus is space, then one round of percent-decoding."""
    return percent_decoded(text.replace("+", " "))


@overload("string.segments() -> list(string)")
def segments(path: str) -> list[str]:
    """``"/a/b".segments() == ["a", "b"]``: without the first ``/``, split at ``/``.

    ``""`` and ``"/"`` have no segments; ``"/a/"`` has ``["a", ""]``.
    """
    rest = path.removeprefix("/")
    return rest.split("/") if rest else []
