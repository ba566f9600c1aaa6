"""Expressions made to break the engine are refused with a place, or run within bounds."""

from __future__ import annotations

from typing import Any

import pytest
from tests.generators.hostile import SHAPES, SIZES, written

import tidegate
from shared_data import shared_lines

LARGEST = {
    "request": {
        "method": "GET",
        "path": "/" + "a" * 16_000,
        "user_agent": "a" * 16_000,
        "headers": {f"h{number}": "a" * 100 for number in range(256)},
    }
}


def survive(text: str, evaluator: str) -> str:
    """The outcome for a text: the code of its refusal or of its error, or "value"."""
    try:
        program = tidegate.compile(text, evaluator=evaluator)  # type: ignore[arg-type]
    except tidegate.ExpressionError as refusal:
        assert refusal.diagnostics
        for finding in refusal.diagnostics:
            assert finding.code
            assert 0 <= finding.span.start <= finding.span.end <= max(len(text), 1)
        return refusal.diagnostics[0].code
    try:
        program.evaluate(LARGEST)
    except tidegate.EvaluationError as error:
        return error.code
    return "value"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", SHAPES)
def test_bombs_end_the_same_way_in_both_evaluators(shape: str, size: int) -> None:
    """A bomb is refused, or ends within its budget, and both evaluators say the same."""
    text = SHAPES[shape](size)
    assert survive(text, "native") == survive(text, "reference")


@pytest.mark.parametrize(
    "shape", ["nested_not", "nested_ternary", "nested_list_literal", "unary_minus_chain"]
)
def test_depth_past_the_limit_is_named(shape: str) -> None:
    """A tree deeper than 64 is refused for its depth, not for what happened on the way."""
    assert survive(SHAPES[shape](1_000), "native") in {"too-deep", "too-long"}


def test_published_bombs_are_survived() -> None:
    """Every published shape ends in a refusal, an error or a value."""
    cases: list[dict[str, Any]] = shared_lines("data/adversarial/expressions/cost_bombs.jsonl")
    outcomes = {
        case["id"]: survive(text, "native") for case in cases if (text := written(case)) is not None
    }
    assert len(outcomes) > 50


def test_doubling_is_refused_beforehand() -> None:
    """Growth by repeated joining is seen in the estimate."""
    assert survive(SHAPES["string_doubling_by_concat"](30), "native") == "cost-over-limit"


@pytest.mark.parametrize("evaluator", ["native", "reference"])
def test_larger_events_than_estimated_run_into_the_budget(evaluator: str) -> None:
    """An event larger than the estimate foresaw ends the evaluation, not the machine."""
    text = 'request.headers.all(k, !request.headers[k].urlDecode().lower().contains("x"))'
    program = tidegate.compile(text, evaluator=evaluator)  # type: ignore[arg-type]
    with pytest.raises(tidegate.EvaluationError) as refusal:
        program.evaluate({"request": {"headers": {f"h{n}": "a" * 16_000 for n in range(250)}}})
    assert refusal.value.code == "cost_exceeded"
