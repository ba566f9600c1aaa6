"""Regular expressions made to take for ever."""

from __future__ import annotations

from typing import Any

import pytest

import tidegate
from shared_data import shared_lines
from tidegate.testing.hostile import quoted

SCHEMA = tidegate.Schema.empty().with_variables({"subject": "string"})
FILES = ["redos/regexlib_redos", "redos/regexlib_sample", "regex_semantics/rust_regex"]


def attack(case: dict[str, Any]) -> str:
    """The subject meant to be slow, cut to what an event may hold."""
    if "pump" in case:
        text = case["prefix"] + case["pump"] * min(case["repeat"], 16_384) + case["suffix"]
        return str(text)[:16_000]
    return str(case.get("haystack", case["regex"]))


@pytest.mark.parametrize("file", FILES)
def test_patterns_are_refused_with_a_place_or_run(file: str) -> None:
    """A published pattern is refused with a position inside it, or matches within bounds."""
    accepted = 0
    cases = shared_lines(f"data/adversarial/{file}.jsonl")
    for case in cases:
        if not isinstance(case["regex"], str):
            continue
        text = f"subject.matches({quoted(case['regex'])})"
        try:
            program = tidegate.compile(text, schema=SCHEMA)
        except tidegate.ExpressionError as refusal:
            for finding in refusal.diagnostics:
                assert 0 <= finding.span.start <= finding.span.end <= len(text)
            continue
        subject = attack(case)
        if any(0xD800 <= ord(character) <= 0xDFFF for character in subject):
            continue
        assert program.evaluate({"subject": subject}) in (True, False)
        accepted += 1
    assert accepted > len(cases) // 3


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|aa)+$", "(a|a?)+$", "(.*a){12}", "([a-zA-Z]+)*$", "(x+x+)+y"]
)
def test_patterns_that_ruin_backtracking_engines_answer(pattern: str) -> None:
    """The classics of catastrophic backtracking are ordinary patterns here."""
    program = tidegate.compile(f"subject.matches({quoted(pattern)})", schema=SCHEMA)
    assert program.evaluate({"subject": "a" * 16_000 + "!"}) in (True, False)
