"""Strings."""

# ruff: noqa: E501  (one claim a line)
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_checks import code, outcome, value
from tidegate.functions.text import like, percent_decoded, replace, split
from tidegate.limits import Limits


@pytest.mark.parametrize(
    "claim",
    [
        "size('ÿ') == 1 && size(b'ÿ') == 2 && 'ÿ'.size() == 1",
        "'abc'.contains('') && 'abc'.startsWith('ab') && 'abc'.endsWith('bc')",
        "'abc'.containsAny(['x', 'b']) && !'abc'.containsAny([])",
        "'abc'.startsWithAny(['x', 'a']) && !'abc'.endsWithAny(['a'])",
        "'TacoCÆt'.lower() == 'tacocÆt' && 'tacoCαt'.upper() == 'TACOCαT'",
        "'abc'.charAt(3) == '' && 'aéc'.charAt(1) == 'é'",
        "'aéa'.indexOf('a', 1) == 2 && 'abc'.indexOf('', 3) == 3 && 'a'.indexOf('x') == -1",
        "'aaa'.lastIndexOf('a', 1) == 1 && 'abab'.lastIndexOf('ab', 1) == 0",
        "'abc'.substring(1) == 'bc' && 'abc'.substring(1, 1) == ''",
        "'\\u2003 x\\u0085'.trim() == 'x' && '\\u200bx'.trim() == '\\u200bx'",
        "'\\u001cx'.trim() == '\\u001cx'",
        "'abc'.reverse() == 'cba'",
        "'banana'.replace('a', 'o', 2) == 'bonona' && 'banana'.replace('a', 'o', 0) == 'banana'",
        "'ab'.replace('', '-') == '-a-b-' && 'ab'.replace('', '-', 2) == '-a-b'",
        "'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'abc'.split('', 2) == ['a', 'bc']",
        "''.split(',') == [''] && ''.split('') == [] && 'a'.split('', 5) == ['a']",
        "['a', 'b'].join() == 'ab' && [].join(', ') == ''",
        "strings.quote('a\\n\"\\\\é') == '\"a\\\\n\\\\\"\\\\\\\\é\"'",
        "'/api/v1/users'.like('/api/*/users') && !'/api/users'.like('/api/*/users')",
        "'a*b'.like('a\\\\*b') && !'axb'.like('a\\\\*b') && 'a\\\\x'.like('a\\\\x')",
        "'Ab'.ilike('aB') && 'ÄB'.ilike('Äb') && !'äB'.ilike('ÄB')",
        "'%41%2fb'.urlDecode() == 'A/b' && '%zz%4'.urlDecode() == '%zz%4'",
        "'%25252e'.urlDecode(2) == '%2e' && '%2525'.urlDecode(5) == '%' && '%41'.urlDecode(0) == '%41'",
        "'a+b%2B'.formDecode() == 'a b+' && '%ff%c3%a9'.urlDecode() == '\\ufffdé'",
        "'/a//b/'.segments() == ['a', '', 'b', ''] && '/'.segments() == [] && 'a/b'.segments() == ['a', 'b']",
    ],
)  # fmt: skip
def test_string_functions_mean_what_they_say(claim: str) -> None:
    """Places are code points, letters fold in ASCII only."""
    assert value(claim) is True


def test_texts_are_searched_for_the_phrases_of_a_named_list() -> None:
    """The name of a list stands for its entries, and case counts."""
    claim = (
        "s.containsAny('tenants') && s.startsWithAny('tenants') && !s.endsWithAny('tenants')"
        " && !'ACME'.containsAny('tenants') && 'by acme'.endsWithAny('tenants')"
    )
    assert value(claim, s="acme/1.0") is True
    for name in ("bad", "none"):
        assert code(f"s.containsAny('{name}')", s="") == "invalid_argument"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s.charAt(4)", "index_out_of_range"),
        ("s.charAt(-1)", "index_out_of_range"),
        ("s.indexOf('a', 4)", "index_out_of_range"),
        ("s.lastIndexOf('a', -1)", "index_out_of_range"),
        ("s.substring(2, 1)", "index_out_of_range"),
        ("s.substring(0, 9)", "index_out_of_range"),
        ("s.urlDecode(6)", "invalid_argument"),
        ("s.urlDecode(-1)", "invalid_argument"),
        ("[dyn(s), dyn(1)].join()", "no_such_overload"),
        ("s.containsAny([dyn('abc'), dyn(1)])", "no_such_overload"),
        ("s.contains(dyn(1))", "no_such_overload"),
    ],
)
def test_places_outside_and_other_kinds_are_errors(text: str, expected: str) -> None:
    """An index may stand right behind the text and no further."""
    assert code(text, s="abc") == expected


@pytest.mark.parametrize(
    "text",
    [
        "s + s",
        "s.replace('a', 'bb')",
        "s.replace('', s)",
        "[s, s].join()",
        "[s, ''].join(s)",
        "strings.quote(s)",
        "'%s%s'.format([s, s])",
        "base64.encode(bytes(s))",
        "regex.replace(s, 'a', 'bbbbbbbb')",
    ],
)
def test_nothing_grows_past_the_longest_string(text: str) -> None:
    """A string that would be longer than the limit is refused while it is built."""
    failed = outcome(text, limits=Limits(string_bytes=1000), s="a" * 1000)
    assert failed.failure is not None
    assert failed.failure.code == "cost_exceeded"
    assert failed.cost == 20_001


def test_replacement_that_shrinks_is_not_limited() -> None:
    """The limit is on the result, whose length is known beforehand."""
    assert replace("aa", "a", "", limit=0) == ""


texts = st.text("ab*\\/%", max_size=12)


@given(texts, st.text("ab", min_size=1, max_size=2), st.integers(-1, 4))
def test_splitting_and_joining_is_the_identity(text: str, separator: str, parts: int) -> None:
    """No character is lost, whatever the limit, but for the limit 0."""
    pieces = split(text, separator, parts)
    assert separator.join(pieces) == (text if parts else "")
    assert parts < 1 or len(pieces) <= parts


@given(texts)
def test_a_text_is_like_its_own_escaped_pattern(text: str) -> None:
    """Escaping stars and backslashes gives a pattern for the text alone."""
    pattern = text.replace("\\", "\\\\").replace("*", "\\*")
    assert like(text, pattern)
    assert not like(text + "a", pattern)
    assert like(text + "a", pattern + "*")


@given(st.text("%0aF é", max_size=12))
def test_decoding_never_makes_text_longer(text: str) -> None:
    """Decoding never makes text longer, so rounds of it end."""
    assert len(percent_decoded(text).encode()) <= len(text.encode())
