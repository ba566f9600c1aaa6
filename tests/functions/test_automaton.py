"""The automaton: leftmost-first matches, captures, and time that stays linear."""

from __future__ import annotations

import time
from typing import Any

import pytest

from shared_data import shared_lines, size
from tidegate.functions.automaton import Automaton, automaton, clip
from tidegate.regex import RegexError, parse


@pytest.mark.parametrize(
    ("pattern", "subject", "span", "groups"),
    [
        ("b", "abc", (1, 2), ()),
        ("a|ab", "ab", (0, 1), ()),
        ("(a|ab)(c|bcd)", "abcd", (0, 4), ((0, 1), (1, 4))),
        ("a*", "baa", (0, 0), ()),
        ("a+?", "aaa", (0, 1), ()),
        ("(a)|(b)", "b", (0, 1), (None, (0, 1))),
        ("(?:(a)|b)*", "ab", (0, 2), ((0, 1),)),
        ("(|a)*", "aaa", (0, 0), ((0, 0),)),
        ("(a*)+", "aa", (0, 2), ((0, 2),)),
        ("(a|b)*?c", "abc", (0, 3), ((1, 2),)),
        ("^b", "a\nb", None, ()),
        ("(?m)^b", "a\nb", (2, 3), ()),
        ("a$", "a\n", None, ()),
        ("(?m)a$", "a\n", (0, 1), ()),
        (r"\bk\b", "a k", (2, 3), ()),
        (r"\bé", "é", None, ()),
        (r"a\Bé", "aé", None, ()),
        (".", "\n😀", (1, 2), ()),
        ("x{2,3}", "xxxx", (0, 3), ()),
        ("x{2,3}?", "xxxx", (0, 2), ()),
        ("(?i)straße", "STRAẞE", (0, 6), ()),
        (r"[^\x00-\x{10FFFF}]|b", "ab", (1, 2), ()),
    ],
)
def test_first_match_and_its_groups(
    pattern: str, subject: str, span: tuple[int, int] | None, groups: tuple[Any, ...]
) -> None:
    """The match is the leftmost, and the first alternative that leads to one."""
    machine = automaton(pattern)
    match = machine.search(subject)
    assert machine.is_match(subject) == (span is not None)
    assert (match and match.span) == span
    assert not match or match.groups == groups


@pytest.mark.parametrize(
    ("pattern", "subject", "spans"),
    [
        ("a", "aba", [(0, 1), (2, 3)]),
        ("a*", "baac", [(0, 0), (1, 3), (4, 4)]),
        ("", "é😀", [(0, 0), (1, 1), (2, 2)]),
        ("^a", "aa", [(0, 1)]),
        (r"\b", "a b", [(0, 0), (1, 1), (2, 2), (3, 3)]),
    ],
)
def test_all_matches_do_not_overlap(
    pattern: str, subject: str, spans: list[tuple[int, int]]
) -> None:
    """Matches follow one another; an empty one right behind another does not count."""
    assert [match.span for match in automaton(pattern).find_all(subject)] == spans


@pytest.mark.parametrize(
    ("subject", "limit", "expected"),
    [("abc", 3, "abc"), ("abcd", 3, "abc"), ("aéé", 4, "aé"), ("😀😀", 7, "😀"), ("", 0, "")],
)
def test_clip_cuts_between_characters(subject: str, limit: int, expected: str) -> None:
    """A subject is cut at the bound in bytes, never inside a character."""
    assert clip(subject, limit) == expected


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "^(a|a?)+$", "(?:a?){60}(?:a){60}$"])
def test_time_grows_with_the_subject_only(pattern: str) -> None:
    """Patterns that take backtracking engines for ever need one pass over the subject."""
    started = time.process_time()
    assert not automaton(pattern).is_match("a" * 4_000 + "!")
    assert time.process_time() - started < 5


# Ours are ASCII where the source's are Unicode.
ASCII_ON_PURPOSE = {
    "word-unicode", "decimal-unicode", "perl1", "perl4", "wb-300", "unicode4",
}  # fmt: skip
OPTIONS = ("anchored", "bounds", "unescape", "line-terminator", "case-insensitive")


def is_ours(case: dict[str, Any]) -> bool:
    """Whether a case is about plain leftmost-first search of text."""
    return (
        isinstance(case["regex"], str)
        and not any(case.get(option) for option in OPTIONS)
        and case.get("match-kind", "leftmost-first") == "leftmost-first"
        and case.get("search-kind", "leftmost") == "leftmost"
        and case.get("utf8", True)
        and case.get("unicode", True)
        and case["name"] not in ASCII_ON_PURPOSE
    )


def expected_matches(case: dict[str, Any]) -> list[list[Any]]:
    """Byte spans of each match: the whole and, where the case has them, the groups."""
    return [
        [span or None for span in match] if isinstance(match[0], list) else [match]
        for match in case["matches"]
    ]


def found_matches(machine: Automaton, case: dict[str, Any]) -> list[list[Any]]:
    text = case["haystack"]

    def in_bytes(span: tuple[int, int] | None) -> list[int] | None:
        return None if span is None else [len(text[:at].encode()) for at in span]

    found = [
        [in_bytes(span) for span in (match.span, *match.groups)] for match in machine.find_all(text)
    ]
    return found[: case.get("match-limit")]


def test_published_matches() -> None:
    """Every accepted pattern of the Rust crate's own tests matches what is published."""
    compared = 0
    for case in filter(is_ours, shared_lines("data/adversarial/regex_semantics/rust_regex.jsonl")):
        try:
            machine = Automaton(parse(case["regex"]))
        except RegexError:
            continue
        expected, found = expected_matches(case), found_matches(machine, case)
        if all(len(match) == 1 for match in expected):
            found = [match[:1] for match in found]
        assert found == expected, case
        compared += 1
    assert compared > size(150, 40)
