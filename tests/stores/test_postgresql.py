"""The store on PostgreSQL: the contract, and what is PostgreSQL's own."""

from __future__ import annotations

import pytest
from tests.postgresql_pair import Pair

from tidegate.stores.postgresql import PostgresqlStore
from tidegate.testing.store_contract.contract import StoreContract
from tidegate.testing.store_contract.examples import OpenStore


class TestPostgresqlStore(StoreContract):
    """PostgreSQL with a synchronous standby keeps the contract of a store."""

    @pytest.fixture
    def url(self, postgresql: Pair) -> str:
        """A database of its own."""
        return postgresql.url(postgresql.new_database())

    @pytest.fixture
    def open_store(self) -> OpenStore:
        """Opens the database."""
        return PostgresqlStore
