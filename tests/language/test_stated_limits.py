"""The statements of the page on the language about nulls, great numbers and loops."""

from __future__ import annotations

import pytest

from tidegate.errors import EvaluationError, ExpressionError
from tidegate.evaluation.rules import Evaluator
from tidegate.language.check.checker import check
from tidegate.program import compile

EVALUATORS: tuple[Evaluator, ...] = ("native", "reference")
NULL = {"fields": {"body": {"a": None}}}
MEMBER = {"fields": {"body": {"a": {"b": 1}}}}


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_a_null_of_json_is_a_value(evaluator: Evaluator) -> None:
    """A null is present, has no members, and can be taken as absent."""
    assert compile("request.body.?a.hasValue()", evaluator=evaluator).evaluate(NULL) is True
    with pytest.raises(EvaluationError, match="no_such_overload"):
        compile("request.body.?a.?b.hasValue()", evaluator=evaluator).evaluate(NULL)
    absent = "request.body.?a.optFlatMap(a, optional.ofNonZeroValue(a)).?b.orValue(0)"
    program = compile(absent, evaluator=evaluator)
    assert (program.evaluate(NULL), program.evaluate(MEMBER)) == (0, 1)


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(
    ("great", "double"),
    [("9223372036854775807", "9223372036854775808.0"),
     ("18446744073709551615u", "18446744073709551616.0"),
     ("9007199254740993", "9007199254740992.0")],
)  # fmt: skip
def test_order_rounds_where_equality_does_not(
    great: str, double: str, evaluator: Evaluator
) -> None:
    """Next to a double an integer is ordered as the nearest double, and equal only exactly."""
    results = [
        compile(f"dyn({great}) {operator} {double}", evaluator=evaluator).evaluate({})
        for operator in ("<", "<=", ">", ">=", "==")
    ]
    assert results == [False, True, False, True, False]


def test_two_loops_over_parts_of_a_body_are_refused() -> None:
    """The size of a part of a body is not known before an event, that of a constant list is."""
    with pytest.raises(ExpressionError, match="cost-over-limit"):
        check("request.body.a.exists(x, request.body.b.exists(y, x == y))")
    check('request.body.a.exists(x, x in ["u", "v"])')
    check('["a", "b"].exists(x, ["c", "d"].exists(y, request.path.contains(x + y)))')
