"""The store on SQLite: the contract, and what is SQLite's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.stores import SqliteStore
from tidegate.testing.store_contract import StoreContract
from tidegate.testing.store_examples import OpenStore


class TestSqliteStore(StoreContract):
    """SQLite keeps the contract of a store."""

    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        """A file in a directory of its own."""
        return f"sqlite:///{tmp_path}/data/tidegate.db"

    @pytest.fixture
    def open_store(self) -> OpenStore:
        """Opens the file."""
        return SqliteStore
