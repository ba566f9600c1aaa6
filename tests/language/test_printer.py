"""Syntax tree to canonical text, and the layout of comments and long lines."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from language.syntax_trees import trees
from shared_data import shared_lines, shared_path, size
from tidegate.errors import ExpressionError
from tidegate.language.parse.parser import parse
from tidegate.language.printer import WIDTH, format, string_literal, to_text
from tidegate.language.tree import ast


@settings(max_examples=400, deadline=None)
@given(trees)
def test_text_of_a_tree_parses_to_the_tree(tree: ast.Node) -> None:
    """Printing loses nothing, and the layout is a fixed point."""
    text = to_text(tree)
    assert parse(text) == tree
    assert format(text) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("a&&b||c", "a && b || c"),
        ("((a))", "a"),
        ("(a && b) && (c || d)", "a && b && (c || d)"),
        ("a-(b-c)-d", "a - (b - c) - d"),
        ("(a?b:c)?d:(e?f:g)", "(a ? b : c) ? d : e ? f : g"),
        ("!(a in b)", "!(a in b)"),
        ("- ( - 5 )", "--5"),
        ("(-1).f()", "(-1).f()"),
        ("a . b [ 0 ] ( )"[:-4], "a.b[0]"),
        ("a . f ( b , c )", "a.f(b, c)"),
        ("[ ?a , b, ]", "[?a, b]"),
        ("{ 'k' : v , ?w:x }", '{"k": v, ?w: x}'),
        ("x.`in`.`a`.`b-c`", "x.`in`.a.`b-c`"),
        ("'a'+\"b\"", '"a" + "b"'),
        ("0x10 + 1e2 + 3U", "16 + 100.0 + 3u"),
        (".a.b(.c)", ".a.b(.c)"),
        ("M{ a : 1 }", "M{a: 1}"),
        (r'x.matches("\\d+\\.")', r'x.matches(r"\d+\.")'),
    ],
)
def test_canonical_forms(text: str, canonical: str) -> None:
    """The layout has one space around operators, no needless brackets, one way to write each
    literal."""
    assert format(text) == canonical


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        ("plain", '"plain"'),
        ('say "hi"', "'say \"hi\"'"),
        ("\"'", '"\\"\'"'),
        ("\\d", 'r"\\d"'),
        ('\\d"', "r'\\d\"'"),
        ("\\\n", '"\\\\\\n"'),
        ("\u202e\x00", '"\\u202e\\u0000"'),
        ("\U000e0001", '"\\U000e0001"'),
        ("ÿ", '"ÿ"'),
    ],
)
def test_string_literals(value: str, literal: str) -> None:
    """The quotes with the fewest escapes; raw for backslashes; what does not show is escaped."""
    assert string_literal(value) == literal
    assert parse(literal) == ast.StringLiteral(value)


LONG = "request.path.startsWith(" + '"/' + "a" * 30 + '")'


def test_lines_break_before_logical_operators() -> None:
    """Past the width a chain has one operand a line, nested chains indented or in brackets."""
    text = format(f"{LONG}&&{LONG}&&({LONG}||{LONG}||{LONG})")
    assert text == (
        f"{LONG}\n&& {LONG}\n&& (\n  {LONG}\n  || {LONG}\n  || {LONG}\n)"
    )  # fmt: skip
    nested = format(f"{LONG}||{LONG}&&{LONG}")
    assert nested == f"{LONG}\n|| {LONG}\n  && {LONG}"


def test_macro_bodies_break_inside_their_brackets() -> None:
    """A long condition in a macro is laid out in the macro's brackets."""
    text = format(f"request.headers.exists(k,{LONG}&&{LONG})")
    assert text == f"request.headers.exists(\n  k,\n  {LONG}\n  && {LONG}\n)"


def test_short_chains_stay_on_a_line() -> None:
    """A chain that fits is one line, to the last column."""
    fits = "a && " + "b" * (WIDTH - 5)
    assert format(fits) == fits
    assert format(fits + "b") == fits.replace(" && ", "\n&& ") + "b"


COMMENTED = [
    ("// why\na && b", "// why\na && b"),
    ("a // why\n&& b", "a // why\n&& b"),
    ("a && // why\nb", "a // why\n&& b"),
    ("a\n// why\n&& b", "a\n// why\n&& b"),
    ("a && b // end\n// after", "a && b // end\n// after"),
    ("x in [\"a\", // first\n\"b\" // second\n]", 'x in [\n  "a", // first\n  "b" // second\n]'),
    ("[// none\n]", "[\n  // none\n]"),
    ("{1: 2, // two\n3: 4}", "{\n  1: 2, // two\n  3: 4\n}"),
    ("f(a, // first\nb)", "f(\n  a, // first\n  b\n)"),
    ("a ? // c\nb : // d\nc", "a // c\n  ? b // d\n  : c"),
    ("(a // x\n|| b) && c", "(\n  a // x\n  || b\n)\n&& c"),
    ("a + // odd\nb", "// odd\na + b"),
    ("a.b // x\n.c", "// x\na.b.c"),
    ('a == "// no comment" // one', 'a == "// no comment" // one'),
    ("[(a && b // in brackets\n), c]", "[\n  a && b, // in brackets\n  c\n]"),
    ("a[(b && c // x\n)]", "// x\na[b && c]"),
    ("f((a ? b : c // x\n)) == d", "f(\n  a ? b : c // x\n) == d"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "formatted"), COMMENTED)
def test_comments_stay_at_their_part(text: str, formatted: str) -> None:
    """Comments are kept, at the end of a part's line or on lines before it."""
    assert format(text) == formatted
    assert format(formatted) == formatted
    assert parse(formatted) == parse(text)


def test_every_comment_is_kept() -> None:
    """A comment in any gap between tokens survives, and the layout is a fixed point."""
    pieces = [
        "a",
        ".",
        "b",
        "(",
        "c",
        ",",
        "[",
        "1",
        ",",
        "2",
        "]",
        ")",
        "&&",
        "{",
        "k",
        ":",
        "!",
        "(",
        "x",
        "?",
        "y",
        ":",
        "-",
        "z",
        ")",
        "}",
        "[",
        "?",
        "0",
        "]",
        "||",
        "w",
    ]
    for gap in range(len(pieces) + 1):
        text = " ".join(pieces[:gap]) + " // here\n" + " ".join(pieces[gap:])
        formatted = format(text)
        assert formatted.count("// here") == 1
        assert parse(formatted) == parse(text)
        assert format(formatted) == formatted


def test_what_does_not_parse_is_not_formatted() -> None:
    """The formatter refuses a text that the parser refuses."""
    with pytest.raises(ExpressionError):
        format("a &&")


def test_published_expressions_are_laid_out_once() -> None:
    """Every published expression and rule keeps its tree, and its layout is a fixed point."""
    texts = [rule["expression"] for rule in shared_lines("data/traffic/rules-1k.jsonl.gz")]
    for path in sorted(shared_path("conformance/cel").glob("*.json")):
        texts += [case["expr"] for case in json.loads(path.read_text()).get("tests", [])]
    assert len(texts) == size(2_743, 628)
    for text in texts:
        formatted = format(text)
        assert parse(formatted) == parse(text)
        assert format(formatted) == formatted
