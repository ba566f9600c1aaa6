"""A pair of PostgreSQL for the tests of stores, made once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tools.database_pair import NEEDED, Pair, pair, programs


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Pair]:
    """A primary and its synchronous standby."""
    if programs() is None:
        pytest.skip(f"PostgreSQL {NEEDED} or newer is not installed")
    with pair() as made:
        yield made
