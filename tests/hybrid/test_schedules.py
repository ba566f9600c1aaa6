"""Faults between a daemon and its service; ``make hybrid-test`` is the long run."""

from __future__ import annotations

from pathlib import Path

from tests.hybrid.schedules import each_once, schedules


def test_no_fault_loses_anything_or_counts_it_twice(tmp_path: Path) -> None:
    """Whatever fails, the site answers, and the service has each decision once in the end."""
    schedules(tmp_path, each_once(1), seed=1)
