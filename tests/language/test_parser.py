"""Text to syntax tree: what parses, to what, and how the rest is refused."""

from __future__ import annotations

import json
from itertools import islice

import pytest
from tests.generators.texts import as_shipped, by_lark, texts

from shared_data import shared_lines, shared_path, size
from tidegate.errors import ExpressionError
from tidegate.language.parse.parser import parse
from tidegate.language.tree import ast
from tidegate.language.tree.diagnostics import Diagnostic
from tidegate.language.tree.walk import walk
from tidegate.limits import DEFAULT


def findings(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(ExpressionError) as refusal:
        parse(text)
    return refusal.value.diagnostics


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a + b * c", "a + (b * c)"),
        ("a - b - c", "(a - b) - c"),
        ("a < b == c", "(a < b) == c"),
        ("a || b && c", "a || (b && c)"),
        ("!a.b", "!(a.b)"),
        ("-a * b", "(-a) * b"),
        ("a ? b : c ? d : e", "a ? b : (c ? d : e)"),
        ("a in b && c", "(a in b) && c"),
        ("a && b && c", "(a && b) && c"),
        ("a && b && c", "a && (b && c)"),
        ("a // why\n+ b", "a+b"),
        ("[1, 2,]", "[1, 2]"),
        ("{1: 2,}", "{1: 2}"),
        ("[ , ]", "[]"),
        ("{ , }", "{}"),
        ("0x1F", "31"),
        ("1e3", "1000.0"),
        (".5", "0.5"),
    ],
)
def test_two_texts_with_one_tree(text: str, same: str) -> None:
    """Precedence, associativity and layout do what the language says."""
    assert parse(text) == parse(same)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\x41\101\u0042\U0001F600"', "AAB\U0001f600"),
        (r'"\a\b\f\n\r\t\v\\\?\"\'\`"', "\a\b\f\n\r\t\v\\?\"'`"),
        (r"r'\d\''"[:-1], r"\d\ "[:-1]),
        ('"""a"b\n"""', 'a"b\n'),
        ("'''a\r\nb'''", "a\nb"),
        ("R'''\\'''", "\\"),
        ('""', ""),
    ],
)
def test_string_literals(text: str, value: str) -> None:
    """Escapes, raw and triple-quoted forms give the text they stand for."""
    assert parse(text) == ast.StringLiteral(value)


def test_bytes_literals_take_bytes_and_text() -> None:
    """Escapes in bytes are single bytes, other characters their UTF-8."""
    assert parse(r"b'\xff\377ÿ'") == ast.BytesLiteral(b"\xff\xff\xc3\xbf")
    assert parse(r"bR'\x'") == ast.BytesLiteral(b"\\x")


def test_optional_syntax_and_quoted_names() -> None:
    """Optional access, elements and entries, and back-quoted fields, are always on."""
    x = ast.Identifier("x")
    assert parse("x.?a") == ast.Select(x, "a", True)
    assert parse("x[?0]") == ast.IndexAccess(x, ast.IntLiteral(0), True)
    assert parse("[?x]") == ast.ListLiteral((ast.ListElement(x, True),))
    assert parse("{?x: x}") == ast.MapLiteral((ast.MapEntry(x, x, True),))
    assert parse("x.`login-attempt`") == ast.Select(x, "login-attempt")


def test_least_int_is_a_literal() -> None:
    """The least int, which only exists with its sign, is legal; without it, or in brackets, not."""
    assert parse("-9223372036854775808") == ast.IntLiteral(-(2**63))
    assert findings("9223372036854775808")[0].code == "invalid-number"
    assert findings("-(9223372036854775808)")[0].code == "invalid-number"


def test_spans_cover_what_the_author_wrote() -> None:
    """Every node's span is its own text, brackets around it included."""
    text = '(a.b + 1) * f(x, "y")[0] ? [1] : !c'
    spans = {text[node.span.start : node.span.end] for node in walk(parse(text))}
    assert {"(a.b + 1)", "a.b", "a", "1", 'f(x, "y")[0]', '"y"', "[1]", "!c", text} <= spans


REFUSED = [
    ("", "syntax-error", 0, 0, "the expression is empty"),
    ("  // nothing", "syntax-error", 0, 12, "the expression is empty"),
    ("a b", "syntax-error", 2, 3, "unexpected `b`, expected an operator"),
    ("a +", "syntax-error", 3, 3, "expected a value"),
    ("f(a,)", "syntax-error", 4, 5, "expected a value"),
    ("[1 2]", "syntax-error", 3, 4, "expected an operator, `,` or `]`"),
    ("(a", "syntax-error", 0, 1, "`(` is never closed"),
    ("a ? b", "syntax-error", 5, 5, "expected `:`"),
    ("a.1", "syntax-error", 1, 3, "unexpected `.1`"),
    ("a.in", "syntax-error", 2, 4, "expected a name"),
    ("f(a).b{}", "syntax-error", 6, 7, "no name"),
    ("a = 1", "syntax-error", 2, 3, "no such operator `=`"),
    ("a and b", "syntax-error", 2, 5, "no such operator `and`"),
    ("a & b", "syntax-error", 2, 3, "no such operator `&`"),
    ("a; b", "syntax-error", 1, 2, "unexpected character `;`"),
    ("`a`.b", "syntax-error", 0, 3, "unexpected"),
    ("a.`é`", "syntax-error", 2, 5, "malformed back-quoted name"),
    ('a == "b', "unterminated-string", 5, 7, "unterminated string"),
    ("'a\nb'", "unterminated-string", 0, 2, "unterminated string"),
    ("r'''a'", "unterminated-string", 1, 6, "unterminated string"),
    (r'"\q"', "invalid-escape", 1, 3, r"unknown escape `\q`"),
    (r'"ab\ud800"', "invalid-escape", 3, 9, "is a surrogate"),
    (r'"\U00110000"', "invalid-escape", 1, 11, "past the last code point"),
    (r"b'\u0041'", "invalid-escape", 2, 8, "in bytes"),
    (r'"\400"', "invalid-escape", 1, 3, "unknown escape"),
    ("if", "reserved-word", 0, 2, "`if` is a reserved word"),
    ("while(1)", "reserved-word", 0, 5, "reserved word"),
    ("18446744073709551616u", "invalid-number", 0, 21, "out of range"),
    ("1" * 5_000, "invalid-number", 0, 5_000, "out of range"),
    ("1e999", "invalid-number", 0, 5, "out of range"),
    ("12ab", "invalid-number", 0, 4, "malformed number `12ab`"),
    ("1.2.3.4", "syntax-error", 3, 5, "unexpected `.3`"),
    ("0X1F", "invalid-number", 0, 4, "malformed number"),
    ("a \ud800", "invalid-text", 2, 3, "surrogate"),
]


@pytest.mark.parametrize(("text", "code", "start", "end", "message"), REFUSED)
def test_refused_texts(text: str, code: str, start: int, end: int, message: str) -> None:
    """A text that isn't an expression is refused at its place, in words."""
    first = findings(text)[0]
    assert (first.code, first.span.start, first.span.end) == (code, start, end)
    assert message in first.message


def test_several_findings_in_one_go() -> None:
    """The parser reads on past a fault, and reports every fault."""
    codes = [finding.code for finding in findings(r'"\q" == if and a = 99999999999999999999')]
    assert codes == [
        "invalid-escape", "reserved-word", "syntax-error", "syntax-error", "invalid-number",
    ]  # fmt: skip


def test_hints_say_how_to_mend() -> None:
    """Operators of other languages are named by the ones meant."""
    assert findings("a = 1")[0].hint == "write `==`"
    assert findings('a =~ "b"')[0].hint == 'write `text.matches("pattern")`'
    assert findings("a or b")[0].hint == "write `||`"
    assert findings("a not in b")[0].hint == "write `!` before the condition"


DEEP = {
    "parentheses": lambda n: "(" * n + "a" + ")" * n,
    "not": lambda n: "!" * n + "a",
    "minus": lambda n: "-" * n + "a",
    "conditional": lambda n: "a ? b : " * n + "c",
    "index chain": lambda n: "a" + "[0]" * n,
    "index nest": lambda n: "a[" * n + "0" + "]" * n,
    "select": lambda n: "a" + ".b" * n,
    "list": lambda n: "[" * n + "]" * n,
    "map": lambda n: "{1:" * n + "1" + "}" * n,
    "call": lambda n: "f(" * n + ")" * n,
    "sum": lambda n: "a" + "+a" * n,
}


@pytest.mark.parametrize("shape", DEEP)
def test_depth_is_bounded_without_recursion(shape: str) -> None:
    """32 levels of anything parse; sixteen kibibytes of them are refused as too deep."""
    parse(DEEP[shape](32))
    longest = next(n for n in (5_000, 4_000, 2_000) if len(DEEP[shape](n)) <= 16 * 1024)
    assert [finding.code for finding in findings(DEEP[shape](longest))] == ["too-deep"]
    half_open = DEEP[shape](longest)[: longest + 1]
    assert findings(half_open)[0].code in {"too-deep", "syntax-error"}


def test_long_chains_are_not_deep() -> None:
    """A chain of `&&` or `||` is one node however long it is."""
    tree = parse(" || ".join(["a"] * 1_000))
    assert isinstance(tree, ast.Or)
    assert len(tree.operands) == 1_000


def test_bounds_on_length_nodes_and_elements() -> None:
    """Source bytes and nodes are bounded; constants in a list do not count as nodes."""
    assert findings('"' + "é" * 9_000 + '"')[0].code == "too-long"
    assert findings("a" + " && a" * 4_000)[0].code == "too-long"
    assert findings("[" + "a," * 4_500 + "]")[0].code == "too-many-nodes"
    assert isinstance(parse("[" + "1," * 7_000 + "]"), ast.ListLiteral)
    small = DEFAULT.__class__(list_elements=3)
    with pytest.raises(ExpressionError) as refusal:
        parse("[1, 2, 3, 4]", small)
    assert refusal.value.diagnostics[0].code == "too-many-elements"


def test_unterminated_literals_take_linear_time() -> None:
    """An adversary gains nothing from a literal that never ends."""
    for quote in ("'", '"', '"""', "r'''", "b'"):
        assert findings(quote + "a\\\\" * 5_000)[0].code in {"unterminated-string", "syntax-error"}


def test_published_expressions_parse() -> None:
    """Every expression of the published conformance suite is in the grammar."""
    count = 0
    for path in sorted(shared_path("conformance/cel").glob("*.json")):
        for case in json.loads(path.read_text()).get("tests", []):
            parse(case["expr"])
            count += 1
    assert count == size(1_743, 428)


def test_published_rules_parse() -> None:
    """Every rule of the traffic workload is in the grammar."""
    rules = shared_lines("data/traffic/rules-1k.jsonl.gz")
    assert len([parse(rule["expression"]) for rule in rules]) == size(1_000, 200)


def test_the_tables_read_a_text_as_lark_does() -> None:
    """Trees with every place, and findings with every word, are those of Lark's own loop."""
    compared = list(islice(texts(seed=1), size(6_000, 3_000)))
    refused = 0
    for text in compared:
        found = as_shipped(text)
        assert found == by_lark(text), text
        refused += isinstance(found[0], Diagnostic)
    assert 0.2 < refused / len(compared) < 0.8
