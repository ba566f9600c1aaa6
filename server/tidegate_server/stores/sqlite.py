"""The store on SQLite: one thread commits, one derives, and a few connections read.

Durability depends on WAL with ``synchronous=FULL``: a commit returns when the log file has been
flushed.  Both settings are read back, and a library with a WAL that two connections can corrupt is
rejected.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from pysqlite3 import dbapi2
from sqlalchemy import delete

from tidegate_server.stores import migrations
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.committing import CommittingStore
from tidegate_server.stores.decision_log import gaps
from tidegate_server.stores.decision_log.gaps import LogGap
from tidegate_server.stores.decision_log.log import last_seq
from tidegate_server.stores.decision_log.partition_log import SqliteLog
from tidegate_server.stores.decision_log.snapshots import newest_seq
from tidegate_server.stores.directory.lock import Lock, claim
from tidegate_server.stores.directory.mark import Mark, Noted, mark_path, read_mark
from tidegate_server.stores.directory.partitions import audit_written
from tidegate_server.stores.group_commit import GroupCommit
from tidegate_server.stores.index import derived
from tidegate_server.stores.index.catalog import DEFAULT_BOUNDS, Bounds
from tidegate_server.stores.index.deriving import Deriver
from tidegate_server.stores.index.places import DerivedFile
from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.connections import (
    SHARED,
    check_durable,
    check_private,
    check_version,
    database_path,
    derived_path,
    make_file,
    partition_path,
    reading_engine,
    writing_engine,
)
from tidegate_server.stores.rows.counters import CHANGES, LOG_ID, RECOVERIES, count, counter
from tidegate_server.stores.rows.dialects import driver_connection
from tidegate_server.stores.rows.errors import reason, translated

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate_server.stores.objects.audit import AuditEntry

log = logging.getLogger("tidegate")

NEEDED_BYTES = 1024 * 1024
"""Free bytes on the disk needed to resume writing: the size of a full group."""
_AUDIT = ", ".join(f'"{each.name}"' for each in audit_written.columns)
MEND_AUDIT = f"INSERT OR IGNORE INTO {SHARED}.audit ({_AUDIT}) SELECT {_AUDIT} FROM audit_written"  # noqa: S608
LAST_ROW = "SELECT coalesce(max(first_seq), 0) FROM decision_log WHERE tenant_id = ?"


class SqliteStore(CommittingStore):
    """A :class:`~.port.Store` in an SQLite file, with a second file for derived data.

    Args:
        url: ``sqlite:///relative.db`` or ``sqlite:////absolute.db``.
        lock: the directory owner's lock, released at close; without it the first append claims the
            directory.
        catalog: limits of the field catalog.
        partition: the partition whose log this is; the file of a further partition must exist.
        monotonic: seconds of a monotonic clock, for ages and durations.

    Raises:
        SchemaError: the tables have another version; see ``tidegate migrate``.
        StoreUnavailableError: the file cannot be opened.
        UnsafeDatabaseError: the library or file system could lose acknowledged data, or others may
            read the file.
        ValueError: the URL isn't an SQLite URL.
    """

    _SHARED = f"{SHARED}.store_meta"

    def __init__(
        self,
        url: str,
        *,
        lock: Lock | None = None,
        catalog: Bounds = DEFAULT_BOUNDS,
        partition: int = 0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        database = database_path(url)
        self.path = partition_path(database, partition)
        """The file with the log."""
        check_version()
        for path in {database, self.path}:
            check_private(path)
        super().__init__(monotonic, partition)
        self._write_engine = writing_engine(database, partition)
        self._read_engine = reading_engine(database, partition)
        self._lock = lock
        self._appends = lock is not None
        self._log_id = 0
        self._mark: Mark | None = None
        self.log = SqliteLog(partition)
        with translated():
            self._open()
            if lock is not None:
                self.log.claim(self._connection(), lock.description())
                self._find_end()
                self._keep_mark()
                self._mend_audit()
            self._prepare_derived()
        self._queue = GroupCommit(self._commit, self._finish, monotonic)
        place = DerivedFile(
            self.path,
            finish_checkpoint=lambda: self._queue.command(self._checkpoint),
            may_make=lambda: self._lock is not None,
            made=self._read_engine.dispose,
        )
        self._deriver = Deriver(
            place,
            committed=lambda: self._committed_seq,
            flush=self._flush_mark,
            bounds=catalog,
            monotonic=monotonic,
        )

    def _flush_mark(self) -> None:
        if self._mark is not None:
            self._mark.flush()

    # The functions below run on the writing thread, or before it starts.

    def _open(self) -> None:
        """Open the writing connection and find the end of the log."""
        self._close_writer()
        writer = self._write_engine.connect()
        try:
            check_durable(writer, is_shared=bool(self.partition))
            migrations.check(writer, SHARED if self.partition else None)
            self._committed_seq = last_seq(writer)
            self._changes = counter(writer, CHANGES)
            self._seen_changes = self._all_changes(writer)
            writer.rollback()
        except BaseException:
            writer.close()
            raise
        self._writer = writer

    def _find_end(self) -> None:
        """Continue after the last decision known anywhere, even if the log ends before it.

        Otherwise its number would be used twice, and readers would mistake one decision for the
        other.
        """
        writer = self._connection()
        log_id, last = counter(writer, LOG_ID), self._committed_seq
        noted, found = read_mark(self.path), derived.inspect(self.path)
        known = [newest_seq(writer)]
        known += [noted.seq] if noted is not None and noted.log_id == log_id else []
        known += [found.indexed_seq] if found is not None and found.log_id == log_id else []
        writer.rollback()
        if noted is None and last > 0:
            log.warning(
                "%s is missing or damaged: what was lost of the log's end in the last"
                " moments before the stop could not be found",
                mark_path(self.path),
            )
        elif noted is not None and noted.log_id == log_id and noted.changes > self._changes:
            self.lost_changes = noted.changes - self._changes
        if max(known) <= last:
            return
        self.lost = LogGap(
            first_seq=last + 1,
            last_seq=max(known),
            tenant_id=None,
            reason=gaps.MISSING,
            found_at_ns=time.time_ns(),
        )
        with writer.begin():
            gaps.add(writer, self.lost)
        self._committed_seq = max(known)

    def _keep_mark(self) -> None:
        """Record the end of the log from now on."""
        writer = self._connection()
        self._log_id = counter(writer, LOG_ID)
        writer.rollback()
        self._mark = Mark(self.path)
        self._committed()

    def _prepare_derived(self) -> None:
        """Make sure that the derived file comes from this log."""
        if self._is_derived_right():
            return
        # The directory's owner has it open, and has checked it.
        lock = self._lock or claim(self.path)
        try:
            if not self._is_derived_right():
                derived.make(self.path, self._origin()[0])
        finally:
            if lock is not self._lock:
                lock.release()

    def _is_derived_right(self) -> bool:
        found = derived.inspect(self.path)
        # Read the log's end later, so that it is ahead of the derived data.
        log_id, last = self._origin()
        is_right = found is not None and found.log_id == log_id and found.indexed_seq <= last
        if not is_right and last > 0:
            log.warning("%s is made again from the log", derived_path(self.path))
        return is_right

    def _origin(self) -> tuple[int, int]:
        writer = self._connection()
        found = counter(writer, LOG_ID), last_seq(writer)
        writer.rollback()
        return found

    def _reopen(self) -> None:
        """Accept work again, if there is room and a new connection can commit."""
        with translated():
            seen = self._seen_changes
            # A probe may fit where a decision doesn't, and each failed start makes the caller
            # rebuild all states.
            if shutil.disk_usage(self.path.parent).free < NEEDED_BYTES:
                self._checkpoint()
                raise StoreUnavailableError("the disk is full")
            self._open()
            if self._appends:
                self._claim_log()
            self._seen_changes = seen
            self._mend_audit()
            with self._connection().begin():
                count(self._connection(), RECOVERIES)
        self._queue.accept()

    def _claim_log(self) -> None:
        """Stop all other processes from appending, from the first append on."""
        self._appends = True
        if self.log.epoch is None:
            self._lock = self._lock or claim(self.path)
            # Another process may have appended since this store was opened.
            self._committed_seq = self.log.claim(self._connection(), self._lock.description())
            self._last_rows.clear()
            self._keep_mark()

    def _keep_audit(self, entries: Sequence[AuditEntry]) -> None:
        """Keep audit entries with their decisions too.

        A power failure in the middle of the commit may lose the part of it in the database.
        """
        if self.partition and entries:
            writer = self._connection()
            writer.execute(delete(audit_written))
            for entry in entries:
                records.add(writer, audit_written, entry)

    def _mend_audit(self) -> None:
        """Add missing audit entries that were committed with a decision."""
        if self.partition:
            writer = self._connection()
            with writer.begin():
                driver_connection(writer).execute(MEND_AUDIT)

    def _checkpoint(self) -> None:
        """Make the WAL's space reusable, as far as readers and the disk allow."""
        with suppress(dbapi2.Error, StoreUnavailableError):
            driver_connection(self._connection()).execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _last_row(self, writer: Connection, tenant_id: UUID) -> int:
        found: int
        (found,) = driver_connection(writer).execute(LAST_ROW, (tenant_id.bytes,)).fetchone()
        return found

    def _is_in_transaction(self, writer: Connection) -> bool:
        return bool(driver_connection(writer).in_transaction)

    def _failed(self, error: Exception) -> StoreUnavailableError:
        if isinstance(error, StoreUnavailableError):
            return error
        return StoreUnavailableError(reason(error))

    def _begun(self, writer: Connection) -> None:
        """This database's transactions hold its lock from the beginning."""

    def _committed(self) -> None:
        if self._mark is not None:
            self._mark.note(Noted(self._committed_seq, self._changes, self._log_id))

    def _undo(self) -> None:
        """See :meth:`CommittingStore._undo`; the driver may have begun what SQLAlchemy did not."""
        with suppress(Exception):
            if self._writer is not None and not self._writer.in_transaction():
                driver_connection(self._writer).rollback()
        super()._undo()

    def _finish(self) -> None:
        self._close_writer()
        if self._mark is not None:
            self._mark.close()
            self._mark = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def migrate(url: str) -> None:
    """Create a database and its tables, or upgrade them to the newest revision.

    Args:
        url: as for the store, such as ``sqlite:////var/lib/tidegate/tidegate.db``.

    Raises:
        SchemaError: the database is too new for this code.
        StoreUnavailableError: it cannot be opened or written.
        UnsafeDatabaseError: the library version could lose data.
        ValueError: the URL names no database that this code supports.
    """
    path = database_path(url)
    check_version()
    make_file(path)
    check_private(path)
    engine = writing_engine(path)
    try:
        with translated(), engine.connect() as connection:
            check_durable(connection)
            migrations.upgrade(connection)
    finally:
        engine.dispose()
