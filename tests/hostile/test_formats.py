"""Texts that look like addresses, times and patterns, with the verdict of a published suite."""

from __future__ import annotations

import pytest

import tidegate
from shared_data import shared_lines

SCHEMA = tidegate.Schema.empty().with_variables({"s": "string"})
EVALUATORS = ("native", "reference")
TEXTS = {
    "ipv4": "isIP(s) && ip(s).family() == 4",
    "ipv6": "isIP(s) && ip(s).family() == 6",
    "date-time": 'timestamp(s) >= timestamp("0001-01-01T00:00:00Z")',
}
"""An expression that holds for what has the format."""
REFUSED = ("1:2::192.168.0.1", "255.255.255.255", ":60.", "t08:30", ".999999999999999Z")
"""Marks of valid texts that the language refuses: dotted parts of IPv6 addresses, leap seconds,
small letters, and parts of a nanosecond."""


def holds(text: str, value: str, evaluator: str) -> bool:
    """Whether an expression holds for a value; an error is a no."""
    program = tidegate.compile(text, schema=SCHEMA, evaluator=evaluator)  # type: ignore[arg-type]
    try:
        return program.evaluate({"s": value}) is True
    except tidegate.EvaluationError:
        return False


@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_has_a_format_by_both_evaluators_or_by_none(kind: str) -> None:
    """Texts that the suite calls invalid are no addresses and no times."""
    found = [
        case
        for case in shared_lines("data/adversarial/formats/json_schema_formats.jsonl")
        if case["format"] == kind
    ]
    assert {case["valid"] for case in found} == {True, False}
    for case in found:
        answers = {holds(TEXTS[kind], case["data"], evaluator) for evaluator in EVALUATORS}
        is_refused = kind != "ipv4" and any(mark in case["data"] for mark in REFUSED)
        assert answers == {case["valid"] and not is_refused}, case


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_a_time_of_an_event_is_read_as_a_time_of_the_language(evaluator: str) -> None:
    """`observed_at` takes the texts that `timestamp` takes, and refuses the others."""
    rules = tidegate.RuleSet({"all": "true"}, evaluator=evaluator)  # type: ignore[arg-type]
    for case in shared_lines("data/adversarial/formats/json_schema_formats.jsonl"):
        if not isinstance(case["data"], str):
            continue
        is_time = holds(TEXTS["date-time"], case["data"], evaluator)
        try:
            rules.match({"observed_at": case["data"], "request": {"path": "/"}})
        except tidegate.EventError as refusal:
            assert not is_time, case
            assert "/observed_at" in str(refusal)
        else:
            assert is_time, case
