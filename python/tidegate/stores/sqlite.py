"""The store on SQLite: one thread that commits, one that derives, a few reading connections.

Durability rests on WAL with ``synchronous=FULL``: a commit returns when the log file
has been flushed.  Both are read back, and a library whose WAL can be corrupted by
two connections is refused.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from pysqlite3 import dbapi2

from tidegate.stores import migrations
from tidegate.stores.base import StoreStatistics, StoreUnavailableError
from tidegate.stores.decision_log import gaps
from tidegate.stores.decision_log.gaps import LogGap
from tidegate.stores.decision_log.lines import MAX_ROW_ENTRIES, LogBlock
from tidegate.stores.decision_log.log import last_seq, pack, row_checksum
from tidegate.stores.decision_log.snapshots import newest_seq
from tidegate.stores.directory.lock import Lock, claim
from tidegate.stores.directory.mark import Mark, Noted, mark_path, read_mark
from tidegate.stores.group_commit import Append, GroupCommit, Work, Write
from tidegate.stores.index import derived
from tidegate.stores.index.catalog import DEFAULT_BOUNDS, Bounds
from tidegate.stores.index.deriving import Deriver
from tidegate.stores.objects import audit, daemons
from tidegate.stores.rows.connections import (
    check_durable,
    check_private,
    check_version,
    database_path,
    derived_path,
    driver_connection,
    is_fatal,
    make_file,
    reading_engine,
    reason,
    translate,
    translated,
    writing_engine,
)
from tidegate.stores.rows.counters import CHANGES, LOG_ID, RECOVERIES, count, counter

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection

T = TypeVar("T")
log = logging.getLogger("tidegate")

NEEDED_BYTES = 1024 * 1024
"""Free bytes on the disk before writing is resumed: the size of a full group."""
INSERT_LOG = """
    INSERT INTO decision_log (first_seq, tenant_id, count, received_at_ns, first_id, last_id,
                              index_body, body, checksum, previous_seq)
    VALUES
"""
LAST_ROW = "SELECT coalesce(max(first_seq), 0) FROM decision_log WHERE tenant_id = ?"


class SqliteStore:
    """A :class:`~tidegate.stores.base.Store` in an SQLite file, with a second for what is derived.

    Args:
        url: ``sqlite:///relative.db`` or ``sqlite:////absolute.db``.
        lock: of the owner of the directory, who gives it back at the close; without it the first
            append claims the directory.
        catalog: what the field catalog may take.
        monotonic: seconds of a clock that never jumps, for ages and durations.

    Raises:
        SchemaError: the tables are not those of this version; see ``tidegate migrate``.
        StoreUnavailableError: the file cannot be opened.
        UnsafeDatabaseError: the library or file system could lose what was acknowledged,
            or others may read the file.
        ValueError: the URL is none of SQLite.
    """

    def __init__(
        self,
        url: str,
        *,
        lock: Lock | None = None,
        catalog: Bounds = DEFAULT_BOUNDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = database_path(url)
        check_version()
        check_private(self.path)
        self._monotonic = monotonic
        self._write_engine = writing_engine(self.path)
        self._read_engine = reading_engine(self.path)
        self._writer: Connection | None = None
        self._committed_seq = 0
        self._lock = lock
        self._appends = lock is not None
        self._seen_changes = 0
        self._last_rows: dict[UUID, int] = {}
        self._longest_write_seconds = 0.0
        self._log_id = 0
        self.lost_changes = 0
        """Commits of anything but decisions that were found lost at the opening, at least."""
        self._changes = 0
        self._mark: Mark | None = None
        self.lost: LogGap | None = None
        """The end of the log, when it was found lost at the opening."""
        with translated():
            self._open()
            if lock is not None:
                self._find_end()
                self._keep_mark()
            self._prepare_derived()
        self._queue = GroupCommit(self._commit, self._finish, monotonic)
        self._deriver = Deriver(
            self.path,
            committed=lambda: self._committed_seq,
            finish_checkpoint=lambda: self._queue.command(self._checkpoint),
            may_make=lambda: self._lock is not None,
            made=self._read_engine.dispose,
            flush=self._flush_mark,
            bounds=catalog,
            monotonic=monotonic,
        )

    def write(self, work: Callable[[Connection], T], *, quietly: bool = False) -> Future[T]:
        """See :meth:`Store.write <tidegate.stores.base.Store.write>`."""
        return self._queue.write(work, is_quiet=quietly)

    def append(self, blocks: Sequence[LogBlock]) -> Future[None]:
        """See :meth:`Store.append <tidegate.stores.base.Store.append>`."""
        return self._queue.append(blocks)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """See :meth:`Store.read <tidegate.stores.base.Store.read>`."""
        with translated(), self._read_engine.connect() as connection:
            yield connection

    def index_now(self) -> None:
        """See :meth:`Store.index_now <tidegate.stores.base.Store.index_now>`."""
        # Earlier appends are committed then, or never will be.
        self._queue.command(lambda: None).result()
        self._deriver.catch_up().result()

    def learn_now(self) -> None:
        """See :meth:`Store.learn_now <tidegate.stores.base.Store.learn_now>`."""
        self._queue.command(lambda: None).result()
        self._deriver.learn().result()

    def derive(self, work: Callable[[Connection], T]) -> Future[T]:
        """See :meth:`Store.derive <tidegate.stores.base.Store.derive>`."""
        return self._deriver.write(work)

    def flush_derived(self) -> int:
        """See :meth:`Store.flush_derived <tidegate.stores.base.Store.flush_derived>`."""
        return self._deriver.flush().result()

    def recover(self) -> None:
        """See :meth:`Store.recover <tidegate.stores.base.Store.recover>`."""
        self._queue.command(self._reopen).result()

    @property
    def is_accepting(self) -> bool:
        """See :attr:`Store.is_accepting <tidegate.stores.base.Store.is_accepting>`."""
        return self._queue.is_accepting

    def changed(self) -> bool:
        """See :meth:`Store.changed <tidegate.stores.base.Store.changed>`."""
        with self.read() as connection:
            changes = counter(connection, CHANGES)
        previous, self._seen_changes = self._seen_changes, changes
        return changes != previous

    def statistics(self) -> StoreStatistics:
        """See :meth:`Store.statistics <tidegate.stores.base.Store.statistics>`."""
        queue = self._queue
        return StoreStatistics(
            waiting_entries=queue.waiting_entries,
            waiting_writes=queue.waiting_writes,
            oldest_waiting_seconds=queue.oldest_seconds(),
            commits=queue.commits,
            committed_entries=queue.committed_entries,
            committed_writes=queue.committed_writes,
            failed_commits=queue.failed_commits,
            commit_seconds=queue.commit_seconds,
            last_commit_seconds=queue.last_commit_seconds,
            longest_write_seconds=self._longest_write_seconds,
            committed_seq=self._committed_seq,
            indexed_seq=self._deriver.indexed_seq,
            learned_seq=self._deriver.learned_seq,
            index_seconds=self._deriver.seconds,
            learning_seconds=self._deriver.learning_seconds,
            index_error=self._deriver.error,
        )

    def _flush_mark(self) -> None:
        if self._mark is not None:
            self._mark.flush()

    def close(self) -> None:
        """See :meth:`Store.close <tidegate.stores.base.Store.close>`."""
        self._deriver.close()
        self._queue.close()
        self._read_engine.dispose()

    # The functions below run on the writing thread, or before it starts.

    def _open(self) -> None:
        """Open the writing connection, and learn where the log ends."""
        self._close_writer()
        writer = self._write_engine.connect()
        try:
            check_durable(writer)
            migrations.check(writer)
            self._committed_seq = last_seq(writer)
            self._seen_changes = self._changes = counter(writer, CHANGES)
            writer.rollback()
        except BaseException:
            writer.close()
            raise
        self._writer = writer

    def _find_end(self) -> None:
        """Continue after the last decision that anything knows of, though the log may end before
        it.

        Otherwise its number would be given twice, and what knows it would take one for the other.
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
        """From now on note the end of the log."""
        writer = self._connection()
        self._log_id = counter(writer, LOG_ID)
        writer.rollback()
        self._mark = Mark(self.path)
        self._note()

    def _note(self) -> None:
        if self._mark is not None:
            self._mark.note(Noted(self._committed_seq, self._changes, self._log_id))

    def _prepare_derived(self) -> None:
        """Have a derived file that was derived from this log."""
        if self._is_derived_right():
            return
        # Whoever owns the directory has it open, and found it right.
        lock = self._lock or claim(self.path)
        try:
            if not self._is_derived_right():
                derived.make(self.path, self._origin()[0])
        finally:
            if lock is not self._lock:
                lock.release()

    def _is_derived_right(self) -> bool:
        found = derived.inspect(self.path)
        # The log is read later: it is ahead of what is derived from it.
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
        """Take work again, if there is room and a new connection can commit."""
        with translated():
            seen = self._seen_changes
            # A probe fits where a decision does not, and each start in vain costs its caller a
            # rebuilding of all states.
            if shutil.disk_usage(self.path.parent).free < NEEDED_BYTES:
                self._checkpoint()
                raise StoreUnavailableError("the disk is full")
            if self._appends:
                self._claim_log()
            self._open()
            self._seen_changes = seen
            with self._connection().begin():
                count(self._connection(), RECOVERIES)
        self._queue.accept()

    def _claim_log(self) -> None:
        """Let no other process append, from the first append on."""
        self._appends = True
        if self._lock is None:
            self._lock = claim(self.path)
            # Another may have appended since this store was opened.
            self._committed_seq = last_seq(self._connection())
            self._connection().rollback()
            self._keep_mark()

    def _checkpoint(self) -> None:
        """Make the room of the log file usable again, as far as readers and the disk allow."""
        with suppress(dbapi2.Error, StoreUnavailableError):
            driver_connection(self._connection()).execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _connection(self) -> Connection:
        if self._writer is None:
            raise StoreUnavailableError("the database is not open")
        return self._writer

    def _commit(self, group: list[Work]) -> None:
        try:
            self._committed_seq = self._commit_all(group)
            self._note()
        except StoreUnavailableError:
            self._undo()
            raise
        except Exception as error:
            self._undo()
            raise StoreUnavailableError(reason(error)) from error

    def _commit_all(self, group: list[Work]) -> int:
        """Commit a group; the number of the last decision then."""
        writer = self._connection()
        appends = [work for work in group if isinstance(work, Append)]
        if appends:
            self._claim_log()
        with_rows = [block for work in appends for block in work.blocks if block.has_rows]
        if len(appends) == len(group) and not with_rows:
            # One statement is its own transaction: the interpreter lock, which a busy server gives
            # back late, is released once and not three times.
            return self._append(writer, appends, self._committed_seq)
        seq = self._committed_seq
        waiting: list[Append] = []
        with writer.begin():
            for work in group:
                if isinstance(work, Append):
                    waiting.append(work)
                    continue
                seq = self._append(writer, waiting, seq)
                waiting.clear()
                started = self._monotonic()
                run_in_savepoint(writer, work)
                held = self._monotonic() - started
                self._longest_write_seconds = max(self._longest_write_seconds, held)
            seq = self._append(writer, waiting, seq)
            for block in with_rows:
                add_rows(writer, block)
            if any(isinstance(work, Write) and not work.is_quiet for work in group):
                count(writer, CHANGES)
                self._changes += 1
        return seq

    def _append(self, writer: Connection, appends: list[Append], seq: int) -> int:
        """Append to the log after ``seq``; the number of the last decision then."""
        by_tenant: dict[UUID, list[LogBlock]] = {}
        for work in appends:
            for block in work.blocks:
                by_tenant.setdefault(block.tenant_id, []).append(block)
        values: list[Any] = []
        driver = driver_connection(writer)
        for tenant_id, blocks in by_tenant.items():
            for part in rows(blocks):
                count = sum(block.count for block in part)
                newest = max(block.received_at_ns for block in part)
                least = min(block.first_id for block in part)
                greatest = max(block.last_id for block in part)
                index = pack([block.index for block in part], b",")
                body = pack([block.lines for block in part], b"\n")
                previous = self._last_rows.get(tenant_id)
                if previous is None:
                    (previous,) = driver.execute(LAST_ROW, (tenant_id.bytes,)).fetchone()
                row = (seq + 1, tenant_id.bytes, count, newest, least, greatest, index, body)
                values += (*row, row_checksum(*row, previous), previous)
                self._last_rows[tenant_id] = seq + 1
                seq += count
        if values:
            places = ",".join(["(?,?,?,?,?,?,?,?,?,?)"] * (len(values) // 10))
            driver.execute(INSERT_LOG + places, values)
        return seq

    def _undo(self) -> None:
        """Leave no transaction open; a connection that fails to do so is given up."""
        self._last_rows.clear()
        try:
            if self._writer is not None:
                self._writer.rollback()
                if driver_connection(self._writer).in_transaction:
                    driver_connection(self._writer).rollback()
        except Exception:
            self._close_writer()

    def _finish(self) -> None:
        self._close_writer()
        if self._mark is not None:
            self._mark.close()
            self._mark = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _close_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            with suppress(Exception):
                writer.close()


def add_rows(writer: Connection, block: LogBlock) -> None:
    """Write a block's rows in other tables."""
    if block.audit is not None:
        audit.add(writer, block.audit)
    if block.forwarded is not None:
        daemons.note_forwarded(writer, block.tenant_id, block.forwarded)


def rows(blocks: Sequence[LogBlock]) -> Iterator[list[LogBlock]]:
    """Blocks of one tenant, parted into rows of the log."""
    row: list[LogBlock] = []
    count = 0
    for block in blocks:
        if count + block.count > MAX_ROW_ENTRIES:
            yield row
            row, count = [], 0
        row.append(block)
        count += block.count
    yield row


def run_in_savepoint(writer: Connection, work: Write) -> None:
    """Run a function so that an error undoes only its own changes.

    Raises:
        StoreUnavailableError: the whole transaction is lost.
    """
    savepoint = writer.begin_nested()
    try:
        result = work.work(writer)
        savepoint.commit()
    except BaseException as error:
        if is_fatal(error) or not driver_connection(writer).in_transaction:
            raise StoreUnavailableError(reason(error)) from error
        savepoint.rollback()
        failure = translate(error)
        work.outcome = lambda: throw(failure)
    else:
        work.outcome = lambda: result


def throw(error: BaseException) -> None:
    """Raise."""
    raise error


def migrate(url: str) -> None:
    """Make a database and its tables, or bring them to the newest revision.

    Args:
        url: as for the store, such as ``sqlite:////var/lib/tidegate/tidegate.db``.

    Raises:
        SchemaError: the database is newer than this code.
        StoreUnavailableError: it cannot be opened or written.
        UnsafeDatabaseError: the library is one that could lose data.
        ValueError: the URL names no database this code knows.
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
