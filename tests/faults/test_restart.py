"""A short run of the takeovers; ``make restart-test`` is the long one."""

from __future__ import annotations

import time

from tests.faults.restart import Kind, run

KINDS = (Kind(is_kill=True, is_refused=False), Kind(is_kill=False, is_refused=True))


def test_a_server_takes_over_where_the_other_ended(process: None) -> None:
    """Windows, mitigations and idempotency keys go on, and nobody else answers meanwhile."""
    made = run(len(KINDS), time.time_ns() % 1_000_000, KINDS)
    assert made.kills == 1
    assert made.acknowledged > len(KINDS)
    assert made.checker.seq >= made.acknowledged
