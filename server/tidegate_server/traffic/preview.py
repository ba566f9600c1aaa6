"""Scan recorded events, newest first, for a second at most.

Events are redacted again before an expression sees them. So the answer can't contain, and no
expression can guess, anything that the tenant's present names make secret.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import attrs

from tidegate.errors import EventError
from tidegate_server.stores.base import DamagedLogError
from tidegate_server.stores.decision_log import traffic
from tidegate_server.stores.decision_log.decisions import END_NS, DecisionQuery
from tidegate_server.stores.decision_log.recorded import Record, record_in
from tidegate_server.stores.decision_log.rows import Unreadable
from tidegate_server.stores.index import results

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate_server.records.kept import Kept
    from tidegate_server.stores.decision_log.decisions import Spans
    from tidegate_server.stores.decision_log.traffic import Recorded
    from tidegate_server.wire import traffic as wire_traffic

SECONDS = 0.85
"""Time for reading; the rest of the second is for building the answer."""
LEAST_ROWS = 8
"""Rows of the log that are read at least, even without finding an event.

A worker that has just read a tenant's definitions has little of the second left.
"""


@attrs.frozen
class Deadline:
    """The end of a scan."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Return the deadline after some seconds."""
        return cls(time.monotonic() + seconds)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.at


@attrs.frozen
class Seen:
    """A recorded decision in a scan.

    Attributes:
        recorded: its entry and its line.
        record: the decision.
    """

    recorded: Recorded
    record: Record
    _kept: Kept

    @cached_property
    def event(self) -> bytes:
        """The event as it may be shown now; empty, and then refused by readers, if unreadable."""
        return redacted(self.recorded.event, self._kept)


@attrs.define
class Preview:
    """The events of a selection, in rows of the log.

    Attributes:
        selection: the request's selection.
        deadline: when it ends.
        entity_id: limits the scan to events of this entity.
        looked_at: the number of events returned so far.
        complete: whether those are all, once the last was returned.
        passed: unreadable entries of the log.
    """

    connection: Connection
    tenant_id: UUID
    selection: wire_traffic.TrafficRange
    kept: Kept
    deadline: Deadline
    entity_id: UUID | None = None
    looked_at: int = 0
    complete: bool = True
    passed: list[Unreadable] = attrs.field(factory=list)

    def rows(self) -> Iterator[list[Seen]]:
        """Yield the events, newest first."""
        wanted = self.selection
        query = DecisionQuery(from_ns=wanted.from_ns, to_ns=wanted.to_ns, entity_id=self.entity_id)
        received = spans(self.connection, self.tenant_id, query)
        found = traffic.newest(self.connection, self.tenant_id, query, received, self.passed)
        for number, row in enumerate(found):
            if self.deadline.is_over and (self.looked_at or number >= LEAST_ROWS):
                self.complete = False
                return
            rest = wanted.newest - self.looked_at
            if rest <= 0:
                # The scan read all that were requested; a period would have had more.
                self.complete = query.from_ns is None
                return
            seen = list(readable(row[:rest], self.kept, self.passed))
            self.looked_at += len(seen)
            yield seen


def readable(row: Sequence[Recorded], kept: Kept, passed: list[Unreadable]) -> Iterator[Seen]:
    """Yield the readable recorded decisions of a row.

    Args:
        row: decisions of the log.
        kept: redacts their events.
        passed: collects the unreadable ones.
    """
    for each in row:
        seq = each.entry.seq
        try:
            record = record_in(each.line, seq)
        except DamagedLogError:
            passed.append(Unreadable(seq, seq))
        else:
            yield Seen(each, record, kept)


def spans(connection: Connection, tenant_id: UUID, query: DecisionQuery) -> Spans:
    """Return the period in which a query's decisions can have been received."""
    if query.from_ns is None and query.to_ns is None:
        return [(0, END_NS)]
    if query.clock == "received":
        return [(query.from_ns or 0, END_NS if query.to_ns is None else query.to_ns)]
    period = results.Period(from_ns=query.from_ns, to_ns=query.to_ns)
    return results.received(connection, tenant_id, period)


def redacted(event: bytes, kept: Kept) -> bytes:
    """Return an event of the log as it would be stored now; empty if it can't be read."""
    try:
        return kept.event(event)
    except EventError:
        return b""
