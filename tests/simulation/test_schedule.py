"""The logic of a cluster under seeds: ``make simulate`` runs many more of them."""

from __future__ import annotations

import pytest
from tests.simulation.schedule import run

SEEDS, A_TEST = 1_000, 250
"""In all, and in one test."""


@pytest.mark.parametrize("first", range(0, SEEDS, A_TEST))
def test_whatever_happens_decisions_are_exact(first: int) -> None:
    """Crashes, stalls, losses and moves change no answer, lose none, and count none twice.

    A seed that fails here prints its schedule with
    ``python -m tests.simulation --seeds 1 --first SEED``.
    """
    results = [run(seed) for seed in range(first, first + A_TEST)]
    assert [(each.seed, each.violation) for each in results if each.violation is not None] == []
    assert sum(each.entries for each in results) > 20 * A_TEST


def test_a_seed_is_always_the_same_schedule() -> None:
    """What a seed found, it finds again."""
    first, second = run(7, traced=True), run(7, traced=True)
    assert len(first.trace) > 300
    assert first == second
