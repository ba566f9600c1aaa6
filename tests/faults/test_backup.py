"""A short run of backups under load; ``python -m tests.faults.backup`` is the long one."""

from __future__ import annotations

from tests.faults.backup import run


def test_a_backup_has_everything_acknowledged_before_it(process: None) -> None:
    """It is intact, and a server goes on from it as if nothing had happened."""
    made = run(2, 7)
    assert made.acknowledged > 0
    assert made.checker.seq >= made.acknowledged
