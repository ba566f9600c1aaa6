"""The service's store: the port, its two implementations, and a file for each kind of object.

An implementation is imported on demand: a daemon needs only the port.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tidegate.stores.base import (
    ConflictError,
    DamagedLogError,
    FencedError,
    HeldError,
    NotFoundError,
    SchemaError,
    StaleRevisionError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
    UnknownOutcomeError,
    UnsafeDatabaseError,
)
from tidegate.stores.decision_log.lines import LogBlock
from tidegate.stores.port import Store, StoreStatistics

if TYPE_CHECKING:
    from tidegate.stores.databases import migrate, open_store
    from tidegate.stores.sqlite import SqliteStore

__all__ = [
    "ConflictError",
    "DamagedLogError",
    "FencedError",
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
    "UnknownOutcomeError",
    "UnsafeDatabaseError",
    "migrate",
    "open_store",
]

_LATE = {
    "SqliteStore": "tidegate.stores.sqlite",
    "migrate": "tidegate.stores.databases",
    "open_store": "tidegate.stores.databases",
}


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
