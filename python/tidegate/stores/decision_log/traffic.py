"""Recorded events, read to be looked at: the newest first, each line with its index entry."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import attrs
import orjson

from tidegate.stores.base import DamagedLogError
from tidegate.stores.decision_log.decisions import Entry, id_spans, newest_first, rows_within
from tidegate.stores.decision_log.lines import LIFT, event_in
from tidegate.stores.decision_log.log import unpack
from tidegate.stores.decision_log.rows import Unreadable
from tidegate.stores.rows.tables import decision_log as table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any
    from uuid import UUID

    from sqlalchemy import Connection, Row

    from tidegate.stores.decision_log.decisions import DecisionQuery, Spans


@attrs.frozen
class Recorded:
    """A recorded decision: its index entry and its line of the log."""

    entry: Entry
    line: bytes

    @property
    def event(self) -> bytes:
        """The event as it was kept."""
        return event_in(self.line)


def newest(
    connection: Connection,
    tenant_id: UUID,
    query: DecisionQuery,
    received: Spans,
    passed: list[Unreadable],
) -> Iterator[list[Recorded]]:
    """The decisions of a query, a row of the log at a time, those received last first.

    Args:
        connection: a connection of the store, for as long as the reading goes on.
        tenant_id: whose.
        query: which.
        received: when they were received, the newest first.
        passed: gets the entries that cannot be read.
    """
    for least, end in id_spans(received):
        greatest = (int.from_bytes(end) - 1).to_bytes(16)
        rows = rows_within(tenant_id, least, greatest).add_columns(table.c.body)
        with closing(newest_first(connection, rows, passed)) as found:
            for row in found:
                try:
                    recorded = _read(row)
                except (DamagedLogError, orjson.JSONDecodeError, ValueError):
                    passed.append(Unreadable(row.first_seq, row.first_seq + row.entries - 1))
                    continue
                yield [
                    each
                    for each in reversed(recorded)
                    if least <= each.entry.name < end and each.entry.is_asked_for(query)
                ]


def _read(row: Row[*tuple[Any, ...]]) -> list[Recorded]:
    entries = orjson.loads(b"[%b]" % unpack(row.first_seq, row.index_body))
    lines = unpack(row.first_seq, row.body).split(b"\n")
    return [
        Recorded(Entry(seq, values), line)
        for seq, (values, line) in enumerate(zip(entries, lines, strict=True), row.first_seq)
        if values[7] != LIFT
    ]
