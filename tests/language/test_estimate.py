"""The estimated worst case of an expression's cost."""

from __future__ import annotations

import pytest

from shared_data import shared_lines
from tidegate.errors import ExpressionError
from tidegate.language.check.checker import CheckedExpression, check
from tidegate.language.tree.schema import Schema
from tidegate.limits import DEFAULT

SCHEMA = Schema.default()


def estimated(text: str) -> CheckedExpression:
    return check(text, SCHEMA)


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ("1", 1),
        ("1 + 2", 3),
        ('source == "x"', 3),
        ('source in ["a", "b"]', 4),
        ("size(source)", 2 + 256 // 16),
        ('"a" in request.headers', 4),
        ("[1, 2, 3].all(n, n > 0)", 1 + 1 + 3 * (1 + 3)),
        ("true ? 1 : 1 + 2", 5),
        ("source.lower()", 2 + 256 // 16 * 2),
        ("cel.bind(a, 1, a + a)", 5),
    ],
)
def test_estimates_follow_the_cost_rules(text: str, total: int) -> None:
    """Nodes, bytes and elements are counted as the evaluation counts them."""
    assert estimated(text).cost_estimate.total == total


def test_one_macro_over_headers_is_affordable() -> None:
    """The plain uses of macros on event-sized maps pass, several of them too."""
    one = 'request.headers.exists(k, request.headers[k].lower().contains("x"))'
    assert estimated(one).cost_estimate.total < DEFAULT.cost // 4
    estimated(f"{one} || {one} || {one} || {one}")


def test_macros_within_macros_over_maps_are_refused() -> None:
    """An expression that would multiply the sizes of maps is refused, and names the inner part."""
    text = (
        "request.headers.exists(a, request.cookies.exists(b, "
        "request.query_params.exists(c, a == b && b == c)))"
    )
    with pytest.raises(ExpressionError) as refusal:
        estimated(text)
    only = refusal.value.diagnostics[0]
    assert only.code == "cost-over-limit"
    assert text[only.span.start : only.span.end].startswith("request.query_params.exists(c")


def test_the_dominant_part_is_named() -> None:
    """The report says which part takes most."""
    text = 'request.method == "GET" && request.query_params.exists(k, k.contains("x"))'
    cost = estimated(text).cost_estimate
    assert text[cost.dominant.start : cost.dominant.end].startswith("request.query_params.exists")
    assert cost.total // 2 < cost.dominant_units <= cost.total


def test_growing_strings_are_bounded() -> None:
    """Repeated joining is estimated at the longest string that may be built."""
    text = "request.path"
    for _ in range(12):
        text = f"cel.bind(s, {text}, s + s)"
    with pytest.raises(ExpressionError) as refusal:
        estimated(text)
    assert [each.code for each in refusal.value.diagnostics] == ["cost-over-limit"]


def test_all_published_rules_are_affordable() -> None:
    """No rule of the traffic workload is refused for its estimate."""
    for rule in shared_lines("data/traffic/rules-1k.jsonl.gz"):
        assert estimated(rule["expression"]).cost_estimate.total <= DEFAULT.cost
