"""The shipped node under seeds: ``make simulate`` runs many more of them."""

from __future__ import annotations

import pytest
from tests.simulation.planted import Fault
from tests.simulation.schedule import run

from tidegate_server.hot.recorder import Recorder

SEEDS, A_TEST = 240, 60
"""In all, and in one test."""


@pytest.mark.parametrize("first", range(0, SEEDS, A_TEST))
def test_whatever_happens_decisions_are_exact(first: int) -> None:
    """Crashes, stalls, losses and moves change no answer, lose none, and count none twice.

    A seed that fails here prints its schedule with
    ``python -m tests.simulation --seeds 1 --first SEED``.
    """
    results = [run(seed) for seed in range(first, first + A_TEST)]
    assert [(each.seed, each.violation) for each in results if each.violation is not None] == []
    assert sum(each.entries for each in results) > 15 * A_TEST


def test_a_seed_is_always_the_same_schedule() -> None:
    """Two runs of a seed have the same schedule and the same result."""
    first, second = run(7, traced=True), run(7, traced=True)
    assert len(first.trace) > 50
    assert first == second


def test_an_error_of_the_code_is_a_violation_with_its_schedule() -> None:
    """A seed that makes the code raise shows what went before, and where it was raised."""
    fault = Fault(Recorder, "_finished", "took = self._loop.time() - self._sent_at", "took = 1 / 0")
    found = run(0, fault, traced=True)
    assert "ZeroDivisionError" in str(found.violation)
    assert any("logs: this node is the owner" in line for line in found.trace)
    assert any("in _finished" in line for line in found.trace)
