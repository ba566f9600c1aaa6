"""Regular expressions."""

# ruff: noqa: E501  (one claim a line)
from __future__ import annotations

import pytest

from reference_checks import code, outcome, value


@pytest.mark.parametrize(
    "claim",
    [
        "'tacocat'.matches('c.t$') && !'tacocat'.matches('^cat') && matches('abc', 'b')",
        "'tacocat'.matchesAny(['dog', 'cat']) && !'tacocat'.matchesAny([])",
        "regex.extract('item-A, item-B', 'item-(\\\\w+)').value() == 'A'",
        "regex.extract('item-A', 'item').value() == 'item'",
        "!regex.extract('item', 'ITEM').hasValue() && !regex.extract('b', '(a)?b').hasValue()",
        "!regex.extract('b', '(a*)b').hasValue() && regex.extract('b', 'a*').value() == ''",
        "regex.extractAll('id:1, id:, id:2', 'id:(\\\\d*)') == ['1', '2']",
        "regex.extractAll('baaa', 'a*') == ['', 'aaa']",
        "regex.replace('foo bar', '(fo)o (ba)r', '\\\\2 \\\\1 \\\\0 \\\\\\\\') == 'ba fo foo bar \\\\'",
        "regex.replace('banana', 'a', 'x', 1) == 'bxnana' && regex.replace('banana', 'a', 'x', 0) == 'banana'",
        "regex.replace('banana', 'a', 'x', -12) == 'bxnxnx' && regex.replace('ab', '', '-') == '-a-b-'",
        "regex.replace('b', '(a)?b', '<\\\\1>') == '<>'",
    ],
)  # fmt: skip
def test_patterns_find_extract_and_replace(claim: str) -> None:
    """Groups that took no part are empty; an empty match does not follow another match."""
    assert value(claim) is True


@pytest.mark.parametrize("replacement", ["\\", "\\2", "\\x", "$1\\"])
def test_a_replacement_names_only_groups_of_the_pattern(replacement: str) -> None:
    """A replacement with an unknown group is an error, even where nothing matches."""
    assert code("regex.replace('zzz', '(a)', r)", r=replacement) == "invalid_argument"


def test_a_long_subject_is_cut_for_matching_and_kept_in_the_result() -> None:
    """Matching stops at 16 KiB, at the character that would cross it."""
    subject = "é" * 8191 + "aé" + "b"
    assert value("s.matches('a$')", s=subject) is True
    assert value("s.matches('b')", s=subject) is False
    assert value("regex.replace(s, 'a|b', '')", s=subject) == subject.replace("a", "")


def test_each_match_that_is_used_is_charged() -> None:
    """Searching on after each of many matches is work that has to be paid."""
    one = outcome("regex.replace(s, 'a', 'a', 1)", s="a" * 160).cost
    three = outcome("regex.replace(s, 'a', 'a', 3)", s="a" * 160).cost
    assert three - one == 20
    assert code("regex.extractAll(s, 'a')", s="a" * 16_000) == "cost_exceeded"
