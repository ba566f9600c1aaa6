"""The shared part of both stores: one thread commits, one derives, readers read.

Each database adds how to open and claim it, how rows get into the log, and how to handle a failed
commit.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.decision_log.lines import MAX_ROW_ENTRIES, LogBlock
from tidegate_server.stores.decision_log.partition_log import log_row
from tidegate_server.stores.group_commit import Append, GroupCommit, Work, Write
from tidegate_server.stores.index.deriving import Deriver
from tidegate_server.stores.objects import audit, daemons
from tidegate_server.stores.port import StoreStatistics
from tidegate_server.stores.rows.counters import CHANGES, count, counter
from tidegate_server.stores.rows.errors import is_fatal, reason, translate, translated

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection, Engine

    from tidegate_server.stores.decision_log.gaps import LogGap
    from tidegate_server.stores.decision_log.partition_log import PartitionLog
    from tidegate_server.stores.objects.audit import AuditEntry

T = TypeVar("T")


class CommittingStore(ABC):
    """A :class:`~tidegate_server.stores.port.Store` over one writing connection.

    A subclass opens its database and sets ``_read_engine``, ``_queue``, ``_deriver`` and ``log``.
    """

    _SHARED: ClassVar[str]
    """The counters that all partitions share, under the name that a further partition's connections
    use."""
    _read_engine: Engine
    _queue: GroupCommit
    _deriver: Deriver
    log: PartitionLog
    """The log that this store appends to."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, partition: int = 0) -> None:
        self.partition = partition
        """See :attr:`Store.partition <tidegate_server.stores.port.Store.partition>`."""
        self._monotonic = monotonic
        self._writer: Connection | None = None
        self._committed_seq = 0
        self._seen_changes = 0
        self._changes = 0
        self._last_rows: dict[UUID, int] = {}
        self._longest_write_seconds = 0.0
        self.lost_changes = 0
        """Commits of anything but decisions found lost when opening; a lower bound."""
        self.lost: LogGap | None = None
        """The end of the log, if it was found lost when opening."""

    def write(self, work: Callable[[Connection], T], *, quietly: bool = False) -> Future[T]:
        """See :meth:`Store.write <tidegate_server.stores.port.Store.write>`."""
        return self._queue.write(work, is_quiet=quietly)

    def append(self, blocks: Sequence[LogBlock]) -> Future[None]:
        """See :meth:`Store.append <tidegate_server.stores.port.Store.append>`."""
        return self._queue.append(blocks)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """See :meth:`Store.read <tidegate_server.stores.port.Store.read>`."""
        with translated(), self._read_engine.connect() as connection:
            yield connection

    def index_now(self) -> None:
        """See :meth:`Store.index_now <tidegate_server.stores.port.Store.index_now>`."""
        # By then earlier appends are committed, or never will be.
        self._queue.command(lambda: None).result()
        self._deriver.catch_up().result()

    def learn_now(self) -> None:
        """See :meth:`Store.learn_now <tidegate_server.stores.port.Store.learn_now>`."""
        self._queue.command(lambda: None).result()
        self._deriver.learn().result()

    def derive(self, work: Callable[[Connection], T]) -> Future[T]:
        """See :meth:`Store.derive <tidegate_server.stores.port.Store.derive>`."""
        return self._deriver.write(work)

    def flush_derived(self) -> int:
        """See :meth:`Store.flush_derived <tidegate_server.stores.port.Store.flush_derived>`."""
        return self._deriver.flush().result()

    def recover(self) -> None:
        """See :meth:`Store.recover <tidegate_server.stores.port.Store.recover>`."""
        self._queue.command(self._reopen).result()

    @property
    def is_accepting(self) -> bool:
        """See :attr:`Store.is_accepting <tidegate_server.stores.port.Store.is_accepting>`."""
        return self._queue.is_accepting

    def changed(self) -> bool:
        """See :meth:`Store.changed <tidegate_server.stores.port.Store.changed>`."""
        with self.read() as connection:
            changes = self._all_changes(connection)
        previous, self._seen_changes = self._seen_changes, changes
        return changes != previous

    def statistics(self) -> StoreStatistics:
        """See :meth:`Store.statistics <tidegate_server.stores.port.Store.statistics>`."""
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

    def close(self) -> None:
        """See :meth:`Store.close <tidegate_server.stores.port.Store.close>`."""
        self._deriver.close()
        self._queue.close()
        self._read_engine.dispose()

    # The functions below run on the writing thread, or before it starts.

    @abstractmethod
    def _reopen(self) -> None:
        """Accept work again, if a new connection can commit."""

    @abstractmethod
    def _claim_log(self) -> None:
        """Stop all other processes from appending, from the first append on."""

    @abstractmethod
    def _last_row(self, writer: Connection, tenant_id: UUID) -> int:
        """The first number of a tenant's last row; 0 if there isn't one."""

    @abstractmethod
    def _is_in_transaction(self, writer: Connection) -> bool:
        """Whether the driver's connection has a transaction that can continue."""

    @abstractmethod
    def _failed(self, error: Exception) -> StoreUnavailableError:
        """The error of a failed commit for callers waiting for it."""

    @abstractmethod
    def _begun(self, writer: Connection) -> None:
        """Called in the transaction of a group, before its work."""

    @abstractmethod
    def _committed(self) -> None:
        """Called after a commit, before any caller hears of it."""

    def _count_change(self, writer: Connection) -> None:
        """Count a commit that changes anything but decisions, for the partition and for all."""
        count(writer, CHANGES)
        if self.partition:
            writer.exec_driver_sql(
                f"UPDATE {self._SHARED} SET value = value + 1 WHERE name = '{CHANGES}'"  # noqa: S608
            )

    def _all_changes(self, connection: Connection) -> int:
        """The number of such commits by all processes."""
        if not self.partition:
            return counter(connection, CHANGES)
        query = f"SELECT value FROM {self._SHARED} WHERE name = '{CHANGES}'"  # noqa: S608
        return int(connection.exec_driver_sql(query).scalar_one())

    def _keep_audit(self, entries: Sequence[AuditEntry]) -> None:
        """Called in the transaction of decisions with audit entries; a subclass may need them
        twice."""
        del entries

    def _connection(self) -> Connection:
        if self._writer is None:
            raise StoreUnavailableError("the database is not open")
        return self._writer

    def _commit(self, group: list[Work]) -> None:
        try:
            self._committed_seq = self._commit_all(group)
            self._committed()
        except Exception as error:
            failure = self._failed(error)
            self._undo()
            if failure is error:
                raise
            raise failure from error

    def _commit_all(self, group: list[Work]) -> int:
        """Commit a group; return the number of the last decision then."""
        writer = self._connection()
        appends = [work for work in group if isinstance(work, Append)]
        if appends:
            self._claim_log()
            writer = self._connection()
        with_rows = [block for work in appends for block in work.blocks if block.has_rows]
        if len(appends) == len(group) and not with_rows:
            # One statement is its own transaction: the interpreter lock, which a busy server gives
            # back late, is released once, not three times.
            return self._append(writer, appends, self._committed_seq)
        seq = self._committed_seq
        waiting: list[Append] = []
        with writer.begin():
            self._begun(writer)
            for work in group:
                if isinstance(work, Append):
                    waiting.append(work)
                    continue
                seq = self._append(writer, waiting, seq)
                waiting.clear()
                started = self._monotonic()
                self._run_in_savepoint(writer, work)
                held = self._monotonic() - started
                self._longest_write_seconds = max(self._longest_write_seconds, held)
            seq = self._append(writer, waiting, seq)
            for block in with_rows:
                add_rows(writer, block)
            self._keep_audit([block.audit for block in with_rows if block.audit is not None])
            if any(isinstance(work, Write) and not work.is_quiet for work in group):
                self._count_change(writer)
                self._changes += 1
        return seq

    def _append(self, writer: Connection, appends: list[Append], seq: int) -> int:
        """Append to the log after ``seq``; return the number of the last decision then."""
        by_tenant: dict[UUID, list[LogBlock]] = {}
        for work in appends:
            for block in work.blocks:
                by_tenant.setdefault(block.tenant_id, []).append(block)
        made: list[tuple[Any, ...]] = []
        for tenant_id, blocks in by_tenant.items():
            for part in rows(blocks):
                previous = self._last_rows.get(tenant_id)
                if previous is None:
                    previous = self._last_row(writer, tenant_id)
                made.append(log_row(seq + 1, part, previous))
                self._last_rows[tenant_id] = seq + 1
                seq += sum(block.count for block in part)
        if made:
            self.log.append(writer, made[0][0] - 1, made)
        return seq

    def _run_in_savepoint(self, writer: Connection, work: Write) -> None:
        """Run a function so that an error undoes only its own changes.

        Raises:
            StoreUnavailableError: the whole transaction is lost.
        """
        savepoint = writer.begin_nested()
        try:
            result = work.work(writer)
            savepoint.commit()
        except BaseException as error:
            if is_fatal(error) or not self._is_in_transaction(writer):
                raise StoreUnavailableError(reason(error)) from error
            savepoint.rollback()
            failure = translate(error)
            work.outcome = lambda: throw(failure)
        else:
            work.outcome = lambda: result

    def _undo(self) -> None:
        """Leave no transaction open; drop a connection that fails to roll back."""
        self._last_rows.clear()
        try:
            if self._writer is not None:
                self._writer.rollback()
                if self._is_in_transaction(self._writer):
                    raise StoreUnavailableError("the transaction goes on")
        except Exception:
            self._close_writer()

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
    """Split one tenant's blocks into rows of the log."""
    row: list[LogBlock] = []
    entries = 0
    for block in blocks:
        if entries + block.count > MAX_ROW_ENTRIES:
            yield row
            row, entries = [], 0
        row.append(block)
        entries += block.count
    yield row


def throw(error: BaseException) -> None:
    """Raise."""
    raise error
