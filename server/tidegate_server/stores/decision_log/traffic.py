"""Recorded events to browse: the newest first, each line with its index entry."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import closing
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from tidegate_server.stores.base import DamagedLogError
from tidegate_server.stores.decision_log.decisions import (
    Entry,
    entries_of,
    id_spans,
    newest_first,
    rows_within,
)
from tidegate_server.stores.decision_log.lines import event_in
from tidegate_server.stores.decision_log.log import unpack
from tidegate_server.stores.decision_log.rows import Unreadable
from tidegate_server.stores.rows.tables import decision_log as table

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator
    from typing import Any
    from uuid import UUID

    from sqlalchemy import Connection, Row

    from tidegate_server.stores.decision_log.decisions import DecisionQuery, Spans


Split: TypeAlias = Literal["reason", "api_key"]
_MEMBERS = {"reason": attrgetter("reason"), "api_key": attrgetter("api_key_id")}
"""The members of an index entry."""


@attrs.frozen
class Recorded:
    """A recorded decision: its index entry and its line of the log."""

    entry: Entry
    line: bytes

    @property
    def event(self) -> bytes:
        """The event as it was recorded."""
        return event_in(self.line)


def newest(
    connection: Connection,
    tenant_id: UUID,
    query: DecisionQuery,
    received: Spans,
    passed: list[Unreadable],
    names: Container[bytes] | None = None,
) -> Iterator[list[Recorded]]:
    """The decisions of a query, one row of the log at a time, last received first.

    Args:
        connection: a connection of the store, for as long as the iteration lasts.
        tenant_id: the tenant.
        query: the query.
        received: when they were received, the newest first.
        passed: receives the entries that cannot be read.
        names: only decisions with these ids, in bytes.
    """

    def is_wanted(entry: Entry, least: bytes, end: bytes) -> bool:
        is_named = names is None or entry.name in names
        return least <= entry.name < end and is_named and entry.is_asked_for(query)

    for least, end in id_spans(received):
        greatest = (int.from_bytes(end) - 1).to_bytes(16)
        rows = rows_within(tenant_id, least, greatest).add_columns(table.c.body)
        with closing(newest_first(connection, rows, passed)) as found:
            for row in found:
                try:
                    yield _read(row, partial(is_wanted, least=least, end=end))
                except (DamagedLogError, ValueError):
                    passed.append(Unreadable(row.first_seq, row.first_seq + row.entries - 1))
                    yield []


def _read(row: Row[*tuple[Any, ...]], is_wanted: Callable[[Entry], bool]) -> list[Recorded]:
    """The wanted entries of a row, the newest first; if there aren't any, its lines stay packed."""
    entries = entries_of(row)
    wanted = [each for each in reversed(entries) if each.is_decision and is_wanted(each)]
    if not wanted:
        return []
    lines = unpack(row.first_seq, row.body).split(b"\n")
    if len(lines) != len(entries):
        raise ValueError("a row has another number of lines than of entries")
    return [Recorded(each, lines[each.seq - row.first_seq]) for each in wanted]


def totals(
    connection: Connection,
    tenant_id: UUID,
    query: DecisionQuery,
    received: Spans,
    by: Split,
    step_ns: int,
) -> dict[int, Counter[str]]:
    """The number of decisions in each time step, split by a member.

    Args:
        connection: a connection of the store.
        tenant_id: the tenant.
        query: the query; the steps use its clock.
        received: when they were received, the newest first.
        by: the member; a decision without an API key counts under "none".
        step_ns: length of a step; steps begin at multiples of it since 1970.

    Returns:
        By the time the step begins, in nanoseconds since 1970.
    """
    member = _MEMBERS[by]
    found: dict[int, Counter[str]] = defaultdict(Counter)
    passed: list[Unreadable] = []
    for least, end in id_spans(received):
        rows = rows_within(tenant_id, least, (int.from_bytes(end) - 1).to_bytes(16))
        with closing(newest_first(connection, rows, passed)) as read:
            for row in read:
                for entry in entries_of(row):
                    if least <= entry.name < end and entry.is_asked_for(query):
                        start = entry.time_ns(query.clock) // step_ns * step_ns
                        found[start][member(entry.index) or "none"] += 1
    return found
