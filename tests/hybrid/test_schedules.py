"""Faults between a daemon and its service; ``make hybrid-test`` is the long run."""

from __future__ import annotations

from pathlib import Path

from tests.hybrid.schedules import drawn, each_once, schedules


def test_schedules_of_faults_lose_nothing_and_count_nothing_twice(
    tmp_path: Path, process: None
) -> None:
    """Whatever fails, the site answers, and the service has each decision once in the end."""
    planned = each_once(1)
    schedules(tmp_path, [*planned, *drawn(3, seed=1)], seed=1)
