"""A short run of the kill test; ``make kill-test`` is the long one."""

from __future__ import annotations

import time

from tests.faults import kill_workers
from tests.faults.kill import Kind, run

KINDS = (
    Kind(is_stop=False, is_written=False, awaits_revocation=True),
    Kind(is_stop=False, is_written=True),
    Kind(is_stop=True, is_written=True),
)
SHORTLY = 0.6
"""Seconds into the load: what is acknowledged is decided once more for the comparison."""
WORKER_KINDS = (("one",), ("all",), ("parent",))


def test_what_was_acknowledged_survives_a_kill(process: None) -> None:
    """After a kill each answered decision, key, mitigation, revocation, definition, challenge and
    pass is there, once and whole."""
    made = run(len(KINDS), time.time_ns() % 1_000_000, KINDS, SHORTLY)
    assert made.acknowledged > len(KINDS)
    assert made.checker.seq >= made.acknowledged
    assert made.checker.revoked > 0
    assert made.solved > made.revoked > 0
    assert made.stops == 1
    assert made.defined > 0


def test_what_was_acknowledged_survives_kills_of_server_workers(process: None) -> None:
    """Of two workers one dies, or both, or all with their parent: nothing acknowledged is lost or
    there twice, windows go on, and no call is refused where the next owner came in time."""
    made, _ = kill_workers.run(len(WORKER_KINDS), time.time_ns() % 1_000_000, 2, WORKER_KINDS)
    assert made.kills == 5
    assert made.restarts == 1
    assert all(each.checker.seq >= each.total > 0 for each in made.residents)
