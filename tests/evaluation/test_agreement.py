"""Generated programs through both evaluators: same value, error, place and cost."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from hypothesis import assume, given, reject

from tidegate.errors import ExpressionError
from tidegate.testing import strategies
from tidegate.testing.agreement import Comparison, Observed, Run, compare, main
from tidegate.testing.events import to_json
from tidegate.testing.programs import GeneratedProgram


@given(strategies.programs())
def test_evaluators_agree(program: GeneratedProgram) -> None:
    """The native evaluator gives what the reference says, to the unit of cost."""
    try:
        comparison = compare(program.text, program.schema, program.event)
    except ExpressionError:
        reject()
    assert comparison.agrees, str(comparison)


@given(strategies.programs())
def test_evaluators_agree_on_bytes(program: GeneratedProgram) -> None:
    """Both evaluators agree also on events read from JSON."""
    data = to_json(program.event)
    assume(data is not None)
    assert data is not None
    try:
        comparison = compare(program.text, program.schema, data)
    except ExpressionError:
        reject()
    assert comparison.agrees, str(comparison)


@pytest.mark.parametrize("seed", range(3))
def test_evaluators_agree_on_seeded_runs(seed: int) -> None:
    """A short run of what `make agree` does at length."""
    run = Run(seed)
    differing = [str(each) for _ in range(10) for each in run.batch() if not each.agrees]
    assert differing == []
    assert run.outcomes["value"] > 100


def test_a_difference_in_cost_alone_is_a_difference() -> None:
    """Two results that differ in cost alone differ, since cost is part of the language."""
    seen = Comparison("1", {}, Observed(value=1, cost=1), Observed(value=1, cost=2))
    assert not seen.agrees


def test_command_tells_what_it_saw() -> None:
    """The command says how many programs it ran and how they ended."""
    result = CliRunner().invoke(main, ["--programs", "32", "--seed", "9"])
    assert result.exit_code == 0
    assert "32 programs" in result.output
    assert "seed 9: 0 differ" in result.output
