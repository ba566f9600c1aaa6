"""Looks through recorded events, the newest first, for a second at most.

Events are redacted once more before an expression sees them: the answer can then hold nothing, and
no expression can guess anything, that the tenant's present names make a secret.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import attrs

from tidegate.errors import EventError
from tidegate.server.records.recorded import Record, record_in
from tidegate.stores.base import DamagedLogError
from tidegate.stores.decision_log import traffic
from tidegate.stores.decision_log.decisions import END_NS, DecisionQuery
from tidegate.stores.decision_log.rows import Unreadable
from tidegate.stores.index import results

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate.server import wire
    from tidegate.server.records.kept import Kept
    from tidegate.stores.decision_log.decisions import Spans
    from tidegate.stores.decision_log.traffic import Recorded

SECONDS = 0.85
"""Time for reading; the rest of the second is for making the answer."""
LEAST_ROWS = 8
"""Rows of the log that are read without finding an event: a worker that has only just read the
definitions of a tenant has little of the second left."""


@attrs.frozen
class Deadline:
    """The end of a look."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The deadline after some seconds."""
        return cls(time.monotonic() + seconds)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.at


@attrs.frozen
class Seen:
    """A recorded decision that is looked at.

    Attributes:
        recorded: its entry and its line.
        record: what it decided.
    """

    recorded: Recorded
    record: Record
    _kept: Kept

    @cached_property
    def event(self) -> bytes:
        """The event as it may be shown now; empty, and so refused by whoever reads it, where it
        cannot be read."""
        return redacted(self.recorded.event, self._kept)


@attrs.define
class Look:
    """The events of a selection, in rows of the log.

    Attributes:
        selection: of a request.
        deadline: when it ends.
        entity_id: only events of this entity are meant.
        looked_at: events given so far.
        complete: whether those are all, once the last was given.
        passed: entries of the log that cannot be read.
    """

    connection: Connection
    tenant_id: UUID
    selection: wire.TrafficRange
    kept: Kept
    deadline: Deadline
    entity_id: UUID | None = None
    looked_at: int = 0
    complete: bool = True
    passed: list[Unreadable] = attrs.field(factory=list)

    def rows(self) -> Iterator[list[Seen]]:
        """The events, the newest first."""
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
                # All that were asked for; of a time they were not all there are.
                self.complete = query.from_ns is None
                return
            seen = list(readable(row[:rest], self.kept, self.passed))
            self.looked_at += len(seen)
            yield seen


def readable(row: Sequence[Recorded], kept: Kept, passed: list[Unreadable]) -> Iterator[Seen]:
    """Recorded decisions to look at.

    Args:
        row: decisions of the log.
        kept: redacts their events.
        passed: gets those whose record cannot be read.
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
    """The time in which the decisions of a query can have been received."""
    if query.from_ns is None and query.to_ns is None:
        return [(0, END_NS)]
    if query.clock == "received":
        return [(query.from_ns or 0, END_NS if query.to_ns is None else query.to_ns)]
    period = results.Period(from_ns=query.from_ns, to_ns=query.to_ns)
    return results.received(connection, tenant_id, period)


def redacted(event: bytes, kept: Kept) -> bytes:
    """An event of the log as it would be kept now; empty where it cannot be read."""
    try:
        return kept.event(event)
    except EventError:
        return b""
