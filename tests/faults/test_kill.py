"""A short run of the kill test; ``make kill-test`` is the long one."""

from __future__ import annotations

import time

from tests.faults.kill import run

CYCLES = 8


def test_what_was_acknowledged_survives_a_kill() -> None:
    """What was answered is there, once and whole: decisions, keys, mitigations, revocations,
    definitions, challenges and their passes."""
    made = run(CYCLES, time.time_ns() % 1_000_000)
    assert made.acknowledged > CYCLES
    assert made.checker.seq >= made.acknowledged
    assert made.checker.revoked > 0
    assert made.solved > made.revoked > 0
