"""Places of derived tables: a second file beside SQLite's, or a schema of PostgreSQL's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import attrs
from pysqlite3 import dbapi2

from tidegate.stores.base import StoreError
from tidegate.stores.index import derived
from tidegate.stores.rows.connections import CHECKPOINT_PAGES, deriving_engine
from tidegate.stores.rows.dialects import driver_connection

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection, Engine

RESTART_PAGES = 8 * CHECKPOINT_PAGES
"""A WAL of this size is started again from its beginning."""
DERIVED_PAGES = 4 * CHECKPOINT_PAGES
"""The WAL of the derived file has the same pages again and again: copied late, they are few."""


class Place(Protocol):
    """Facts of the database for the deriving thread."""

    def engine(self) -> Engine:
        """Makes the connection that derives."""

    def flush(self, connection: Connection) -> None:
        """Have what was derived on stable storage, before the log that it is of is deleted."""

    def tidy(self, connection: Callable[[], Connection]) -> None:
        """Housekeeping after a step; it never fails."""

    def mend(self, log_id: int) -> None:
        """Make tables again that were found damaged, where that is possible."""


@attrs.frozen
class DerivedFile:
    """The second file of SQLite.

    Args:
        path: of the database.  The derived file is there.
        finish_checkpoint: asks the committing thread to copy the rest of the WAL, once nearly all
            of it is copied: the WAL stands still only between two commits.
        may_make: whether the derived file may be made again when it is found damaged; given
            when this process is the only one.
        made: called when it was made again.
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
        """Copy the logs of both files into them, so that the room of the logs is used again."""
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
    """The schema ``derived`` of PostgreSQL.

    Its commits do not wait for the disk.  The database's own log is one order, so they are on
    stable storage with any later commit that does wait, such as the deletion of what they are of.
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
