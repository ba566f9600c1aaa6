"""Nodes under faults keep what they acknowledged."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cluster.faults import kinds, run

FAULTS = len(kinds())


@pytest.mark.usefixtures("postgresql", "namespace")
def test_nothing_acknowledged_is_lost_or_decided_twice(tmp_path: Path) -> None:
    """The log has each acknowledged decision once, after a fault of each kind and a promotion."""
    report = run(tmp_path, FAULTS, seed=7)
    assert sum(report.faults.values()) == FAULTS + 1
    assert report.load.answers
