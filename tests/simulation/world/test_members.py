"""Sessions over the database in memory do what those over PostgreSQL do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest
from tests.simulation.world.database import Database
from tests.simulation.world.members import Session
from tests.store_contract.members import End, IsTold, Join, MembersContract, Read

T = TypeVar("T")


class Direct:
    """A connection that nothing happens to."""

    def ask(self, do: Callable[[], T]) -> T:
        """Have something done."""
        return do()

    def close(self) -> None:
        """Nothing is open."""


class Told:
    """Counts notices."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1

    def is_told(self, _seconds: float) -> bool:
        """Whether there was one since the last question."""
        count, self.count = self.count, 0
        return count > 0


class TestMemoryMembers(MembersContract):
    """The contract of every database."""

    @pytest.fixture
    def told(self) -> Told:
        """Counts notices."""
        return Told()

    @pytest.fixture
    def database(self, told: Told) -> Database:
        """A database with two partitions."""
        return Database(2, told)

    @pytest.fixture
    def join(self, database: Database) -> Join:
        """Gives sessions of members."""
        return lambda name: Session(database, Direct(), name, f"{name}:1")

    @pytest.fixture
    def end(self, database: Database) -> End:
        """Ends a session from outside."""
        return lambda session: database.end(session.number)

    @pytest.fixture
    def read(self, database: Database) -> Read:
        """Returns what no member sees."""
        return database.view

    @pytest.fixture
    def is_told(self, told: Told) -> IsTold:
        """Asks for notices."""
        return told.is_told
