"""The partition 1 of a database of PostgreSQL, as a store."""

from __future__ import annotations

from tidegate_server.stores.databases import need_partitions
from tidegate_server.stores.postgresql import PostgresqlStore


def open_partition(url: str) -> PostgresqlStore:
    """Open it; its schema is made when it is missing."""
    need_partitions(url, 2)
    return PostgresqlStore(url, partition=1)
