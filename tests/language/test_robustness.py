"""Whatever is written ends in an expression or in findings, never in a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from language.syntax_trees import trees
from tidegate.errors import ExpressionError
from tidegate.language.canonical import from_json, to_json
from tidegate.language.check.checker import check
from tidegate.language.parse.parser import parse
from tidegate.language.printer import format, to_text
from tidegate.language.tree.schema import Schema
from tidegate.types import NamedList

if TYPE_CHECKING:
    from tidegate.language.tree import ast

SCHEMA = Schema.default().with_lists({"l": NamedList("string", ("a",))})

_TOKENS = [
    "request", ".", "path", "headers", "body", "fields", "(", ")", "[", "]", "{", "}", ",", ":",
    "?", "&&", "||", "!", "-", "+", "/", "%", "==", "<", "in", "1", "0", "2u", "1.5", "'a'",
    "b'a'", '"(a"', "null", "true", "false", "x", "k", "has", "exists", "all", "map", "cel",
    "bind", "matches", "size", "ip", "optional", "of", "inList", "if", "and", "=", "`a-b`",
    "//c\n", "9223372036854775808", "'''", "\\", "\x00", "é",
]  # fmt: skip
token_soups = st.lists(st.sampled_from(_TOKENS), max_size=25).map(" ".join)


def survive(text: str) -> None:
    try:
        found = check(text, SCHEMA)
    except ExpressionError as refusal:
        assert refusal.diagnostics
        for finding in refusal.diagnostics:
            assert 0 <= finding.span.start <= finding.span.end <= len(text)
            assert finding.severity == "error"
        return
    assert from_json(to_json(found)).root == found.root
    assert check(format(text), SCHEMA).type == found.type


@settings(max_examples=500)
@given(token_soups | st.text(max_size=40))
def test_any_text_is_survived(text: str) -> None:
    """Tokens in any order, and any characters, are refused with places inside the text."""
    survive(text)


@settings(max_examples=300)
@given(trees)
def test_any_tree_is_survived(tree: ast.Node) -> None:
    """A tree of undeclared names and wild types checks or is refused; unchecked it has a form."""
    text = to_text(tree)
    survive(text)
    try:
        found = check(text, SCHEMA, strict=False)
    except ExpressionError as refusal:
        assert {finding.code for finding in refusal.diagnostics} <= {
            "message-literal", "macros-too-deep", "duplicate-variable", "overflow",
            "invalid-regex", "pattern-not-constant",
        }  # fmt: skip
        return
    assert from_json(to_json(found)).root == found.root


@given(trees)
def test_comments_anywhere_survive_formatting(tree: ast.Node) -> None:
    """A comment after every token of a text is kept by the formatter."""
    text = to_text(tree)
    from tidegate.language.parse.parser import tokens

    pieces = [text[span.start : span.end] for span in tokens(text)]
    commented = "".join(f"{piece} // {number}\n" for number, piece in enumerate(pieces))
    if len(commented) > 8_000:
        return
    formatted = format(commented)
    assert parse(formatted) == tree
    assert formatted.count("//") >= len(pieces)
    assert format(formatted) == formatted


def test_a_comment_before_an_index_finds_its_place_at_once() -> None:
    """Formatting what was formatted changes nothing, wherever a line break moved a comment."""
    pieces = ["null", "[", "null", ".", "A", "?", "null", ":", "null", "]"]
    formatted = format("".join(f"{piece} // {number}\n" for number, piece in enumerate(pieces)))
    assert format(formatted) == formatted
    assert formatted.count("//") == len(pieces)
