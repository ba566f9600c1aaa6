"""The store on PostgreSQL: the same threads over a primary with a synchronous standby.

The epoch decides who owns the log.  Every statement that appends names the epoch of its claim, and
is rejected once another process has begun the next epoch.  If the outcome of a commit is unknown,
the ownership ends: the next owner reads the log and finds out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from psycopg.errors import LockNotAvailable
from psycopg.pq import TransactionStatus
from sqlalchemy.exc import DBAPIError

from tidegate_server.stores import migrations
from tidegate_server.stores.base import (
    FencedError,
    Standby,
    StoreUnavailableError,
    UnknownOutcomeError,
)
from tidegate_server.stores.committing import CommittingStore
from tidegate_server.stores.decision_log.log import last_seq
from tidegate_server.stores.decision_log.partition_log import PostgresqlLog
from tidegate_server.stores.directory.claims import Claim, claim_database
from tidegate_server.stores.directory.schemas import partitions_of
from tidegate_server.stores.group_commit import GroupCommit
from tidegate_server.stores.index import derived
from tidegate_server.stores.index.catalog import DEFAULT_BOUNDS, Bounds
from tidegate_server.stores.index.deriving import Deriver
from tidegate_server.stores.index.places import DerivedSchema
from tidegate_server.stores.rows.counters import CHANGES, LOG_ID, RECOVERIES, count, counter
from tidegate_server.stores.rows.dialects import driver_connection
from tidegate_server.stores.rows.errors import reason, translated
from tidegate_server.stores.rows.postgresql import (
    check_promises,
    check_url,
    deriving_engine,
    on_warning,
    reading_engine,
    shown,
    writing_engine,
)

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection, Engine

LOCK_MILLISECONDS = 500
"""How long a migration waits for a table lock, and so holds up later transactions."""
LOCK_PAUSE_SECONDS = 1.0
LOCK_TRIES = 60
LAST_ROW = "SELECT coalesce(max(first_seq), 0) FROM decision_log WHERE tenant_id = %s"


class PostgresqlStore(CommittingStore):
    """A :class:`~tidegate_server.stores.port.Store` in a database of PostgreSQL.

    Args:
        url: ``postgresql://user@host/name``, as libpq reads it.
        lock: the database owner's lock, released at close; without it the first append claims the
            database.
        catalog: limits of the field catalog.
        standby: whether the database must have a synchronous standby.
        ended: called on a thread of the store when this process is no longer the owner.
        partition: the partition whose log this is; the schema of a further partition must exist.
        monotonic: seconds of a monotonic clock, for ages and durations.

    Raises:
        SchemaError: this version cannot run on the tables; see ``tidegate migrate``.
        StoreUnavailableError: the database cannot be reached.
        UnsafeDatabaseError: the database could lose what it acknowledged.
        ValueError: the URL isn't a PostgreSQL URL.
    """

    _SHARED = "shared_meta"

    def __init__(
        self,
        url: str,
        *,
        lock: Claim | None = None,
        catalog: Bounds = DEFAULT_BOUNDS,
        standby: Standby = "required",
        ended: Callable[[StoreUnavailableError], None] = lambda _: None,
        partition: int = 0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        check_url(url)
        super().__init__(monotonic, partition)
        self.url = url
        self._standby = standby
        self._tell_ended = ended
        self._end: StoreUnavailableError | None = None
        self._write_engine = writing_engine(url, partition)
        self._read_engine = reading_engine(url, partition)
        self._lock = lock
        self.log = PostgresqlLog(partition)
        self._warnings: list[str] = []
        with translated():
            self._open()
            if lock is not None:
                self._begin_epoch(lock)
            self._prepare_derived()
        self._queue = GroupCommit(self._commit, self._finish, monotonic)
        self._deriver = Deriver(
            DerivedSchema(lambda: deriving_engine(url, partition)),
            committed=lambda: self._committed_seq,
            flush=self._watch,
            bounds=catalog,
            monotonic=monotonic,
        )

    def _watch(self) -> None:
        """End the ownership when its lock is free: another process may be about to take over."""
        if self._lock is not None and self._end is None and not self._lock.is_held():
            self._end_with(FencedError("the session that holds the lock of the database ended"))

    def _end_with(self, error: StoreUnavailableError) -> None:
        self._end = error
        self._tell_ended(error)

    def claim(self, lock: Claim, term: int) -> int:
        """Become the owner under a term of the log's placement, once the store is open.

        Args:
            lock: as in the constructor.
            term: the placement's term.

        Returns:
            The number of the last decision: from now on only this store appends.

        Raises:
            FencedError: another process has claimed under a later term.
            StoreUnavailableError: the database cannot be reached.
        """
        self._queue.command(lambda: self._take(lock, term)).result()
        return self._committed_seq

    # The functions below run on the writing thread, or before it starts.

    def _take(self, lock: Claim, term: int) -> None:
        with translated():
            self._begin_epoch(lock, term)
        self._lock = lock

    def _open(self) -> None:
        """Open the writing connection and find the end of the log."""
        self._close_writer()
        writer = self._write_engine.connect()
        try:
            driver = driver_connection(writer)
            check_promises(driver, self._standby)
            on_warning(driver, self._warnings.append)
            migrations.check(writer)
            self._read_position(writer)
            writer.rollback()
        except BaseException:
            writer.close()
            raise
        self._writer = writer

    def _read_position(self, writer: Connection) -> None:
        self._last_rows.clear()
        self._committed_seq = last_seq(writer)
        self._changes = counter(writer, CHANGES)
        self._seen_changes = self._all_changes(writer)

    def _begin_epoch(self, lock: Claim, term: int | None = None) -> None:
        """Begin an epoch of this process, after the previous owner's statements in flight end."""
        writer = self._connection()
        self.log.claim(writer, lock.description(), term)
        # The previous owner may have appended since this store was opened.
        self._read_position(writer)
        writer.rollback()

    def _prepare_derived(self) -> None:
        """Make sure that the derived tables come from this log."""
        writer = self._connection()
        with writer.begin():
            derived.renew_tables(writer, counter(writer, LOG_ID))

    def _reopen(self) -> None:
        """Accept work again if this process is still the owner and a new connection can commit."""
        if self._end is not None:
            raise self._end
        with translated():
            seen = self._seen_changes
            self._open()
            self._seen_changes = seen
            with self._connection().begin():
                self._begun(self._connection())
                count(self._connection(), RECOVERIES)
        self._queue.accept()

    def _claim_log(self) -> None:
        if self._end is not None:
            raise self._end
        if self.log.epoch is None:
            self._lock = self._lock or claim_database(self.url, partition=self.partition)
            self._begin_epoch(self._lock)

    def _begun(self, writer: Connection) -> None:
        """Stop a replaced owner from changing anything; others change no log."""
        if self.log.epoch is not None:
            self.log.check(writer)

    def _last_row(self, writer: Connection, tenant_id: UUID) -> int:
        found: int
        (found,) = driver_connection(writer).execute(LAST_ROW, (tenant_id.bytes,)).fetchone()
        return found

    def _is_in_transaction(self, writer: Connection) -> bool:
        status = driver_connection(writer).info.transaction_status
        return bool(status in (TransactionStatus.INTRANS, TransactionStatus.INERROR))

    def _committed(self) -> None:
        if self._warnings:
            # The wait for the standby was cut short, or something equally serious happened.
            raise UnknownOutcomeError(f"the commit ended with a warning: {self._warnings[0]}")

    def _failed(self, error: Exception) -> StoreUnavailableError:
        failure: StoreUnavailableError
        if isinstance(error, FencedError | UnknownOutcomeError):
            failure = error
        elif self._is_cut():
            failure = UnknownOutcomeError(
                f"the connection to {shown(self.url)} ended during a commit ({reason(error)})"
            )
        elif isinstance(error, StoreUnavailableError):
            return error
        else:
            return StoreUnavailableError(reason(error))
        if self.log.epoch is not None and self._end is None:
            self._end_with(failure)
        return failure

    def _is_cut(self) -> bool:
        """Whether the writing connection ended."""
        if self._writer is None:
            return False
        if self._writer.invalidated or self._writer.closed:
            return True
        driver = driver_connection(self._writer)
        return driver is None or bool(driver.closed)

    def _close_writer(self) -> None:
        if self._writer is not None and self._is_cut():
            # There is nothing to roll back, and the pool would try to.
            self._writer.invalidate()
        super()._close_writer()

    def _finish(self) -> None:
        self._close_writer()
        self._write_engine.dispose()
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def migrate(url: str) -> None:
    """Create the tables of a database, or upgrade them to the newest revision.

    Args:
        url: as for the store.  The database must exist, and may be empty.

    Raises:
        SchemaError: the database is too new for this code.
        StoreUnavailableError: it cannot be reached or written.
        ValueError: the URL isn't a PostgreSQL URL.
    """
    check_url(url)
    engine = writing_engine(url)
    try:
        with translated():
            _upgrade(engine)
            with engine.connect() as connection:
                numbers = partitions_of(connection)
    finally:
        with suppress(Exception):
            engine.dispose()
    for number in numbers:
        _renew_derived(url, number)


def _upgrade(engine: Engine) -> None:
    """Upgrade the tables while other processes use them.

    A schema change waits for every transaction that reads the table, and later transactions queue
    behind the change.  A long read would therefore hold up every append. So the change gives up
    soon, lets the others pass, and tries again.
    """
    for _ in range(LOCK_TRIES):
        try:
            with engine.connect() as connection:
                driver_connection(connection).execute(f"SET lock_timeout = {LOCK_MILLISECONDS}")
                migrations.upgrade(connection)
                return
        except DBAPIError as error:
            if not isinstance(error.orig, LockNotAvailable):
                raise
        time.sleep(LOCK_PAUSE_SECONDS)
    raise StoreUnavailableError(
        "the tables are in use by a long read or another migration, and nothing was changed; end it"
        " or wait for its end, then run `tidegate migrate` again"
    )


def _renew_derived(url: str, number: int) -> None:
    engine = writing_engine(url, number)
    try:
        with translated(), engine.connect() as connection, connection.begin():
            derived.renew_tables(connection, counter(connection, LOG_ID), replaces=True)
    finally:
        with suppress(Exception):
            engine.dispose()
