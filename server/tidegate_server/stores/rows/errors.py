"""The errors of both drivers: which end a transaction, which mean damage, and their port errors.

SQLite's driver gives an error code, PostgreSQL's an SQLSTATE. An error with neither ended the
connection, or prevented it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pysqlite3 import dbapi2
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from tidegate_server.stores.base import (
    ConflictError,
    DamagedDatabaseError,
    NotFoundError,
    StoreUnavailableError,
)

_LOST = {
    dbapi2.SQLITE_FULL,
    dbapi2.SQLITE_IOERR,
    dbapi2.SQLITE_NOMEM,
    dbapi2.SQLITE_CORRUPT,
    dbapi2.SQLITE_READONLY,
    dbapi2.SQLITE_CANTOPEN,
    dbapi2.SQLITE_NOTADB,
}
_BUSY = {dbapi2.SQLITE_BUSY, dbapi2.SQLITE_LOCKED}
_DAMAGED_STATES = {"XX001", "XX002"}
_FOREIGN_KEY_STATE = "23503"
_LOST_CLASSES = {"08", "53", "57", "58", "XX"}
"""Connection, resources, operator intervention, system errors, internal errors."""
_PASSING_STATES = {"25006", "40001", "40P01", "55P03"}
"""Read-only since it became a standby, a transaction conflict, or a lock that was not free."""
_KEY = re.compile(r"Key \((?P<columns>[^)]*)\)=")


def is_corrupt(error: BaseException) -> bool:
    """Whether an error says that a file or page is damaged."""
    state = _state(error)
    if state is not None:
        return state in _DAMAGED_STATES
    return _code(error) in (dbapi2.SQLITE_CORRUPT, dbapi2.SQLITE_NOTADB)


def is_fatal(error: BaseException) -> bool:
    """Whether an error ends the whole transaction, not just one statement."""
    state = _state(error)
    if state is not None:
        return state[:2] in _LOST_CLASSES or state in _PASSING_STATES
    return _code(error) in _LOST


def translate(error: BaseException) -> BaseException:
    """The port's error for a driver's error, or the error itself."""
    if isinstance(error, PoolTimeoutError):
        return StoreUnavailableError("no connection to the database became free")
    if not isinstance(error, DBAPIError):
        return error
    if isinstance(error, IntegrityError):
        return _conflict(error)
    if is_corrupt(error):
        return DamagedDatabaseError(
            f"a part of the database is damaged ({reason(error)}): `tidegate verify` says which;"
            " restore it from a backup"
        )
    if is_fatal(error) or _code(error) in _BUSY:
        return StoreUnavailableError(reason(error))
    return error


def _conflict(error: IntegrityError) -> BaseException:
    if _state(error) is not None:
        if _state(error) == _FOREIGN_KEY_STATE:
            return NotFoundError("object that it refers to")
        found: Any = error.orig
        match = _KEY.search(found.diag.message_detail or "")
        column = "" if match is None else match["columns"].rpartition(", ")[2]
        return ConflictError(f"another of `{found.diag.table_name}` has the same `{column}`")
    # The driver has one code for all constraints; the text is the only source of the rest.
    text = str(error.orig)
    if text == "FOREIGN KEY constraint failed":
        return NotFoundError("object that it refers to")
    table, _, column = text.rpartition(": ")[2].rpartition(", ")[2].partition(".")
    return ConflictError(f"another of `{table}` has the same `{column}`")


@contextmanager
def translated() -> Iterator[None]:
    """Translate the driver's errors into the port's."""
    try:
        yield
    except (DBAPIError, PoolTimeoutError) as error:
        raise translate(error) from error


def reason(error: BaseException) -> str:
    """The driver's message, without the statement or values."""
    found = error.orig if isinstance(error, DBAPIError) else error
    primary = getattr(getattr(found, "diag", None), "message_primary", None)
    return primary or str(found) or type(error).__name__


def _code(error: BaseException) -> int | None:
    found = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(found, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _state(error: BaseException) -> str | None:
    """The SQLSTATE of a PostgreSQL error; None for SQLite's errors and others."""
    found = error.orig if isinstance(error, DBAPIError) else error
    if not hasattr(found, "diag"):
        return None
    state = getattr(found, "sqlstate", None)
    if state is not None:
        return str(state)
    # Raised by the driver: about the connection, or a value that it cannot send.
    return "08000" if type(found).__name__ in ("OperationalError", "ConnectionTimeout") else ""
