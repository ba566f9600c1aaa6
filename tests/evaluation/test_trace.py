"""Tracing."""

from __future__ import annotations

from tidegate.evaluation.reference import evaluate
from tidegate.evaluation.trace import trace
from tidegate.language.check.checker import check
from tidegate.language.tree.schema import Schema

SCHEMA = Schema.empty().with_variables({"x": "int", "l": "list(int)"})


def test_a_trace_ends_as_the_evaluation_does() -> None:
    """Looking on changes neither value nor cost."""
    root = check("x > 1 && l.exists(e, e / x == 2)", SCHEMA).root
    for record in ({"x": 2, "l": [3, 4]}, {"x": 0, "l": [1]}, {}):
        assert trace(root, record).outcome == evaluate(root, record)


def test_every_node_that_was_evaluated_has_a_step_in_order_of_entry() -> None:
    """Each step has its node's value or failure, and the cost of all nodes below it."""
    text = "x == 1 || 1 / x == 1"
    steps = trace(check(text, SCHEMA).root, {"x": 0}).steps
    shown = [
        (text[step.node.span.start : step.node.span.end], step.depth, step.value, step.cost)
        for step in steps
    ]
    assert shown == [
        (text, 0, None, 8),
        ("x == 1", 1, False, 3),
        ("x", 2, 0, 1),
        ("1", 2, 1, 1),
        ("1 / x == 1", 1, None, 4),
        ("1 / x", 2, None, 3),
        ("1", 3, 1, 1),
        ("x", 3, 0, 1),
    ]
    assert [step.failure.code for step in steps if step.failure] == ["divide_by_zero"] * 3


def test_the_body_of_a_macro_has_a_step_for_each_element() -> None:
    """Elements behind the deciding one have none."""
    steps = trace(check("l.exists(e, e == 2)", SCHEMA).root, {"l": [1, 2, 3]}).steps
    assert [step.value for step in steps if step.depth == 1] == [[1, 2, 3], False, True]
