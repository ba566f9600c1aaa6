"""Indexed rule sets: the rules that hold are those of the reference."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import tidegate
from tidegate.testing.sets import Run, main

EVENT = b'{"request":{"method":"GET","path":"/login","user_agent":"GoogleBot"}}'


@pytest.mark.parametrize("seed", range(3))
def test_indexed_sets_hold_as_the_reference_says(seed: int) -> None:
    """A short run of what `python -m tidegate.testing.sets` does at length."""
    run = Run(seed)
    differing = [str(each) for _ in range(25) for each in run.one()]
    assert differing == []
    assert run.held > 100


def test_command_tells_what_it_saw() -> None:
    """The command says how many sets it ran and how many answers differ."""
    result = CliRunner().invoke(main, ["--sets", "3", "--seed", "9"])
    assert result.exit_code == 0
    assert result.output.startswith("3 sets")
    assert "0 differ" in result.output


def test_stats_name_the_rules_that_no_search_helps() -> None:
    """A rule that only says what must not be is evaluated on every event, and stats say so."""
    rules = tidegate.RuleSet(
        {
            "bot": 'request.user_agent.lowerAscii().contains("bot") && request.method == "GET"',
            "login": 'request.path == "/login" && request.method == "GET"',
            "not-get": 'request.method != "GET"',
        }
    )
    stats = rules.stats()
    assert (stats.rules, stats.indexed, stats.searched, stats.shared) == (3, 2, 2, 1)
    assert stats.always == {"not-get": "only says what must not be"}
    assert stats.index_bytes_a_rule > 0
    assert rules.match(EVENT).matched == ["bot", "login"]


def test_a_sample_changes_no_answer() -> None:
    """What an index learned from events is where it looks first, never what holds."""
    expressions = {
        str(number): f'request.path.startsWith("/{letter}") || request.method == "{method}"'
        for number, (letter, method) in enumerate(
            (letter, method) for letter in "lmn" for method in ("GET", "POST")
        )
    }
    plain = tidegate.RuleSet(expressions)
    trained = tidegate.RuleSet(expressions, sample=[EVENT, b"no event", b"{}"])
    for event in (EVENT, b"{}", b'{"request":{"path":"/n","method":"PUT"}}'):
        assert plain.match(event) == trained.match(event)
        assert plain.match(event, errors=True).matched == plain.match(event).matched


def test_the_reference_has_no_index() -> None:
    """The reference evaluates every rule, and says so."""
    stats = tidegate.RuleSet({"a": "true"}, evaluator="reference").stats()
    assert (stats.indexed, stats.always) == (0, {"a": "the reference evaluates every rule"})
