"""Regular expressions made to take for ever."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.generators.hostile import CROWDED, crowd, quoted

import tidegate
from shared_data import shared_lines
from tidegate.functions.automaton import Automaton
from tidegate.regex import RegexError, parse

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


def agreements(pattern: str, subject: str) -> int:
    """In how many of two expressions the evaluators were compared, and agreed."""
    compared = 0
    for text in (
        f"subject.matches({quoted(pattern)})",
        f"regex.extract(subject, {quoted(pattern)})",
    ):
        try:
            native = tidegate.compile(text, schema=SCHEMA)
        except tidegate.ExpressionError:
            continue
        reference = tidegate.compile(text, schema=SCHEMA, evaluator="reference")
        context = {"subject": subject}
        assert native.evaluate(context) == reference.evaluate(context), (text, subject)
        compared += 1
    return compared


@pytest.mark.parametrize("pattern", CROWDED)
def test_patterns_with_many_live_states_answer_as_the_reference(pattern: str) -> None:
    """Text that makes a new state of every character leaves no difference."""
    dice = Random(1)
    for letters, length in (("ab", 60), ("abc ", 120), ("ab", 1_100)):
        subject = "".join(dice.choice(letters) for _ in range(length))
        agreements(pattern, subject)
        agreements(pattern, subject + "cdz")


def test_most_patterns_with_many_live_states_are_accepted() -> None:
    """Few are too large for the language; the evaluators are compared over all the others."""
    accepted = [pattern for pattern in CROWDED if agreements(pattern, "ab")]
    assert len(accepted) >= len(CROWDED) - 3, set(CROWDED) - {*accepted}


def test_generated_patterns_answer_as_the_reference() -> None:
    """Nested counts, alternations and words of any shape are refused or agree."""
    dice, accepted, compared = Random(1), 0, 0
    for _ in range(200):
        pattern = crowd(dice)
        try:
            if len(Automaton(parse(pattern))._program) > 2_000:
                continue
        except RegexError:
            continue
        accepted += 1
        compared += agreements(pattern, "".join(dice.choice("abc \u00e9") for _ in range(80)) + "!")
    assert accepted > 80
    assert compared > accepted
