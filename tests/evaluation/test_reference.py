"""The reference evaluator: meaning and cost, rule by rule of docs/canonical-tree.md."""

from __future__ import annotations

from typing import Any

import pytest

from reference_checks import code, outcome, total, value
from tidegate.evaluation.reference import evaluate
from tidegate.language.tree.ast import Span
from tidegate.language.tree.checked import Call, Field, HasField, Literal, Local, OptionalMap
from tidegate.limits import Limits
from tidegate.values import Map, OptionalValue


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("false && x", False),
        ("x && false", False),
        ("1 / z == 1 && false", False),
        ("true || 1 / z == 1", True),
        ("1 / z == 1 || true", True),
        ("[1, 0].exists(e, e / e == 1)", True),
        ("[0, 1].exists(e, 1 / e == 1)", True),
        ("![1, 0].all(e, e > 5 && 1 / e > 0)", True),
        ("[0, 7].all(e, 1 / e == 7)", False),
    ],
)
def test_errors_are_passed_over_where_another_operand_decides(text: str, expected: bool) -> None:
    """``&&``, ``||``, ``all`` and ``exists`` ask every operand before they fail."""
    assert value(text, x=5, z=0) is expected


@pytest.mark.parametrize(
    ("text", "expected", "span"),
    [
        ("true && x", "no_such_overload", (8, 9)),
        ("1 / z == 1 && x", "divide_by_zero", (0, 5)),
        ("x && 1 / z == 1", "no_such_overload", (0, 1)),
        ("x ? 1 : 2", "no_such_overload", (0, 1)),
        ("[z].exists_one(e, 1 / e > 0)", "divide_by_zero", (18, 23)),
        ("[z].map(e, 1 / e)", "divide_by_zero", (11, 16)),
        ("[x].filter(e, e)", "no_such_overload", (14, 15)),
        ("m.b", "no_such_key", (0, 3)),
        ("m['b']", "no_such_key", (0, 6)),
        ("m[l]", "no_such_overload", (0, 4)),
        ("x.b", "no_such_overload", (0, 3)),
        ("has(x.b)", "no_such_overload", None),
        ("l[1]", "index_out_of_range", (0, 4)),
        ("l[-1]", "index_out_of_range", None),
        ("l[dyn(0.5)]", "invalid_argument", None),
        ("l['0']", "no_such_overload", (0, 6)),
        ("x.all(e, true)", "no_such_overload", (0, 14)),
        ("{x: 1, 5u: 2}", "invalid_argument", (0, 13)),
        ("{l: 1}", "no_such_overload", (0, 6)),
        ("[?x]", "no_such_overload", (0, 4)),
        ("{?'a': x}", "no_such_overload", (0, 9)),
        ("l.transformMapEntry(i, v, x)", "no_such_overload", None),
        ("[1, 2].transformMapEntry(i, v, {'k': v})", "invalid_argument", None),
        ("x.optMap(v, v)", "no_such_overload", None),
        ("optional.of(1).optFlatMap(v, v)", "no_such_overload", None),
    ],
)
def test_an_error_has_the_span_of_the_node_that_raised_it(
    text: str, expected: str, span: tuple[int, int] | None
) -> None:
    """The first error in order is the one that is reported."""
    failure = outcome(text, x=5, z=0, l=[0], m={"a": 1}).failure
    assert failure is not None
    assert failure.code == expected
    assert failure.span is not None
    if span is not None:
        assert (failure.span.start, failure.span.end) == span


def test_absent_fields_are_errors_that_has_asks_about() -> None:
    """A field of the event may be missing; ``has`` tells."""
    missing = evaluate(Field("request.body", span=Span(3, 5)), {})
    assert missing.failure is not None
    assert (missing.failure.code, missing.failure.span) == ("no_such_field", Span(3, 5))
    assert evaluate(HasField("request.body"), {}).value is False
    assert evaluate(HasField("request.body"), {"request.body": None}).value is True


def test_total_maps_answer_absent_keys_with_nothing() -> None:
    """Reading gives "", presence and iteration tell the truth, however the map is reached."""
    headers = total(a="1")
    assert value("h.b == '' && h['b'] == '' && dyn(h)[1] == ''", h=headers) is True
    assert value("!has(h.b) && !('b' in h) && !h.?b.hasValue() && size(h) == 1", h=headers) is True
    assert value("[h][0].b + cel.bind(g, h, g.b)", h=headers) == ""
    assert value("h.map(k, k) == ['a'] && h == {'a': '1'}", h=headers) is True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("m.?a.value()", 1),
        ("m.?b.hasValue()", False),
        ("l[?5].hasValue()", False),
        ("optional.of(m).a.value()", 1),
        ("optional.of(m).b.hasValue()", False),
        ("optional.of(l)[?0].value()", 0),
        ("optional.none().a.b.hasValue()", False),
        ("has(optional.none().a)", False),
        ("has(optional.of(m).a)", True),
        ("optional.of(2).optMap(v, v * 2).value()", 4),
        ("optional.none().optMap(v, v * 2).hasValue()", False),
        ("optional.of(m).optFlatMap(v, v.?a).value()", 1),
        ("[1, ?optional.none(), ?optional.of(3)]", [1, 3]),
        ("{?'a': optional.none(), ?'b': optional.of(2)}", Map([("b", 2)])),
    ],
)
def test_optional_forms_reach_inside(text: str, expected: Any) -> None:
    """Optional access to an absent member gives an empty optional, never an error."""
    assert value(text, m={"a": 1}, l=[0]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1, 2, 3].map(e, e > 1, e * 2)", [4, 6]),
        ("[1, 2, 3].filter(e, e > 1)", [2, 3]),
        ("{'a': 1, 'b': 2}.map(k, k)", ["a", "b"]),
        ("{'a': 1, 'b': 2}.filter(k, k != 'a')", ["b"]),
        ("[1, 2, 2].exists_one(e, e == 2)", False),
        ("[5, 6].transformList(i, v, i > 0, i + v)", [7]),
        ("{'a': 1}.transformList(k, v, k + string(v))", ["a1"]),
        ("[5, 6].transformMap(i, v, v)", Map([(0, 5), (1, 6)])),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v * 2)", Map([("b", 4)])),
        ("['x', 'y'].transformMapEntry(i, v, {v: i})", Map([("x", 0), ("y", 1)])),
        ("[1].map(e, [2].map(e, e))", [[2]]),
        ("cel.bind(a, 1, cel.bind(a, a + 1, a))", 2),
    ],
)
def test_macros_walk_lists_and_maps_in_order(text: str, expected: Any) -> None:
    """Macros visit elements and keys in order, and the innermost variable of a name wins."""
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("x", 1),
        ("s + s", 3 + 4),
        ("l + l", 3 + 4),
        ("s == s", 3 + 2),
        ("l == l", 3 + 2),
        ("l == x", 3),
        ("m == m", 3 + 1),
        ("x in [1, 2, 3]", 3 + 1),
        ("2 in l", 3 + 2),
        ("s in ['a', x]", 3 + 2 + 1 + 1 + 0),
        ("'a' in m", 3 + 1),
        ("size(s)", 2 + 2),
        ("size(l)", 2),
        ("dyn(s)", 2),
        ("optional.of(s).orValue(s)", 4),
        ("s.startsWith('a')", 3),
        ("s.lower()", 2 + 2 + 2),
        ("l.map(e, e)", 2 + 2 * 2),
        ("l.all(e, e > 1)", 2 + 1 + 3),
        ("l.exists(e, e > 0)", 2 + 1 + 3),
        ("l.filter(e, true)", 2 + 2 * 2),
        ("s.split(s)", 3 + 4 + 2),
        ("['a', 'b'].join(s)", 3 + 2 + 2),
        ("true ? 1 : s", 3),
        ("false && s == s", 2),
        ("s < s", 3 + 4),
        ("optional.of(1).optMap(v, v)", 2 + 1 + 1),
        ("cel.bind(a, s, a)", 3),
        ("[s, s]", 3),
        ("{'a': s}", 3),
        ("m.a", 2),
        ("l[0]", 3),
        ("s.matches('b')", 3 + 2),
    ],
)
def test_costs_are_counted_by_the_rules(text: str, cost: int) -> None:
    """A unit for each node, sixteen bytes, element; the sum is part of the language."""
    assert outcome(text, x=1, s="a" * 32, l=[1, 2], m={"a": 1}).cost == cost


def test_what_is_not_evaluated_costs_nothing() -> None:
    """A deciding operand or element ends the walk."""
    assert outcome("true || s.lower() == s", s="a" * 1600).cost == 2
    assert (
        outcome("l.exists(e, e == 1)", l=[1, 2, 3]).cost
        == outcome("l.exists(e, e == 1)", l=[1]).cost
    )


def test_an_evaluation_ends_at_its_limit() -> None:
    """An exceeded cost is never passed over, and is reported as the limit plus one."""
    ended = outcome("l.exists(e, e < 0) || true", l=list(range(200)), limits=Limits(cost=100))
    assert ended.failure is not None
    assert (ended.failure.code, ended.cost) == ("cost_exceeded", 101)
    text, twenty = "l.exists(e, e < 0) || true", list(range(20))
    assert outcome(text, l=twenty, limits=Limits(cost=84)).cost == 84
    assert outcome(text, l=twenty, limits=Limits(cost=83)).failure is not None


def test_unknown_functions_and_kinds_are_no_overload() -> None:
    """A tree from elsewhere may name anything; it fails, it does not crash."""
    for tree in (
        Call("nowhere", False, ()),
        Call("+", True, (Literal(1), Literal(1))),
        Call("size", False, (Literal(None),)),
        OptionalMap(Literal(1), "v", Local("v")),
    ):
        failure = evaluate(tree, {}).failure
        assert failure is not None
        assert failure.code == "no_such_overload"


def test_a_result_may_be_anything() -> None:
    """A result may be null or an optional."""
    assert outcome("null").failure is None
    assert value("optional.of(1)") == OptionalValue(1)
    assert code("m.a", m={}) == "no_such_key"
