"""The command: progress, figures, and a schedule for each seed that fails."""

from __future__ import annotations

import pytest
from tests.simulation import __main__ as command
from tests.simulation import schedule
from tests.simulation.planted import FAULTS

FAULT = "calls are answered before the append is done"


def test_seeds_without_a_violation_are_a_success(capsys: pytest.CaptureFixture[str]) -> None:
    """The last line has the figures."""
    assert command.simulate(5, 3) == 0
    assert "3 seeds from 5" in capsys.readouterr().out


def test_a_failing_seed_is_shown_with_the_command_that_repeats_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its schedule is printed line by line, and what did not hold."""
    fault = FAULTS[FAULT]
    monkeypatch.setattr(
        command, "run", lambda seed, *, traced: schedule.run(seed, fault, traced=traced)
    )
    command.show(0)
    shown = capsys.readouterr().out
    assert "logs: this node is the owner" in shown
    assert "seed 0: " in shown
    assert "python -m tests.simulation --seeds 1 --first 0" in shown


def test_planted_faults_that_are_not_found_are_a_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first seed is named, or the number of seeds that were tried."""
    monkeypatch.setattr(command, "FAULTS", {FAULT: FAULTS[FAULT]})
    assert command.look_for_planted(64) == 0
    assert f"{FAULT}: seed 0: " in capsys.readouterr().out
    assert command.look_for_planted(0) == 1
    assert "not found in 0 seeds" in capsys.readouterr().out
