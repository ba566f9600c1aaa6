"""A few moments to go back to; ``make restore-test`` has more."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.postgresql.restoring import go_back
from tools.database_pair import pair


@pytest.mark.usefixtures("postgresql")
def test_a_database_goes_back_to_a_moment_and_the_service_goes_on(tmp_path: Path) -> None:
    """Everything acknowledged before is there, nothing is torn, and windows and keys go on."""
    with pair() as made:
        found = list(go_back(made, tmp_path, 2, time.time_ns() % 1_000_000))
    assert all(decisions >= moment.acknowledged for moment, decisions in found)
