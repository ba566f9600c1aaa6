"""Random faults between a daemon and its service."""

from __future__ import annotations

from pathlib import Path

from tests.hybrid.schedules import schedules


def test_ten_schedules_of_faults_lose_nothing_and_count_nothing_twice(tmp_path: Path) -> None:
    """Whatever fails, the site answers, and the service has each decision once in the end."""
    schedules(tmp_path, 10, seed=1)
