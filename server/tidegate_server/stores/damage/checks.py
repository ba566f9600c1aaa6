"""Checks that the log is intact: numbers without a gap, rows with valid checksums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs

from tidegate_server.stores.base import DamagedLogError
from tidegate_server.stores.decision_log import gaps
from tidegate_server.stores.decision_log.lines import MAX_ROW_ENTRIES
from tidegate_server.stores.decision_log.log import row_checksum, unpack
from tidegate_server.stores.decision_log.rows import Unreadable, rows
from tidegate_server.stores.rows.counters import PRUNED_SEQ, counter
from tidegate_server.stores.rows.tables import decision_log as table

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

_COLUMNS = (
    table.c.first_seq,
    table.c.tenant_id,
    table.c.count.label("entries"),
    table.c.received_at_ns,
    table.c.first_id,
    table.c.last_id,
    table.c.index_body,
    table.c.body,
    table.c.checksum,
    table.c.previous_seq,
)


@attrs.frozen
class Finding:
    """Lost entries of the log.

    Attributes:
        tenant_id: their tenant; None if unknown.
        reason: ``missing`` or ``damaged``, as for a gap (``stores/decision_log/gaps.py``).
    """

    first_seq: int
    last_seq: int
    tenant_id: UUID | None
    reason: str


def check_rows(
    connection: Connection,
    after: int,
    until: int,
    *,
    links: dict[UUID, int] | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Iterator[Finding]:
    """The losses in the log between two numbers, including known ones.

    Args:
        connection: a connection of the store.
        after: number of the last entry before the checked range.
        until: number of the last entry checked, which the log has.
        links: the last row of each tenant so far, by its first number, when the whole log is
            checked from its beginning: each row must follow its tenant's previous row.
        progress: called with the last number checked.
    """
    pruned = counter(connection, PRUNED_SEQ)
    # The row with `after` may begin before it.
    expected: int | None = None if after else 1
    for row in rows(connection, _COLUMNS, max(after - MAX_ROW_ENTRIES, -1), until):
        if isinstance(row, Unreadable):
            yield Finding(max(row.first_seq, after + 1), row.last_seq, None, gaps.DAMAGED)
            expected = row.last_seq + 1
            links = None
            continue
        end = row.first_seq + row.entries - 1
        if end <= after:
            expected = end + 1
            continue
        if links is not None and links.get(row.tenant_id) == row.first_seq:
            # It began in the range before, and was checked there.
            expected = end + 1
            continue
        expected = max(expected or 0, after + 1)
        # Retention deleted earlier numbers, so they may be missing.
        if row.first_seq > max(expected, pruned + 1):
            yield Finding(max(expected, pruned + 1), row.first_seq - 1, None, gaps.MISSING)
        if links is not None and _is_unlinked(row, links, pruned):
            # Only the beginning and the tenant of the missing row are known.
            first = row.previous_seq
            yield Finding(first, first, row.tenant_id, gaps.MISSING)
        if links is not None:
            links[row.tenant_id] = row.first_seq
        if not is_right(row):
            yield Finding(row.first_seq, end, row.tenant_id, gaps.DAMAGED)
        expected = max(expected, end + 1)
        progress(end)
    expected = max(expected or 0, after + 1)
    if until >= max(expected, pruned + 1):
        yield Finding(max(expected, pruned + 1), until, None, gaps.MISSING)
    progress(until)


def _is_unlinked(row: Row[*tuple[Any, ...]], previous: dict[UUID, int], pruned: int) -> bool:
    """Whether the tenant's previous row is missing."""
    if row.previous_seq in (None, 0):
        return False
    before = previous.get(row.tenant_id)
    return bool(row.previous_seq > pruned if before is None else row.previous_seq != before)


def is_right(row: Row[*tuple[Any, ...]]) -> bool:
    """Whether a row is intact; rows of earlier versions have no checksum of their own."""
    made = row_checksum(
        row.first_seq,
        row.tenant_id.bytes,
        row.entries,
        row.received_at_ns,
        row.first_id,
        row.last_id,
        row.index_body,
        row.body,
        row.previous_seq,
    )
    if row.checksum is not None:
        return bool(made == row.checksum)
    try:
        unpack(row.first_seq, row.index_body)
        return bool(unpack(row.first_seq, row.body).count(b"\n") == row.entries - 1)
    except DamagedLogError:
        return False
