"""Texts as the programs behind a site read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate
from tidegate.functions import decoding
from tidegate.functions.text import WHITE_SPACE
from tidegate.values import utf8_length

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS = (
    decoding.html_decode,
    decoding.js_decode,
    decoding.css_decode,
    decoding.remove_nulls,
    decoding.remove_comments,
    decoding.replace_comments,
    decoding.remove_whitespace,
    decoding.collapse_whitespace,
    decoding.normalize_path,
)

ALPHABET = "\\&#;xXuU019afFlt/*-<!.> \n\0é\u3000\uff1c"


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("&#x0;&#X20;&#32;\0&#100;&quot;&amp;&lt;&gt;&nbsp;", '\0  \0d"&<>\u00a0'),
        ("&#x3cb&#60b&lt", "\u03cb<b<"),
        ("&#xg;&#X2g;&#a;&#3a&#10a;&foo;&;&", "&#xg;\x02g;&#a;\x03a\na;&foo;&;&"),
        ("javascript&colon;it&apos;s&COLON;&lpar;&Tab;", "javascript:it's:(\t"),
        ("&amp;lt;", "&lt;"),
        ("&#233;&#x1F600;&#x110000;&#xD800;&#99999999999999;", "é😀\ufffd\ufffd\ufffd"),
    ],
)
def test_entities_are_decoded_once_and_others_stay(text: str, decoded: str) -> None:
    """The semicolon may be absent, and a number that names no character is replaced."""
    assert decoding.html_decode(text) == decoded


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        (r"\a\b\f\n\r\t\v\?\'\"\\\0\12\123\x00\xff", "\a\b\f\n\r\t\v?'\"\\\0\nS\0\xff"),
        (r"\u\u0\u01\u012\x1", "uu0u01u012x1"),
        (r"<\163\143\162\151\160\164>", "<script>"),
        (r"\377\400\8", "\xff 08"),
        (r"\uff1c\u00e9\ud800", "<é\ufffd"),
        ("a\\", "a\\"),
        ("\\\n", "\n"),
    ],
)
def test_escapes_of_javascript_are_decoded(text: str, decoded: str) -> None:
    """Numbers give characters, full-width ones ASCII, other escapes lose their backslash."""
    assert decoding.js_decode(text) == decoded


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        (r"\1A\1 A\1234567\123456 7\1x\1 x", "\x1a\x01A\ufffd7\ufffd7\x01x\x01x"),
        (r"\n\r\t\?\"\12\ff01\ff5e", 'nrt?"\x12!~'),
        ("a\\\nb\\", "ab"),
        (r"jav\61 script\3a", "javascript:"),
    ],
)
def test_escapes_of_css_are_decoded(text: str, decoded: str) -> None:
    """One white space after a number belongs to it, and a line feed after a backslash vanishes."""
    assert decoding.css_decode(text) == decoded


@pytest.mark.parametrize(
    ("text", "removed", "replaced"),
    [
        ("Before/* x */After", "BeforeAfter", "Before After"),
        ("Before x */ After", "Before x */ After", "Before x */ After"),
        ("/*Before/* x", " ", " "),
        ("a/* T*/ /* e */\r\nb", "a \r\nb", "a   \r\nb"),
        ("SELECT/**//**/UNION", "SELECTUNION", "SELECT  UNION"),
        ("foo<!-- 1 --><!-- 2 -->bar", "foobar", "foo<!-- 1 --><!-- 2 -->bar"),
        ("1 or 1=1-- x", "1 or 1=1", "1 or 1=1-- x"),
        ("a#b/*c*/", "a", "a#b "),
        ("/*/x", " ", " "),
    ],
)
def test_comments_are_removed_or_replaced(text: str, removed: str, replaced: str) -> None:
    """A comment without an end leaves a space."""
    assert decoding.remove_comments(text) == removed
    assert decoding.replace_comments(text) == replaced


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("", ""), ("x", "x"), (".", ""), ("./", ""), ("./../", "../"), ("../.", ".."),
        (".././", "../"), ("../..", "../.."), ("/dir/foo//bar", "/dir/foo/bar"),
        ("dir/foo//bar/", "dir/foo/bar/"), ("dir/../../foo", "../foo"),
        ("dir//.//..//.//..//..//foo//bar//", "../../foo/bar/"),
        ("dir/./.././../../foo/bar/.", "../../foo/bar"),
        ("/dir/./subdir/../subsubdir/../subsubsubdir/../", "/dir/"),
        ("/./.././../../../\0/../etc/./passwd", "/etc/passwd"), ("/..", "/"), ("//", "/"),
    ],
)  # fmt: skip
def test_paths_are_normalized_as_modsecurity_does(path: str, normal: str) -> None:
    """A relative path may begin with `..`, an absolute one may not."""
    assert decoding.normalize_path(path) == normal


def test_white_space_is_unicodes() -> None:
    """All white space counts, as in `trim`."""
    assert decoding.remove_whitespace(f"a{WHITE_SPACE}b") == "ab"
    assert decoding.collapse_whitespace(f"a{WHITE_SPACE}b \n") == "a b "


@given(st.text(alphabet=ALPHABET, max_size=40))
def test_no_result_is_longer_than_its_text(text: str) -> None:
    """The result of a decoding function is at most as long as its text."""
    for function in FUNCTIONS:
        assert utf8_length(function(text)) <= utf8_length(text)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_the_engine_decodes_as_the_reference_does(function: Callable[[str], str]) -> None:
    """Both evaluators read every text alike."""
    first, *others = function.__name__.split("_")
    name = first + "".join(map(str.capitalize, others))
    program = tidegate.compile(f"fields.s.{name}()", evaluator="native")

    @given(st.text(alphabet=ALPHABET, max_size=40))
    @settings(max_examples=300)
    def agrees(text: str) -> None:
        assert program.evaluate({"fields": {"s": text}}) == function(text)

    agrees()
