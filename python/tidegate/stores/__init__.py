"""The service's store: the port, its SQLite form, and one file for each noun.

The SQLite form is imported when it is asked for: a daemon needs the port alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
from tidegate.stores.decision_log.lines import LogBlock

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    if name in ("SqliteStore", "migrate"):
        return getattr(import_module("tidegate.stores.sqlite"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
