"""The partition 1 of a database, as a store."""

from __future__ import annotations

from tidegate_server.stores.directory.partitions import is_made, make_partition
from tidegate_server.stores.rows.connections import database_path
from tidegate_server.stores.sqlite import SqliteStore


def open_partition(url: str) -> SqliteStore:
    """Open it; its file is made when it is missing."""
    database = database_path(url)
    if not is_made(database, 1):
        make_partition(database, 1, b"i" * 16)
    return SqliteStore(url, partition=1)
