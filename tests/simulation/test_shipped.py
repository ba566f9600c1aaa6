"""The seeds run what a service runs."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import pytest
from tests.simulation.schedule import run
from tests.simulation.shipped import MODULES
from tools.cluster import cluster


@pytest.mark.usefixtures("postgresql")
def test_a_node_loads_every_module_under_simulation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that `tidegate serve` doesn't import would be simulated for nothing."""
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    with cluster(tmp_path, "a") as made:
        lines = made.nodes["a"].log.read_text().splitlines()
    loaded = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
    assert {module.__name__ for module in MODULES} - loaded == set()


def test_seeds_run_every_module_under_simulation() -> None:
    """One that no seed calls would be named for nothing."""
    called: set[str] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            called.add(frame.f_globals.get("__name__", ""))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for seed in range(6):
            run(seed)
    finally:
        sys.setprofile(before)
    assert {module.__name__ for module in MODULES} - called == set()
