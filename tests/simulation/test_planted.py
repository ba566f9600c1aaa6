"""A simulation that finds nothing proves something only if it finds what is wrong."""

from __future__ import annotations

import pytest
from tests.simulation.planted import FAULTS
from tests.simulation.schedule import run

FIRST: dict[str, int] = {}
"""The first seed that finds each fault."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    """A seed finds it that finds nothing in the product."""
    assert run(FIRST[fault], FAULTS[fault]).violation is not None
    assert run(FIRST[fault]).violation is None
