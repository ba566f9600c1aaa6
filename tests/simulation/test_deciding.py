"""Answers that are remembered by id and by key."""

from __future__ import annotations

from tests.cluster.parts import call, entry
from tests.simulation.model.deciding import Known, RecentAnswers


def test_an_answer_is_found_by_id_and_by_key() -> None:
    """A call is known by either; the body says whether it is the same call."""
    made = RecentAnswers()
    made.add([entry(1, "k")])
    assert made.find(call(1)) == Known(b"1", True)
    assert made.find(call(2, "k", b"[]")) == Known(b"1", False)
    assert made.find(call(2)) is None


def test_the_oldest_are_forgotten() -> None:
    """No more entries are remembered than the bound says."""
    made = RecentAnswers(bound=1)
    made.add([entry(1, "k"), entry(2, "j")])
    assert made.find(call(1, "k")) is None
    assert made.find(call(2, "j")) == Known(b"2", True)
