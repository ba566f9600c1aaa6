"""Twenty questions of a newcomer, and where ARCHITECTURE.md says their answers are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "ARCHITECTURE.md").read_text().partition("## Twenty questions")[2]
ROWS = re.findall(r"^\| (?P<question>[^|]+\?) \| (?P<places>.+) \|$", TABLE, re.MULTILINE)


def test_there_are_twenty_questions() -> None:
    """The table is read whole."""
    assert len(ROWS) == 20


@pytest.mark.parametrize("places", [row[1] for row in ROWS], ids=[row[0] for row in ROWS])
def test_each_place_is_there(places: str) -> None:
    """A file or folder has the name that the table gives."""
    named = re.findall(r"`([^`]+)`", places)
    assert named
    assert not [each for each in named if not (ROOT / each).exists()]
