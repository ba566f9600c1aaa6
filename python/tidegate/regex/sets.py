"""Sets of code points: the algebra of character classes and the named classes.

Only Unicode scalar values exist here: sets never contain surrogates.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from functools import cache, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from tidegate.regex.folding import ORBITS, PAIRS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.regex.tree import Ranges

LAST = 0x10FFFF
ALL: Ranges = ((0, 0xD7FF), (0xE000, LAST))
EMPTY: Ranges = ()


def union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Normalise any ranges, without surrogates."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(_scalar(ranges)):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def _scalar(ranges: Iterable[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    for low, high in ranges:
        for first, last in ALL:
            if max(low, first) <= min(high, last):
                yield max(low, first), min(high, last)


def negate(ranges: Ranges) -> Ranges:
    """Everything that is not in ``ranges``, which must be canonical."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        gaps.append((start, low - 1))
        start = high + 1
    gaps.append((start, LAST))
    return union(gaps)


@lru_cache(maxsize=4096)
def fold(ranges: Ranges) -> Ranges:
    """``ranges`` with every other case of their letters added (simple folding)."""
    letters, cases = _cased()
    extra = list(ranges)
    for low, high in ranges:
        for letter in letters[bisect_left(letters, low) : bisect_right(letters, high)]:
            extra += cases[letter]
    return union(extra)


@cache
def _cased() -> tuple[list[int], dict[int, Ranges]]:
    """The letters that have other cases, in order, and those cases as ranges."""
    cases: dict[int, set[int]] = {}
    for first, last, step, distance in PAIRS:
        for letter in range(first, last + 1, step):
            cases.setdefault(letter, set()).add(letter + distance)
            cases.setdefault(letter + distance, set()).add(letter)
    for orbit in ORBITS:
        for letter in orbit:
            cases.setdefault(letter, set()).update(orbit)
    others = {letter: tuple((one, one) for one in sorted(found)) for letter, found in cases.items()}
    return sorted(others), others


def contains(ranges: Ranges, code_point: int) -> bool:
    """Whether ``code_point`` is in the set."""
    low, high = 0, len(ranges)
    while low < high:
        middle = (low + high) // 2
        if ranges[middle][1] < code_point:
            low = middle + 1
        else:
            high = middle
    return low < len(ranges) and ranges[low][0] <= code_point


def single(character: str) -> Ranges:
    """The set with one character."""
    return ((ord(character), ord(character)),)


def _of(*spellings: str) -> Ranges:
    return union((ord(spelling[0]), ord(spelling[-1])) for spelling in spellings)


DIGIT = _of("09")
SPACE = _of("\t\n", "\f\r", " ")
r"""The meaning of ``\s``: as in RE2 and Perl 5.8, without the vertical tab."""
WORD = _of("09", "AZ", "_", "az")
NEWLINE = _of("\n")

PERL: dict[str, Ranges] = {"d": DIGIT, "s": SPACE, "w": WORD}
POSIX: dict[str, Ranges] = {
    "alnum": _of("09", "AZ", "az"),
    "alpha": _of("AZ", "az"),
    "ascii": _of("\x00\x7f"),
    "blank": _of("\t", " "),
    "cntrl": _of("\x00\x1f", "\x7f"),
    "digit": DIGIT,
    "graph": _of("!~"),
    "lower": _of("az"),
    "print": _of(" ~"),
    "punct": _of("!/", ":@", "[`", "{~"),
    "space": _of("\t\r", " "),
    "upper": _of("AZ"),
    "word": WORD,
    "xdigit": _of("09", "AF", "af"),
}

CATEGORIES = frozenset({
    "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No",
    "P", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S", "Sm", "Sc", "Sk", "So",
    "Z", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Any",
})  # fmt: skip
"""General categories with the same meaning everywhere.  ``C`` and ``Cn`` are not among them: RE2
excludes the unassigned code points from ``C``, Rust includes them."""


@lru_cache(maxsize=1)
def _by_category() -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for first, last in ALL:
        for name, run in groupby(
            range(first, last + 1), key=lambda code_point: unicodedata.category(chr(code_point))
        ):
            members = list(run)
            found.setdefault(name, []).append((members[0], members[-1]))
    return found


@lru_cache(maxsize=64)
def category(name: str) -> Ranges:
    """The code points of one of ``CATEGORIES``, as the running Python knows them."""
    if name == "Any":
        return ALL
    return union(
        pair
        for found, ranges in _by_category().items()
        if found.startswith(name)
        for pair in ranges
    )
