"""A short run of the kill test; ``make kill-test`` is the long one."""

from __future__ import annotations

import time

from tests.faults import kill_workers
from tests.faults.kill import run

CYCLES = 8
ATTEMPTS = 3
"""Each run is judged whole; a busy machine may kill each server before a pass was revoked."""


def test_what_was_acknowledged_survives_a_kill() -> None:
    """What was answered is there, once and whole: decisions, keys, mitigations, revocations,
    definitions, challenges and their passes."""
    for _ in range(ATTEMPTS):
        made = run(CYCLES, time.time_ns() % 1_000_000)
        if made.revoked:
            break
    assert made.acknowledged > CYCLES
    assert made.checker.seq >= made.acknowledged
    assert made.checker.revoked > 0
    assert made.solved > made.revoked > 0


def test_what_was_acknowledged_survives_kills_of_server_workers() -> None:
    """Of two workers either dies, or both, or all with their parent: nothing acknowledged is lost
    or there twice, windows go on, and the partition of the other one is not refused."""
    made = kill_workers.run(4, time.time_ns() % 1_000_000, 2)
    assert made.kills >= 4
    assert all(each.checker.seq >= each.total > 0 for each in made.residents)
