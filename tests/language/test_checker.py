"""Names, types, macros and constants: what checks, to what, and how the rest is refused."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from shared_data import shared_lines, shared_path, size
from tidegate.errors import ExpressionError
from tidegate.language.check.checker import CheckedExpression, check
from tidegate.language.tree import checked
from tidegate.language.tree.schema import Schema
from tidegate.testing.conformance import EXCLUDED, text_of
from tidegate.types import BOOL, INT, STRING, NamedList, Signature, parse_type
from tidegate.values import Map, TypeName, UInt

if TYPE_CHECKING:
    from tidegate.language.tree.diagnostics import Diagnostic

SCHEMA = (
    Schema.default()
    .with_actions(["login-attempt", "scan"])
    .with_entity_state()
    .with_lists(
        {"scanners": NamedList("ip", ("192.0.2.0/24",)), "tools": NamedList("string", ("sqlmap",))}
    )
    .with_variables({"x": "int", "anything": "dyn", "ages": "map(string, int)"})
)


def accept(text: str, schema: Schema = SCHEMA) -> CheckedExpression:
    return check(text, schema)


def findings(text: str, **options: Any) -> tuple[Diagnostic, ...]:
    with pytest.raises(ExpressionError) as refusal:
        check(text, SCHEMA, **options)
    return refusal.value.diagnostics


# Types


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('request.path.startsWith("/")', "bool"),
        ("size(request.headers) + 1", "int"),
        ("[1, 2]", "list(int)"),
        ('[1, "a"]', "list(dyn)"),
        ('{"a": [1.5]}', "map(string, list(double))"),
        ("[]", "list(dyn)"),
        ("request.headers", "map(string, string)"),
        ("request.body.items[0].name", "dyn"),
        ("request.headers.?accept", "optional_type(string)"),
        ('request.headers[?"accept"].orValue("")', "string"),
        ("request.path.segments().map(s, s.size())", "list(int)"),
        ('request.headers.filter(k, k.startsWith("x-"))', "list(string)"),
        ("ages.transformMap(k, v, v > 18)", "map(string, bool)"),
        ("ages.transformMapEntry(k, v, {v: k})", "map(int, string)"),
        ("ages.transformList(k, v, k)", "list(string)"),
        ("cel.bind(n, x + 1, n * n)", "int"),
        ("cel.block([x + 1, [cel.index(0)]], cel.index(1))", "list(int)"),
        ("cel.block([], x)", "int"),
        ("optional.of(x).optMap(n, string(n))", "optional_type(string)"),
        ("optional.of(x).optFlatMap(n, optional.of(n > 1))", "optional_type(bool)"),
        ("x > 1 ? 1.5 : 2.5", "double"),
        ("type(x)", "type(int)"),
        ("int", "type(int)"),
        ('observed_at - duration("1h")', "timestamp"),
        ("ip(request.client_ip).masked(24, 48)", "net.CIDR"),
        ("actions.`login-attempt`", "bool"),
        ("entity.event_count", "int"),
    ],
)
def test_inferred_types(text: str, kind: str) -> None:
    """The checker infers the type of every construct."""
    assert str(accept(text).type) == kind


@pytest.mark.parametrize("sign", ["==", "!=", "<", "<=", ">", ">="])
def test_int_and_double_may_be_compared(sign: str) -> None:
    """Numbers of different types compare by value, without a conversion."""
    assert accept(f"x {sign} 1.5").type is BOOL


def _kind(found: Any) -> str:
    if isinstance(found, str):
        return found
    match found["kind"]:
        case "list":
            return f"list({_kind(found['elem'])})"
        case "map":
            return f"map({_kind(found['key'])}, {_kind(found['value'])})"
        case "type_param":
            return str(found["name"])
        case _:
            return f"{found['name']}({', '.join(map(_kind, found['params']))})"


def _published_schema(case: dict[str, Any]) -> Schema:
    variables = dict.fromkeys(case.get("bindings", {}), "dyn")
    functions = []
    for declared in case.get("type_env", []):
        if declared["kind"] == "variable":
            variables[declared["name"]] = _kind(declared["type"])
            continue
        for each in declared["overloads"]:
            params = tuple(parse_type(_kind(param)) for param in each["params"])
            result = parse_type(_kind(each["result"]))
            functions.append(Signature(declared["name"], each["member"], params, result))
    schema = Schema.empty().with_variables(variables).with_functions(functions)
    return schema.with_container(case.get("container", ""))


def test_published_cases_check() -> None:
    """Every published case that has a value checks; the typed ones have the type they name."""
    typed = 0
    for path in sorted(shared_path("conformance/cel").glob("*.json")):
        if path.stem == "excluded":
            continue
        for case in json.loads(path.read_text())["tests"]:
            strict = not case.get("disable_check")
            if (case["expect"]["kind"] == "error" and strict) or case["id"] in EXCLUDED:
                continue
            found = check(text_of(case), _published_schema(case), strict=strict)
            if case["expect"]["kind"] == "typed":
                typed += 1
                assert str(found.type) == _kind(case["expect"]["deduced_type"]), case["id"]
    assert typed == size(26, 13)


# The checked tree


def test_chains_of_names_become_fields() -> None:
    """The longest declared name is the field, what follows are selections."""
    root = accept("request.headers.accept == request.path").root
    assert root == checked.Call(
        "==",
        False,
        (
            checked.Select(checked.Field("request.headers"), "accept"),
            checked.Field("request.path"),
        ),
    )


def test_constants_are_folded() -> None:
    """Lists and maps of constants, negated numbers and type names are one literal."""
    assert accept("[1, -2, [3u]]").root == checked.Literal([1, -2, [UInt(3)]])
    assert accept('{"a": -1.5}').root == checked.Literal(Map([("a", -1.5)]))
    assert accept("google.protobuf.Timestamp").root == checked.Literal(
        TypeName("google.protobuf.Timestamp")
    )
    assert isinstance(accept("[x]").root, checked.List)
    assert isinstance(accept("[?optional.of(1)]").root, checked.List)


def test_has_of_a_field_and_of_a_key() -> None:
    """`has` of a declared field asks the event, of anything else the value."""
    assert accept("has(request.body)").root == checked.HasField("request.body")
    assert accept("has(fields.country)").root == checked.Has(checked.Field("fields"), "country")
    assert accept("has(request.body.a.b)").root == checked.Has(
        checked.Select(checked.Field("request.body"), "a"), "b"
    )


def test_header_names_are_folded_to_lower_case() -> None:
    """A literal header name finds the header however it is written."""
    found = accept(
        'request.headers["X-A"] == request.headers.Accept && "X-B" in request.headers'
        ' && has(request.headers.`X-C`) && request.headers[?"X-D"].hasValue()'
        ' && request.cookies["SID"] != ""'
    )
    assert found.references.headers == {"x-a", "accept", "x-b", "x-c", "x-d"}
    assert '"SID"' in found.text
    assert "SID" in str(found.root)


def test_patterns_are_translated() -> None:
    """The translation of each constant pattern is in the call."""
    root = accept('request.path.matchesAny(["a", "b$"])').root
    assert isinstance(root, checked.Call)
    assert len(root.regexes) == 2


def test_two_variable_macros_share_the_names_of_the_tree() -> None:
    """`existsOne` is `exists_one`, with one variable or two."""
    root = accept("[1].existsOne(i, v, i == v)").root
    assert isinstance(root, checked.Comprehension)
    assert (root.macro, root.variables) == ("exists_one", ("i", "v"))


def test_references() -> None:
    """The checker lists the fields, actions, lists and functions that an expression reads."""
    found = accept(
        'actions.scan && request.client_ip.inList("scanners") && math.abs(x) > 1'
        " && has(request.body)"
    ).references
    assert found.fields == {"actions.scan", "request.client_ip", "x", "request.body"}
    assert found.actions == {"scan"}
    assert found.lists == {"scanners"}
    assert accept('request.path.containsAny("tools")').references.lists == {"tools"}
    assert not accept('request.path.containsAny(["tools"])').references.lists
    assert {"inList", "math.abs", ">"} <= found.functions


def test_variables_of_macros_go_before_fields() -> None:
    """A macro's variable hides a field of its name, a leading dot finds the field."""
    body = accept("[true].all(x, x && .x == 1)").root
    assert isinstance(body, checked.Comprehension)
    assert body.body == checked.And(
        (
            checked.Local("x"),
            checked.Call("==", False, (checked.Field("x"), checked.Literal(1))),
        )
    )


def test_functions_of_the_host_are_checked() -> None:
    """Declared functions, with abstract types, take part in inference."""
    schema = Schema.empty().with_functions(["pair(A, B) -> pair(A, B)", "first(pair(A, B)) -> A"])
    assert check("first(pair(1, 'a'))", schema).type is INT
    assert check("first(pair([], 'a'))", schema).type == parse_type("list(dyn)")


# Findings

REFUSED = [
    ("request.pth", "unknown-field", "request.pth", "did you mean `request.path`?"),
    ("path", "unknown-field", "path", "did you mean `request.path`?"),
    ("request", "unknown-field", "request", "name one of them"),
    ("nonsense.more", "unknown-field", "nonsense", None),
    ("has(request.bdy)", "unknown-field", "request.bdy", "did you mean `request.body`?"),
    ("x in lists.scanners", "unknown-field", "lists", "inList"),
    ("request.path.name", "no-such-field", "name", None),
    ("request.path.size == 1", "no-such-field", "size", "write `size(...)`"),
    ('request.path.startswith("/")', "unknown-function", "startswith", "`startsWith`"),
    ('contains(request.path, "a")', "unknown-function", "contains", "`value.contains(...)`"),
    ("len(request.path) > 1", "unknown-function", "len", "write `size(...)`"),
    ("now() > observed_at", "unknown-function", "now", "only clock"),
    ("math.absolute(1)", "unknown-function", "absolute", "`math.abs`"),
    ("nosuch.f(1)", "unknown-function", "f", None),
    ("request.headers.exists(k)", "unknown-function", "exists", "list.exists(x, condition)"),
    ("has(request)", "unknown-function", "has", "has(a.b)"),
    ("request.path.contains(1)", "no-matching-overload", "contains", "string.contains(string)"),
    ("x + 1.5", "no-matching-overload", "+", "convert one side"),
    ('x == "a"', "no-matching-overload", "==", None),
    ("request.path == null", "no-matching-overload", "==", None),
    ("!x", "no-matching-overload", "!", None),
    ("-request.path", "no-matching-overload", "-", None),
    ("x && true", "wrong-type", "x", None),
    ("x ? 1 : 2", "wrong-type", "x", None),
    ('x > 1 ? 1 : "a"', "wrong-type", '"a"', "one type"),
    ("x.all(n, n)", "wrong-type", "x", "lists and maps"),
    ("[1].all(n, n)", "wrong-type", "n", None),
    ("[1].map(n, n, n)", "wrong-type", "n", None),
    ("x[0]", "wrong-type", "x", None),
    ('[1]["a"]', "wrong-type", '"a"', None),
    ("ages[1]", "wrong-type", "1", None),
    ("x.optMap(n, n)", "wrong-type", "x", "optional.of"),
    ("[?x]", "wrong-type", "x", "optional.of"),
    ("{1.5: 2}", "wrong-type", "1.5", "keys are"),
    ("[1].transformMapEntry(i, v, v)", "wrong-type", "v", "{key: value}"),
    ("[1].all(i, i, true)", "duplicate-variable", "i", None),
    ("{1: 2, 1u: 3}", "duplicate-key", "1u", None),
    ("My.Message{a: 1}", "message-literal", "My.Message{a: 1}", "write a map"),
    ("x / 0", "division-by-zero", "x / 0", None),
    ("5 % 0", "division-by-zero", "5 % 0", None),
    ("9223372036854775807 + 1", "overflow", "9223372036854775807 + 1", None),
    ("-(-9223372036854775808)", "overflow", "-(-9223372036854775808)", None),
    ('duration("290y")', "invalid-constant", '"290y"', None),
    ('timestamp("2026-13-01T00:00:00Z")', "invalid-constant", '"2026-13-01T00:00:00Z"', None),
    ('observed_at.getHours("Mars/Base")', "invalid-constant", '"Mars/Base"', None),
    ('ip("1.2.3")', "invalid-constant", '"1.2.3"', None),
    ('cidr("10.0.0.0/33")', "invalid-constant", '"10.0.0.0/33"', None),
    ('cidr(request.path).containsIP("a")', "invalid-constant", '"a"', None),
    ('inIpRange(request.client_ip, ["10.0.0.0/8", "x"])', "invalid-constant", '"x"', None),
    ('bucket(request.path, 0) == 1', "invalid-constant", "0", None),
    ('request.path.matches("a(b")', "invalid-regex", None, None),
    (r'request.path.matches(r"(?=a)")', "invalid-regex", "(?=", None),
    (r'request.path.matches("\\Q")', "invalid-regex", r"\\Q", None),
    ("request.path.matches(request.host)", "pattern-not-constant", "request.host", "`contains`"),
    ("request.path.like(request.host)", "pattern-not-constant", "request.host", None),
    ('regex.extract(request.path, "(a)(b)")', "invalid-regex", None, None),
    ('request.client_ip.inList("scaners")', "unknown-list", '"scaners"', "`scanners`"),
    ("request.client_ip.inList(request.path)", "list-not-constant", "request.path", None),
    ('request.path.containsAny("tool")', "unknown-list", '"tool"', "`tools`"),
    ('request.path.endsWithAny("scanners")', "no-phrases", '"scanners"', "`inList`"),
    ("request.path.startsWithAny(request.host)", "list-not-constant", "request.host", None),
    ("request.headers.sortBy(k, k)", "wrong-type", "request.headers", "`map.map(k, k).sort()`"),
    ("[[1]].sortBy(x, x)", "wrong-type", "x", None),
    ("[[1]].sort()", "no-matching-overload", None, None),
    ("cel.index(0) == 1", "unknown-function", None, "`cel.index(0)` in `cel.block`"),
    ("cel.block([cel.index(0)], true)", "unknown-function", None, "behind the value"),
    ("cel.block([1], cel.block([2], cel.index(0)) == 2)", "unknown-function", None, "in another"),
    (f"cel.block({[1] * 33}, true)", "unknown-function", None, "32 values at most"),
    ("cel.block([x], cel.index(0) + 'a')", "no-matching-overload", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "offending", "hint"), REFUSED)
def test_refused_expressions(text: str, code: str, offending: str | None, hint: str | None) -> None:
    """An expression that cannot work is refused once, at its place, with what was likely meant."""
    found = findings(text)
    assert [each.code for each in found] == [code]
    only = found[0]
    if offending is not None:
        assert text[only.span.start : only.span.end] == offending
    if hint is not None:
        assert only.hint is not None
        assert hint in only.hint
    assert not only.message.endswith(".")
    assert only.message[0].islower() or only.message[0] == "`" or only.message[0].isdigit()


def test_all_findings_at_once() -> None:
    """Except for syntax errors, all findings are reported, in the order of the text."""
    text = 'request.pth == "/" && request.path.matches("(a") && x + "a" && nosuch() && 1 / 0 > x'
    codes = [each.code for each in findings(text)]
    assert codes == [
        "unknown-field", "invalid-regex", "no-matching-overload", "unknown-function",
        "division-by-zero",
    ]  # fmt: skip


def test_rendered_findings_show_the_place() -> None:
    """The exception reads as line, column, message, excerpt with carets, and hint."""
    with pytest.raises(ExpressionError) as refusal:
        check('request.method == "GET"\n&& request.pth == "/"', SCHEMA)
    assert str(refusal.value) == (
        "2:4: error: unknown field `request.pth` [unknown-field]\n"
        '  && request.pth == "/"\n'
        "     ^^^^^^^^^^^\n"
        "  hint: did you mean `request.path`?"
    )


@pytest.mark.parametrize(
    "text",
    [
        "true || 1 / 0 > 1",
        "(2 / 0 > 3 ? false : true) && false",
        "true ? 1 : 1 / 0",
        "false ? 1 / 0 : 1",
        'false && request.path.contains(string(ip("x")))',
    ],
)
def test_certain_failures_in_dead_parts_are_let_through(text: str) -> None:
    """A constant that decides makes what it guards unreachable, as in plain CEL."""
    accept(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("request.path.matches(request.host) || true", "pattern-not-constant"),
        ("true || request.path.matches(request.host)", "pattern-not-constant"),
        ("false && request.path.like(request.host)", "pattern-not-constant"),
        ('true ? true : request.path.matches("(")', "invalid-regex"),
        ('request.path.inList("nope") || true', "unknown-list"),
        ("request.path.inList(request.host) || true", "list-not-constant"),
        ('request.path.containsAny("nope") || true', "unknown-list"),
        ('request.path.containsAny("scanners") || true', "no-phrases"),
    ],
)
def test_patterns_and_lists_must_be_known_even_in_dead_parts(text: str, code: str) -> None:
    """An evaluation reaches them before the constant that decides, and costs must agree."""
    assert [each.code for each in findings(text)] == [code]


def test_expected_result_types() -> None:
    """The result must have one of the types its use asks for."""
    assert check("x", SCHEMA, expect=(STRING, INT)).type is INT
    assert check("x > 1", SCHEMA, expect=BOOL).type is BOOL
    only = findings("x", expect=BOOL)[0]
    assert only.code == "wrong-result-type"
    assert only.message == "the result is `int`, not `bool`"
    assert findings("anything", expect=BOOL)[0].hint == "compare it with something: `... == true`"


def test_macros_nest_three_deep() -> None:
    """Three macros within one another are legal, four are not."""
    text = "true"
    for name in "abc":
        text = f"[1].all({name}, {text})"
    accept(text)
    assert [each.code for each in findings(f"[1].all(d, {text})")] == ["macros-too-deep"]


def test_unchecked_mode_leaves_types_to_the_evaluation() -> None:
    """Without checking, names resolve and macros expand, and no type is refused."""
    root = check('x + "a" == nosuch(y) && [1].all(n, n)', SCHEMA, strict=False).root
    assert "nosuch" in str(root)
    assert "Comprehension" in str(root)
    with pytest.raises(ExpressionError):
        check("a b", SCHEMA, strict=False)


def test_a_tree_may_be_checked() -> None:
    """A syntax tree checks as its canonical text does."""
    found = accept("x > 1")
    assert check(found.tree, SCHEMA).root == found.root


def test_published_rules_check_fast() -> None:
    """All rules of the workload check, a thousand of them within seconds on any machine."""
    rules = [rule["expression"] for rule in shared_lines("data/traffic/rules-1k.jsonl.gz")]
    schema = Schema.default()
    accept(rules[0], schema)
    start = time.process_time()
    for rule in rules:
        assert check(rule, schema, expect=BOOL).type is BOOL
    assert time.process_time() - start < 5.0  # an alarm for a slip of an order of magnitude
