"""A simulation that finds nothing proves something only if it finds what is wrong."""

from __future__ import annotations

import pytest
from tests.simulation.planted import FAULTS
from tests.simulation.schedule import run

FIRST = {
    "the log takes appends of any epoch": 199,
    "the log takes a number twice": 1,
    "calls are answered before the append is done": 0,
    "the states are not rebuilt after a failed append": 4,
    "seen keys are forgotten": 0,
    "keys are dropped before they are indexed": 18,
    "a key that is being decided is taken again": 67,
    "a repeated call is decided again": 25,
    "a gateway does not say that it repeats a call": 25,
    "a call in progress is begun again": 26,
    "reads are answered without a session": 13,
    "the end of the log is not read before the first decision": 1,
    "a limit counts a repeated call twice": 7,
    "an owner goes on after its log was fenced": 63,
    "a lock is not released": 1,
    "a node that stops begins a term": 8,
}
"""The first seed that finds each fault."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    """A seed finds it that finds nothing in the product."""
    assert run(FIRST[fault], FAULTS[fault]).violation is not None
    assert run(FIRST[fault]).violation is None
