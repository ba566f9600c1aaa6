"""The database that belongs to a data directory: a file in it, or one of PostgreSQL elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import attrs

from tidegate.stores.base import DamagedDatabaseError
from tidegate.stores.databases import (
    claim_database,
    connected_nodes,
    looking_engine,
    shown,
    writing_engine,
)
from tidegate.stores.decision_log.log import last_seq
from tidegate.stores.directory.lock import claim
from tidegate.stores.directory.mark import Mark, Noted
from tidegate.stores.migrations import current
from tidegate.stores.rows.connections import derived_path
from tidegate.stores.rows.counters import CHANGES, LOG_ID, counter
from tidegate.stores.rows.errors import translated

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate.stores.directory.claims import Claim
    from tidegate.stores.directory.lock import Holder, Lock

DATABASE = "tidegate.db"


class Database(Protocol):
    """What a directory needs to know of its database."""

    @property
    def url(self) -> str:
        """Where it is; it may hold a password."""

    @property
    def name(self) -> str:
        """Where it is, for messages."""

    def absence(self) -> str | None:
        """What is wrong where there is no database; None when there is one."""

    def left(self) -> dict[str, Path]:
        """Files that stand beside a database of this kind."""

    def own(self, waits: Callable[[Holder], None] | None = None) -> Lock | Claim:
        """Become its owner; see :func:`~tidegate.stores.directory.lock.claim`."""

    def nodes(self) -> list[str]:
        """The names of the nodes that are connected."""

    def connection(self, *, writes: bool = False) -> AbstractContextManager[Connection]:
        """A connection, to a database that nothing is known of yet."""

    def note_end(self, connection: Connection) -> None:
        """Note how far its log goes, where a part of it could be lost without a trace."""


def database_of(directory: Path, url: str) -> Database:
    """The database of a directory.

    Args:
        directory: of the data.
        url: of a database of PostgreSQL; empty: the file in the directory.
    """
    return ElsewhereDatabase(url) if url else FileDatabase(directory / DATABASE)


@attrs.frozen
class FileDatabase:
    """The file of SQLite in the directory."""

    path: Path

    @property
    def url(self) -> str:
        """See :attr:`Database.url`."""
        return f"sqlite:///{self.path}"

    @property
    def name(self) -> str:
        """See :attr:`Database.name`."""
        return str(self.path)

    def absence(self) -> str | None:
        """See :meth:`Database.absence`."""
        if not self.path.exists():
            return "is missing"
        return None if self.path.stat().st_size else "is empty"

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
        """See :meth:`Database.nodes`: a file has none."""
        return []

    def connection(self, *, writes: bool = False) -> AbstractContextManager[Connection]:
        """See :meth:`Database.connection`."""
        return _connected(self, writes)

    def note_end(self, connection: Connection) -> None:
        """See :meth:`Database.note_end`: a write-ahead log that was cut looks whole."""
        noted = Noted(
            last_seq(connection), counter(connection, CHANGES), counter(connection, LOG_ID)
        )
        mark = Mark(self.path)
        mark.note(noted)
        mark.close()


@attrs.frozen
class ElsewhereDatabase:
    """A database of PostgreSQL."""

    url: str = attrs.field(repr=False)

    @property
    def name(self) -> str:
        """See :attr:`Database.name`."""
        return shown(self.url)

    def absence(self) -> str | None:
        """See :meth:`Database.absence`."""
        with self.connection() as connection:
            return "is empty" if current(connection) is None else None

    def left(self) -> dict[str, Path]:
        """See :meth:`Database.left`: it has no files here."""
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
        """See :meth:`Database.note_end`: the database keeps its own."""


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
