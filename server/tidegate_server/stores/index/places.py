"""Locations of derived tables: a second SQLite file, or a PostgreSQL schema."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import attrs
from pysqlite3 import dbapi2

from tidegate_server.stores.base import StoreError
from tidegate_server.stores.index import derived
from tidegate_server.stores.rows.connections import CHECKPOINT_PAGES, deriving_engine
from tidegate_server.stores.rows.dialects import driver_connection

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection, Engine

RESTART_PAGES = 8 * CHECKPOINT_PAGES
"""A WAL of this size restarts from its beginning."""
DERIVED_PAGES = 4 * CHECKPOINT_PAGES
"""The derived file's WAL repeats the same pages: copied late, they are few."""


class Place(Protocol):
    """The deriving thread's view of the database."""

    def engine(self) -> Engine:
        """Create the connection that derives."""

    def flush(self, connection: Connection) -> None:
        """Put derived data on stable storage, before its part of the log is deleted."""

    def tidy(self, connection: Callable[[], Connection]) -> None:
        """Housekeeping after a step; it never fails."""

    def mend(self, log_id: int) -> None:
        """Recreate tables that were found damaged, where possible."""


@attrs.frozen
class DerivedFile:
    """SQLite's second file.

    Args:
        path: the database's path.  The derived file exists.
        finish_checkpoint: asks the committing thread to copy the rest of the WAL, once nearly all
            of it is copied: the WAL is idle only between two commits.
        may_make: whether the derived file may be recreated if it is damaged; set when this is the
            only process.
        made: called when it was recreated.
    """

    path: Path
    finish_checkpoint: Callable[[], object]
    may_make: Callable[[], bool]
    made: Callable[[], None]

    def engine(self) -> Engine:
        """See :meth:`Place.engine`."""
        return deriving_engine(self.path)

    def flush(self, connection: Connection) -> None:
        """See :meth:`Place.flush`: a checkpoint begins by flushing the WAL."""
        _pragma(connection, "PRAGMA derived.wal_checkpoint(PASSIVE)")

    def tidy(self, connection: Callable[[], Connection]) -> None:
        """Copy the WALs of both files into them, so that the WALs' space can be reused."""
        for name, due in (("main", CHECKPOINT_PAGES), ("derived", DERIVED_PAGES)):
            with suppress(dbapi2.Error, StoreError):
                _, pages, copied = _pragma(connection(), f"PRAGMA {name}.wal_checkpoint(NOOP)")
                if pages - copied >= due:
                    _pragma(connection(), f"PRAGMA {name}.wal_checkpoint(PASSIVE)")
                    if name == "main" and pages >= RESTART_PAGES:
                        self.finish_checkpoint()

    def mend(self, log_id: int) -> None:
        """See :meth:`Place.mend`."""
        if self.may_make() and not derived.is_whole(self.path):
            derived.make(self.path, log_id)
            self.made()


@attrs.frozen
class DerivedSchema:
    """PostgreSQL's schema ``derived``.

    Its commits do not wait for the disk.  The database has one ordered log, so they are on stable
    storage with any later commit that does wait, such as the deletion of their sources.
    """

    engine: Callable[[], Engine]

    def flush(self, connection: Connection) -> None:
        """See :meth:`Place.flush`: the order of the database's log does it."""

    def tidy(self, connection: Callable[[], Connection]) -> None:
        """See :meth:`Place.tidy`: PostgreSQL tidies by itself."""

    def mend(self, log_id: int) -> None:
        """See :meth:`Place.mend`: a damaged page is the whole database's, and an operator's."""


def _pragma(connection: Connection, statement: str) -> tuple[Any, ...]:
    found: tuple[Any, ...] = driver_connection(connection).execute(statement).fetchone()
    return found
