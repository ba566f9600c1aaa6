"""Accepted events can be read, by every route and after the damage of one of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.service.readable.running import run

pytestmark = pytest.mark.usefixtures("process")


def test_every_accepted_event_is_read_back_as_it_was_kept(tmp_path: Path) -> None:
    """The list, search, match, counts, entities, decision, explanation, replay, messages and
    forwarded decisions show what was sent; both evaluators decide alike."""
    found, read = run(tmp_path, 120, seed=7)
    assert not found.counts, found.examples
    assert min(read[each] for each in ("list", "search", "decision", "explanation")) == 120
