"""The memory that a worker gives back after its work."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from tidegate_server.workers import tidying
from tidegate_server.workers.tidying import Tidying


class Knot:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def unfrozen() -> Iterator[None]:
    """Leave the collector as it was."""
    yield
    gc.unfreeze()


def test_what_a_piece_of_work_leaves_is_collected() -> None:
    """After a piece of work everything it made is collected, also what refers to itself."""
    tidy = Tidying()
    left = weakref.ref(Knot())
    tidy.tidy()
    assert left() is None


def test_what_was_kept_is_searched_once_a_worker_has_grown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before, it is passed over, though nothing needs it any more."""
    tidy = Tidying()
    kept = Knot()
    tidy.tidy()
    left = weakref.ref(kept)
    del kept
    tidy.tidy()
    assert left() is not None
    monkeypatch.setattr(tidying, "GROWTH_BYTES", -(2**62))
    tidy.tidy()
    assert left() is None
