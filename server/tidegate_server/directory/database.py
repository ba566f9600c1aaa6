"""The database of a data directory: a file in it, or a PostgreSQL database elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import attrs

from tidegate_server.stores.base import DamagedDatabaseError
from tidegate_server.stores.databases import (
    claim_database,
    connected_nodes,
    looking_engine,
    shown,
    writing_engine,
)
from tidegate_server.stores.decision_log.log import last_seq
from tidegate_server.stores.directory.lock import claim
from tidegate_server.stores.directory.mark import Mark, Noted
from tidegate_server.stores.migrations import current
from tidegate_server.stores.rows.connections import derived_path
from tidegate_server.stores.rows.counters import CHANGES, LOG_ID, counter
from tidegate_server.stores.rows.errors import translated

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.stores.directory.claims import Claim
    from tidegate_server.stores.directory.lock import Holder, Lock

DATABASE = "tidegate.db"


class Absence(StrEnum):
    """How a database is missing; the value completes a sentence about it."""

    MISSING = "is missing"
    EMPTY = "is empty"


class Database(Protocol):
    """The parts of a database that its directory uses."""

    @property
    def url(self) -> str:
        """Its location, which may contain a password."""

    @property
    def name(self) -> str:
        """Its location, for messages."""

    def absence(self) -> Absence | None:
        """Return how the database is missing; None if it exists."""

    def left(self) -> dict[str, Path]:
        """Return the files next to a database of this kind."""

    def own(self, waits: Callable[[Holder], None] | None = None) -> Lock | Claim:
        """Become its owner; see :func:`~tidegate_server.stores.directory.lock.claim`."""

    def nodes(self) -> list[str]:
        """Return the names of the connected nodes."""

    def connection(self, *, writes: bool = False) -> AbstractContextManager[Connection]:
        """Return a connection to a database that may not be valid yet."""

    def note_end(self, connection: Connection) -> None:
        """Store the end of its log, if a part could be lost without a trace."""


def database_of(directory: Path, url: str) -> Database:
    """Return the database of a directory.

    Args:
        directory: the data directory.
        url: of a PostgreSQL database; empty for the file in the directory.
    """
    return ElsewhereDatabase(url) if url else FileDatabase(directory / DATABASE)


@attrs.frozen
class FileDatabase:
    """The SQLite file in the directory."""

    path: Path

    @property
    def url(self) -> str:
        """See :attr:`Database.url`."""
        return f"sqlite:///{self.path}"

    @property
    def name(self) -> str:
        """See :attr:`Database.name`."""
        return str(self.path)

    def absence(self) -> Absence | None:
        """See :meth:`Database.absence`."""
        if not self.path.exists():
            return Absence.MISSING
        return None if self.path.stat().st_size else Absence.EMPTY

    def left(self) -> dict[str, Path]:
        """See :meth:`Database.left`."""
        return {
            "the derived file": derived_path(self.path),
            "the write-ahead log": self.path.with_name(self.path.name + "-wal"),
        }

    def own(self, waits: Callable[[Holder], None] | None = None) -> Lock:
        """See :meth:`Database.own`."""
        return claim(self.path, waits)

    def nodes(self) -> list[str]:
        """See :meth:`Database.nodes`; a file has none."""
        return []

    def connection(self, *, writes: bool = False) -> AbstractContextManager[Connection]:
        """See :meth:`Database.connection`."""
        return _connected(self, writes)

    def note_end(self, connection: Connection) -> None:
        """See :meth:`Database.note_end`; a truncated write-ahead log looks complete."""
        noted = Noted(
            last_seq(connection), counter(connection, CHANGES), counter(connection, LOG_ID)
        )
        mark = Mark(self.path)
        mark.note(noted)
        mark.close()


@attrs.frozen
class ElsewhereDatabase:
    """A PostgreSQL database."""

    url: str = attrs.field(repr=False)

    @property
    def name(self) -> str:
        """See :attr:`Database.name`."""
        return shown(self.url)

    def absence(self) -> Absence | None:
        """See :meth:`Database.absence`."""
        with self.connection() as connection:
            return Absence.EMPTY if current(connection) is None else None

    def left(self) -> dict[str, Path]:
        """See :meth:`Database.left`; it has no files here."""
        return {}

    def own(self, waits: Callable[[Holder], None] | None = None) -> Claim:
        """See :meth:`Database.own`."""
        return claim_database(self.url, waits)

    def nodes(self) -> list[str]:
        """See :meth:`Database.nodes`."""
        return connected_nodes(self.url)

    def connection(self, *, writes: bool = False) -> AbstractContextManager[Connection]:
        """See :meth:`Database.connection`."""
        return _connected(self, writes)

    def note_end(self, connection: Connection) -> None:
        """See :meth:`Database.note_end`; the database tracks it itself."""


@contextmanager
def _connected(database: Database, writes: bool) -> Iterator[Connection]:
    engine = (writing_engine if writes else looking_engine)(database.url)
    try:
        with translated(), engine.connect() as connection:
            yield connection
            connection.rollback()
    except DamagedDatabaseError as error:
        raise DamagedDatabaseError(f"`{database.name}`: {error}") from error
    finally:
        engine.dispose()
