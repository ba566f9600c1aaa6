"""The log of a partition in memory: it passes the contract of the logs in databases."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs

from tidegate_server.stores.base import FencedError, TakenNumberError
from tidegate_server.stores.decision_log.log import unpack
from tidegate_server.stores.decision_log.partition_log import TAKEN_OVER

Row = tuple[Any, ...]


@attrs.define(eq=False)
class Table:
    """The rows of a partition's log, and the newest claim of it."""

    epoch: int = 0
    term: int = 0
    rows: list[tuple[int, Row]] = attrs.field(factory=list)
    """Rows of the log, each with the epoch it was appended under."""
    claims: list[tuple[int, int]] = attrs.field(factory=list)
    """Each epoch with the end of the log at its claim."""
    end: int = 0
    """The number of the last decision."""
    lock: Any = attrs.field(factory=threading.RLock)
    """Held by a transaction that has claimed or appended."""
    lines: list[bytes] = attrs.field(factory=list)
    """The decisions in the rows, in order."""

    def begin(self) -> None:
        """Begin the next epoch."""
        self.epoch += 1
        self.claims.append((self.epoch, self.end))


class Writer:
    """A connection that writes to a table.

    Args:
        table: the log's.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._holds = 0

    @contextmanager
    def begin(self) -> Iterator[None]:
        """Keep everything in the block together, or nothing of it."""
        table = self.table
        saved = (table.epoch, table.term, list(table.rows), list(table.claims), table.end)
        lines = list(table.lines)
        self._holds = 1
        try:
            yield
        except BaseException:
            if self._holds > 1:
                table.epoch, table.term, table.rows, table.claims, table.end = saved
                table.lines = lines
            raise
        finally:
            for _ in range(self._holds - 1):
                table.lock.release()
            self._holds = 0

    @contextmanager
    def statement(self) -> Iterator[Table]:
        """Run a statement that changes the table: in the transaction, or as one of its own."""
        self.table.lock.acquire()
        if self._holds:
            self._holds += 1
            yield self.table
            return
        try:
            yield self.table
        finally:
            self.table.lock.release()


class MemoryLog:
    """A :class:`~tidegate_server.stores.decision_log.partition_log.PartitionLog` in memory."""

    def __init__(self, partition: int = 0) -> None:
        self.partition = partition
        self.epoch: int | None = None

    def claim(self, writer: Writer, owner: str, term: int | None = None) -> int:
        """Begin the next epoch, unless there is one of a later term."""
        del owner
        with writer.statement() as table:
            if term is not None and term < table.term:
                raise FencedError(TAKEN_OVER)
            table.term = table.term if term is None else term
            table.begin()
            self.epoch = table.epoch
            return table.end

    def append(self, writer: Writer, after: int, rows: Sequence[Row]) -> None:
        """Append rows under this epoch, behind the last number."""
        with writer.statement() as table:
            if table.epoch != self.epoch:
                raise FencedError(TAKEN_OVER)
            if table.end > after:
                raise TakenNumberError(f"the log ends after decision {after} already")
            for row in rows:
                table.rows.append((table.epoch, row))
                table.end = row[0] + row[2] - 1
                table.lines += unpack(row[0], row[7]).split(b"\n")

    def check(self, writer: Writer) -> None:
        """Make sure that no other epoch begins before the transaction's end."""
        with writer.statement() as table:
            if table.epoch != self.epoch:
                raise FencedError(TAKEN_OVER)
