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


OF_ISO_8601 = ("1985-04-12T23:20:50+01", "2020-01-01 00:00:00Z", "2020-11-28T23:55:45Z")
"""Texts that name one moment and are invalid in the suite, which asks for RFC 3339 or for another
format."""


def holds(text: str, value: str, evaluator: str) -> bool:
    """Whether an expression holds for a value; an error is a no."""
    program = tidegate.compile(text, schema=SCHEMA, evaluator=evaluator)  # type: ignore[arg-type]
    try:
        return program.evaluate({"s": value}) is True
    except tidegate.EvaluationError:
        return False


@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_has_a_format_by_both_evaluators_or_by_none(kind: str) -> None:
    """Texts that the suite calls invalid are neither addresses nor times."""
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
def test_a_time_of_an_event_is_read_or_refused(evaluator: str) -> None:
    """`observed_at` takes valid times but leap seconds, and refuses all that isn't ISO 8601."""
    rules = tidegate.RuleSet({"all": "true"}, evaluator=evaluator)  # type: ignore[arg-type]
    for case in shared_lines("data/adversarial/formats/json_schema_formats.jsonl"):
        if not isinstance(case["data"], str):
            continue
        is_valid = case["format"] == "date-time" and case["valid"] and ":60" not in case["data"]
        is_time = is_valid or case["data"] in OF_ISO_8601
        try:
            rules.match({"observed_at": case["data"], "request": {"path": "/"}})
        except tidegate.EventError as refusal:
            assert not is_time, case
            assert "/observed_at" in str(refusal)
        else:
            assert is_time, case
