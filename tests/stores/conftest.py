"""A pair of PostgreSQL for the tests of stores, made once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tools.database_pair import Pair, pair

from tidegate_server.stores.databases import migrate


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Pair]:
    """A primary and its synchronous standby."""
    with pair() as made:
        yield made


@pytest.fixture(scope="session")
def migrated(postgresql: Pair) -> str:
    """The name of a database with the tables, to copy: a copy takes less than a migration."""
    name = postgresql.new_database("migrated")
    migrate(postgresql.url(name))
    return name
