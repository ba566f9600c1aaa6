"""Where the service keeps everything: the port, its SQLite form, and one file for each noun."""

from tidegate.stores.base import (
    ConflictError,
    DamagedLogError,
    HeldError,
    NotFoundError,
    SchemaError,
    StaleRevisionError,
    Store,
    StoreBusyError,
    StoreError,
    StoreStatistics,
    StoreUnavailableError,
    UnsafeDatabaseError,
)
from tidegate.stores.decision_log.log import LogBlock
from tidegate.stores.sqlite import SqliteStore, migrate

__all__ = [
    "ConflictError",
    "DamagedLogError",
    "HeldError",
    "LogBlock",
    "NotFoundError",
    "SchemaError",
    "SqliteStore",
    "StaleRevisionError",
    "Store",
    "StoreBusyError",
    "StoreError",
    "StoreStatistics",
    "StoreUnavailableError",
    "UnsafeDatabaseError",
    "migrate",
]
