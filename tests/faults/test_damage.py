"""A short run of the damages; ``make damage-test`` is the long one."""

from __future__ import annotations

import time

from tests.faults.damage import ACTIONS, REPORTED, run

CASES = len(ACTIONS)
"""Each action once."""


def test_no_damage_is_silent(process: None) -> None:
    """Every damage is refused with a sentence, mended or reported, and none ends in a traceback."""
    outcomes = run(CASES, time.time_ns() % 1_000_000, is_quiet=True)
    assert outcomes.total() == CASES
    assert outcomes[REPORTED] < CASES
