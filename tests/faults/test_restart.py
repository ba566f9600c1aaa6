"""A short run of the takeovers; ``make restart-test`` is the long one."""

from __future__ import annotations

import time

from tests.faults.restart import run

CYCLES = 3


def test_a_server_takes_over_where_the_other_ended() -> None:
    """Windows, mitigations and idempotency keys go on, and nobody else answers meanwhile."""
    made = run(CYCLES, time.time_ns() % 1_000_000)
    assert made.acknowledged > CYCLES
    assert made.checker.seq >= made.acknowledged
