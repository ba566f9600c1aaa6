"""A simulation that finds nothing proves something only if it finds what is wrong."""

from __future__ import annotations

import pytest
from tests.simulation.planted import FAULTS
from tests.simulation.schedule import run

WITHIN = 50
"""Seeds within which each fault is known to be found."""
FROM: dict[str, int] = {}
"""The first of them, where it is not 0: from there on they would take long."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    """One of the first seeds finds it, where the product has no violation."""
    first = FROM.get(fault, 0)
    results = (run(seed, FAULTS[fault]) for seed in range(first, first + WITHIN))
    found = next((result for result in results if result.violation is not None), None)
    assert found is not None
    assert run(found.seed).violation is None
