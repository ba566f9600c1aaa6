"""Lost decisions: found, reported once, and skipped from then on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from uuid import UUID

import attrs
from sqlalchemy import func, select

from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.tables import log_gaps as table

if TYPE_CHECKING:
    from sqlalchemy import Connection

MISSING = "missing"
"""The reason for a gap: the numbers have no row."""
DAMAGED = "damaged"
"""The row cannot be read, or fails its checksum."""


@attrs.frozen(kw_only=True)
class LogGap:
    """Lost entries of the log.

    Attributes:
        tenant_id: their tenant; None if unknown.
        reason: ``missing`` or ``damaged``.
    """

    first_seq: int
    last_seq: int
    tenant_id: UUID | None
    reason: str
    found_at_ns: int

    @property
    def count(self) -> int:
        """The number of entries."""
        return self.last_seq - self.first_seq + 1


def add(connection: Connection, gap: LogGap) -> None:
    """Record a gap."""
    records.add(connection, table, gap)


def known(connection: Connection) -> list[LogGap]:
    """All known gaps, in order."""
    query = records.of(LogGap, table).order_by(table.c.first_seq)
    return records.many(connection, query, LogGap)


def last_seq(connection: Connection) -> int:
    """Number of the last entry found lost; 0 if there isn't one."""
    return connection.execute(select(func.max(table.c.last_seq))).scalar() or 0


def total(connection: Connection) -> int:
    """How many entries were found lost."""
    lost = func.sum(table.c.last_seq - table.c.first_seq + 1)
    return connection.execute(select(lost)).scalar() or 0


def unknown_parts(known: Iterable[LogGap], first: int, last: int) -> list[tuple[int, int]]:
    """The parts of a range outside the known gaps, which are given in order."""
    parts = []
    for gap in known:
        if gap.last_seq < first or gap.first_seq > last:
            continue
        if gap.first_seq > first:
            parts.append((first, gap.first_seq - 1))
        first = gap.last_seq + 1
    return [*parts, (first, last)] if first <= last else parts


def covers(known: Iterable[LogGap], first: int, last: int) -> bool:
    """Whether all entries of a range are known to be lost."""
    return not unknown_parts(known, first, last)
