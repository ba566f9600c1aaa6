"""The log of a partition as its owner writes it: claims, and appends fenced by them.

A claim begins the partition's next epoch.  An append names the claimed epoch and the number it
continues after, in the statement itself. So an earlier owner's rows are rejected, and so is a
number used twice, whatever that owner believes.  Locks find the next owner; safety depends on this
check.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import delete

from tidegate_server.stores.base import FencedError, TakenNumberError
from tidegate_server.stores.decision_log.log import last_seq, pack, row_checksum
from tidegate_server.stores.rows.counters import PRUNED_SEQ, counter, set_counter
from tidegate_server.stores.rows.dialects import driver_connection
from tidegate_server.stores.rows.tables import decision_log

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.stores.decision_log.lines import LogBlock

LOG_COLUMNS = (
    "first_seq, tenant_id, count, received_at_ns, first_id, last_id, index_body, body, checksum,"
    " previous_seq"
)
TAKEN_OVER = "another process became the owner of the log"
_END = "SELECT coalesce(max(first_seq + count), 1) FROM decision_log WHERE first_seq = ("
_END += "SELECT max(first_seq) FROM decision_log)"


class PartitionLog(Protocol):
    """The log of one partition, over the writing connection of its store."""

    partition: int
    epoch: int | None
    """The epoch of this process; None before its claim."""

    def claim(self, writer: Connection, owner: str, term: int | None = None) -> int:
        """Begin the next epoch, in its own transaction: it waits for an append in flight.

        Args:
            writer: not in a transaction.
            owner: the new owner, shown to readers of the claim.
            term: the placement's term that it claims under; None if the log is not placed.

        Returns:
            The number of the last decision.  Earlier epochs have appended nothing after it, and can
            no longer append.

        Raises:
            FencedError: the log was claimed under a later term; the epoch is unchanged.
        """

    def append(self, writer: Connection, after: int, rows: Sequence[Sequence[Any]]) -> None:
        """Append rows; outside a transaction they form their own.

        Args:
            writer: the writing connection.
            after: the number that the first row follows; the log may end before it.
            rows: values of ``LOG_COLUMNS``, in order and without gaps.

        Raises:
            FencedError: another epoch has begun; nothing was appended.
            TakenNumberError: the log ends later than ``after``; nothing was appended.
        """

    def check(self, writer: Connection) -> None:
        """Make sure, in a transaction with other changes, that no other epoch begins before its
        end.

        Raises:
            FencedError: one has begun.
        """


def log_row(first_seq: int, blocks: Sequence[LogBlock], previous_seq: int) -> tuple[Any, ...]:
    """A row of the log: the values of ``LOG_COLUMNS``.

    Args:
        first_seq: number of its first decision.
        blocks: one tenant's blocks, in order.
        previous_seq: the tenant's previous row, by its first number; 0 if there isn't one.
    """
    row = (
        first_seq,
        blocks[0].tenant_id.bytes,
        sum(block.count for block in blocks),
        max(block.received_at_ns for block in blocks),
        min(block.first_id for block in blocks),
        max(block.last_id for block in blocks),
        pack([block.index for block in blocks], b","),
        pack([block.lines for block in blocks], b"\n"),
    )
    return (*row, row_checksum(*row, previous_seq), previous_seq)


def drop(connection: Connection, first_seqs: Sequence[int], last_seq_of_them: int) -> None:
    """Delete rows of the log, and record how far they were deleted.

    Args:
        connection: the connection of a write.
        first_seqs: the rows, by their first numbers.
        last_seq_of_them: the number of their last decision.
    """
    connection.execute(delete(decision_log).where(decision_log.c.first_seq.in_(first_seqs)))
    newest = max(last_seq_of_them, counter(connection, PRUNED_SEQ))
    set_counter(connection, PRUNED_SEQ, newest)


class _Log(ABC):
    """The shared part of both logs, whose statements differ."""

    _OWNED: str
    _INSERT: str
    _ROW: str

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.epoch: int | None = None

    @abstractmethod
    def _begin(self, writer: Connection, owner: str, term: int | None) -> int | None:
        """The next epoch; None if one with a later term exists."""

    def claim(self, writer: Connection, owner: str, term: int | None = None) -> int:
        """See :meth:`PartitionLog.claim`."""
        # The statement is its own transaction; after it nobody else can append to the log.
        epoch = self._begin(writer, owner, term)
        if epoch is None:
            raise FencedError(TAKEN_OVER)
        self.epoch = epoch
        end = last_seq(writer)
        writer.rollback()
        return end

    def append(self, writer: Connection, after: int, rows: Sequence[Sequence[Any]]) -> None:
        """See :meth:`PartitionLog.append`."""
        statement = self._INSERT.format(rows=", ".join([self._ROW] * len(rows)))
        values = [each for row in rows for each in row]
        place = (self.partition, self.epoch, after + 1)
        taken = driver_connection(writer).execute(statement, (*values, *place))
        if taken.rowcount == len(rows):
            return
        driver = driver_connection(writer)
        if driver.execute(self._OWNED, (self.partition, self.epoch)).fetchone() is None:
            raise FencedError(TAKEN_OVER)
        raise TakenNumberError(f"the log ends after decision {after} already")

    def check(self, writer: Connection) -> None:
        """See :meth:`PartitionLog.check`."""
        owned = driver_connection(writer).execute(self._OWNED, (self.partition, self.epoch))
        if owned.fetchone() is None:
            raise FencedError(TAKEN_OVER)


class SqliteLog(_Log):
    """The log in an SQLite file, which has one writer at a time."""

    _BEGIN = (
        "UPDATE partitions SET epoch = epoch + 1, owner = ? WHERE partition_id = ? RETURNING epoch"
    )
    _OWNED = "SELECT 1 FROM partitions WHERE partition_id = ? AND epoch = ?"
    _ROW = "(?,?,?,?,?,?,?,?,?,?)"
    _INSERT = (
        f"INSERT INTO decision_log ({LOG_COLUMNS}) SELECT * FROM (VALUES {{rows}})"  # noqa: S608
        f" WHERE EXISTS ({_OWNED}) AND ({_END}) <= ?"
    )

    def _begin(self, writer: Connection, owner: str, term: int | None) -> int | None:
        assert term is None, "nobody places the log of a file"
        row = driver_connection(writer).execute(self._BEGIN, (owner, self.partition)).fetchone()
        return int(row[0])


class PostgresqlLog(_Log):
    """The log in a PostgreSQL database, where a claim waits for the row's lock."""

    # A claim that waited for the row sees the term of the claim it waited for.
    _BEGIN = (
        "UPDATE partitions SET epoch = epoch + 1, owner = %(owner)s,"
        " term = coalesce(%(term)s::int8, term) WHERE partition_id = %(partition)s"
        " AND term <= coalesce(%(term)s::int8, term) RETURNING epoch"
    )
    _OWNED = "SELECT 1 FROM partitions WHERE partition_id = %s AND epoch = %s FOR SHARE"
    _ROW = (
        "(%s::int8, %s::bytea, %s::int4, %s::int8, %s::bytea, %s::bytea, %s::bytea, %s::bytea,"
        " %s::int8, %s::int8)"
    )
    _INSERT = (
        f"INSERT INTO decision_log ({LOG_COLUMNS}) SELECT new.* FROM (VALUES {{rows}}) AS new,"  # noqa: S608
        " partitions AS owned WHERE owned.partition_id = %s AND owned.epoch = %s"
        f" AND ({_END}) <= %s FOR SHARE OF owned"
    )

    def _begin(self, writer: Connection, owner: str, term: int | None) -> int | None:
        values = {"owner": owner, "term": term, "partition": self.partition}
        row = driver_connection(writer).execute(self._BEGIN, values).fetchone()
        return None if row is None else int(row[0])
