"""Searches for decisions by time, action, policy, entity, path and API key.

Decisions have no rows of their own: the search index is packed next to the log's lines and scanned
row by row.  A row knows its smallest and greatest id, so an id or a time leads to the rows that may
contain it.  Ids begin with the time and usually rise. A clock that was set back makes rows overlap,
and nothing here relies on their not overlapping.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import UUID

import attrs
import orjson
from sqlalchemy import Select, exists, func, select
from sqlalchemy.exc import DBAPIError

from tidegate.limits import CLOCK_TOLERANCE
from tidegate_server.stores.base import DamagedLogError, NotFoundError
from tidegate_server.stores.decision_log.lines import LIFT, MAX_ROW_ENTRIES, read_index
from tidegate_server.stores.decision_log.log import unpack
from tidegate_server.stores.decision_log.rows import Unreadable, row_numbers
from tidegate_server.stores.rows.errors import is_corrupt
from tidegate_server.stores.rows.tables import decision_log as table
from tidegate_server.stores.rows.tables import tenants

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from tidegate_server.stores.decision_log.lines import IndexEntry

MAX_EXAMINED = 100_000
"""Decisions examined for one page, about 0.2 s: a rare match costs several pages, not a stall."""
MAX_PATH = 1_024
"""Characters of a path that searches see."""
MAX_MEASURED = 20
"""Unreadable rows of a page whose last number is looked up, some 10 ms each in a large log; for the
others only the first number is reported."""
MAX_ID = bytes([0xFF]) * 16
FIRST_ID = bytes(16)
END_NS = 2**63 - 1
"""Later than any time."""
STREAMED: dict[str, Any] = {"stream_results": True, "max_row_buffer": 64}
"""For queries that may stop early: PostgreSQL would send all rows at once."""
DIFFERENCE_MS = 60_000
"""How far the clocks that make ids may differ."""
SPAN_COST = 100
"""Decisions that could be examined in the time it takes to begin another span."""

Clock: TypeAlias = Literal["observed", "received"]
"""The time of a decision to use: when its event was observed, or when the service received it."""
Spans: TypeAlias = Sequence[tuple[int, int]]
"""First time, and first time after the end, of each span in nanoseconds since 1970, the newest
first."""


@attrs.frozen(kw_only=True)
class FoundDecision:
    """The part of a decision that a search reads; the rest is in the log under ``seq``."""

    tenant_id: UUID
    decision_id: UUID
    seq: int
    received_at_ns: int
    observed_at_ns: int
    action: str
    reason: str
    policy_id: UUID | None
    path: str | None
    """The first 1,024 characters."""
    api_key_id: UUID | None
    entity_ids: tuple[UUID, ...]
    fired: tuple[tuple[UUID, str], ...]
    """Policies with a clause that fired, and their strongest mode."""


@attrs.frozen(kw_only=True)
class DecisionQuery:
    """A query of decisions; a member that is None matches all.

    Args:
        from_ns: at this time or later.
        to_ns: before this time.
        clock: the decision's time that these two refer to.
        action: ``allow``, ``challenge`` or ``block``.
        reason: the reason.
        policy_id: a clause of this policy fired.
        answered_by: this policy gave the answer.
        entity_id: with this entity.
        path: with exactly this path or, if it ends in ``*``, a path that begins so.
        api_key_id: received with this key.
        mode: a policy fired with this as its strongest mode; with ``policy_id``, that policy.
        errors: whether an expression failed.
    """

    from_ns: int | None = None
    to_ns: int | None = None
    clock: Clock = "observed"
    action: str | None = None
    reason: str | None = None
    policy_id: UUID | None = None
    answered_by: UUID | None = None
    entity_id: UUID | None = None
    path: str | None = None
    api_key_id: UUID | None = None
    mode: str | None = None
    errors: bool | None = None


@attrs.frozen
class DecisionPage:
    """Decisions, the newest first.

    Args:
        decisions: the decisions found; perhaps fewer than requested, or none, with more to come.
        next_before: where the next page begins; None if this is the last.
        passed_over: entries that cannot be read and may include matches.
    """

    decisions: tuple[FoundDecision, ...]
    next_before: UUID | None
    passed_over: tuple[Unreadable, ...] = ()


@attrs.frozen
class Entry:
    """A decision or a lift in a row's index, with its number."""

    seq: int
    index: IndexEntry

    @property
    def decision_id(self) -> UUID:
        return UUID(self.index.decision_id)

    @property
    def name(self) -> bytes:
        """Its id, in the form that orders rows."""
        return bytes.fromhex(self.index.decision_id.replace("-", ""))

    @property
    def is_decision(self) -> bool:
        return self.index.action != LIFT

    def time_ns(self, clock: Clock) -> int:
        """The time of the decision that a query's period refers to."""
        return self.index.observed_at_ns if clock == "observed" else self.index.received_at_ns

    def is_asked_for(self, query: DecisionQuery) -> bool:
        index = self.index
        if not self.is_decision:
            return False
        for found, wanted in (
            (index.action, query.action),
            (index.reason, query.reason),
            (index.api_key_id, query.api_key_id),
            (index.policy_id, query.answered_by),
        ):
            if wanted is not None and found != str(wanted):
                return False
        at = self.time_ns(query.clock)
        if query.from_ns is not None and at < query.from_ns:
            return False
        if query.to_ns is not None and at >= query.to_ns:
            return False
        if query.path is not None and not _is_path(index.path, query.path):
            return False
        if query.errors is not None and bool(index.errors) is not query.errors:
            return False
        if not _has_fired(index.fired, query):
            return False
        return query.entity_id is None or str(query.entity_id) in index.entity_ids

    def decision(self) -> FoundDecision:
        index = self.index
        return FoundDecision(
            tenant_id=UUID(index.tenant_id),
            decision_id=self.decision_id,
            seq=self.seq,
            received_at_ns=index.received_at_ns,
            observed_at_ns=index.observed_at_ns,
            action=index.action,
            reason=index.reason,
            policy_id=None if index.policy_id is None else UUID(index.policy_id),
            path=None if index.path is None else index.path[:MAX_PATH],
            api_key_id=None if index.api_key_id is None else UUID(index.api_key_id),
            entity_ids=tuple(map(UUID, index.entity_ids)),
            fired=tuple((UUID(policy), mode) for policy, mode in index.fired),
        )


def find(connection: Connection, tenant_id: UUID, decision_id: UUID) -> FoundDecision:
    """A decision.

    Raises:
        NotFoundError: the tenant has no decision with this id, or no longer.
        DamagedLogError: a row that may contain it is damaged.
    """
    name = decision_id.bytes
    rows = rows_within(tenant_id, name, name).order_by(table.c.last_id, table.c.first_seq)
    with closing(connection.execute(rows)) as found:
        for row in found:
            for entry in entries_of(row, [str(decision_id).encode()]):
                if entry.decision_id == decision_id and entry.is_decision:
                    return entry.decision()
    raise NotFoundError("decision")


def find_of_any(connection: Connection, decision_id: UUID) -> FoundDecision:
    """A decision of any tenant.

    Each tenant costs one index lookup.  A decision may be missed when clocks differ by more than a
    minute: gateways' clocks, which make ids, or one that was set back.

    Raises:
        NotFoundError: no tenant has a decision with this id, or no longer.
        DamagedLogError: a row that may contain it is damaged.
    """
    name = decision_id.bytes
    milliseconds = int.from_bytes(name[:6]) + DIFFERENCE_MS
    latest = min(milliseconds, 2**48 - 1).to_bytes(6) + b"\xff" * 10
    is_near = (
        exists()
        .where(table.c.tenant_id == tenants.c.tenant_id)
        .where(table.c.last_id.between(name, latest), table.c.first_id <= name)
    )
    having = select(tenants.c.tenant_id).where(is_near)
    for tenant_id in connection.execute(having).scalars().all():
        try:
            return find(connection, tenant_id, decision_id)
        except NotFoundError:
            continue
    raise NotFoundError("decision")


def search(
    connection: Connection,
    tenant_id: UUID,
    query: DecisionQuery,
    limit: int,
    before: UUID | None = None,
    received: Spans | None = None,
    max_examined: int = MAX_EXAMINED,
) -> DecisionPage:
    """A page of decisions, last received first.

    Args:
        connection: a connection of the store.
        tenant_id: the tenant.
        query: the query.
        limit: how many at most.
        before: ``next_before`` of the previous page.
        received: when they were received, if known: nothing else is searched.
        max_examined: after this many decisions the page ends, at the end of a row.
    """
    if received is None:
        received = [_received(query)]
    page: list[Entry] = []
    passed: list[Unreadable] = []
    examined = 0
    for least, end in id_spans(received, MAX_ID if before is None else before.bytes):
        if examined >= max_examined:
            return DecisionPage(_decisions(page), UUID(bytes=end), tuple(passed))
        within = _Within(tenant_id, least, end)
        found = _search(
            connection, within, query, limit - len(page), max_examined - examined, passed
        )
        page += found.entries
        if found.rest is not None:
            return DecisionPage(_decisions(page), found.rest, tuple(passed))
        examined += found.examined + SPAN_COST
    return DecisionPage(_decisions(page), None, tuple(passed))


def id_spans(received: Spans, end: bytes = MAX_ID) -> Iterator[tuple[bytes, bytes]]:
    """The ids that decisions of some times can have: the smallest, and the first after them.

    Args:
        received: when they were received, the newest first.
        end: only ids before this one.
    """
    for from_ns, to_ns in received:
        least = oldest_id(from_ns).bytes if from_ns > 0 else FIRST_ID
        last = MAX_ID if to_ns >= END_NS else oldest_id(to_ns + 1_000_000).bytes
        if min(end, last) > least:
            yield least, min(end, last)
            # Spans may overlap where clocks were set back; search each id once.
            end = least


def _received(query: DecisionQuery) -> tuple[int, int]:
    """The time in which a query's decisions may have been received."""
    from_ns = 0 if query.from_ns is None else query.from_ns
    if query.clock == "observed":
        # An event may be late by any time, and early by at most this.
        return from_ns - CLOCK_TOLERANCE, END_NS
    return from_ns, END_NS if query.to_ns is None else query.to_ns


@attrs.frozen
class _Within:
    """The decisions of a tenant with ids from ``least`` up to, but not including, ``end``."""

    tenant_id: UUID
    least: bytes
    end: bytes

    @property
    def greatest(self) -> bytes:
        return (int.from_bytes(self.end) - 1).to_bytes(16)


@attrs.frozen
class _Part:
    """The decisions found in a span, the number read, and where to continue if there is more."""

    entries: list[Entry]
    examined: int
    rest: UUID | None


def _search(
    connection: Connection,
    within: _Within,
    query: DecisionQuery,
    limit: int,
    max_examined: int,
    passed: list[Unreadable],
) -> _Part:
    least, greatest = within.least, within.greatest
    needles = _needles(query)
    page: list[Entry] = []
    waiting: list[Entry] = []
    examined = 0
    rows = rows_within(within.tenant_id, least, greatest)
    with closing(newest_first(connection, rows, passed)) as found:
        for row in found:
            # Rows are read by their greatest id, so ids above this row's are final.
            while waiting and waiting[-1].decision_id.bytes > row.last_id:
                page.append(waiting.pop())
            if len(page) >= limit:
                break
            if examined >= max_examined and row.last_id < greatest:
                return _Part(page, examined, UUID(int=int.from_bytes(row.last_id) + 1))
            examined += row.entries
            waiting += [
                entry
                for entry in _readable_entries(row, needles, passed)
                if least <= entry.decision_id.bytes <= greatest and entry.is_asked_for(query)
            ]
            waiting.sort(key=lambda entry: entry.decision_id)
        else:
            page += reversed(waiting)
    rest = page[limit - 1].decision_id if len(page) >= limit else None
    return _Part(page[:limit], examined, rest)


def _decisions(entries: list[Entry]) -> tuple[FoundDecision, ...]:
    return tuple(each.decision() for each in entries)


@attrs.frozen
class Span:
    """The part of the log with the decisions of a time."""

    first_seq: int
    last_seq: int
    count: int


def span(connection: Connection, tenant_id: UUID, from_ns: int, to_ns: int) -> Span | None:
    """The decisions and lifts of a tenant received within a time; None if there aren't any."""
    least, end = oldest_id(from_ns).bytes, oldest_id(to_ns).bytes
    if end <= least:
        return None
    rows = rows_within(tenant_id, least, (int.from_bytes(end) - 1).to_bytes(16))
    is_inside = (table.c.first_id >= least) & (table.c.last_id < end)
    inside = rows.where(is_inside).with_only_columns(
        func.min(table.c.first_seq),
        func.max(table.c.first_seq + table.c.count - 1),
        func.coalesce(func.sum(table.c.count), 0),
    )
    first, last, count = connection.execute(inside).one()
    seqs = [] if first is None else [first, last]
    with closing(connection.execute(rows.where(~is_inside))) as found:
        for row in found:
            for entry in entries_of(row):
                if least <= entry.decision_id.bytes < end:
                    seqs.append(entry.seq)
                    count += 1
    return Span(min(seqs), max(seqs), count) if seqs else None


@attrs.frozen
class History:
    """The state changes of some entities before a decision.

    Args:
        seqs: numbers of the entries of the log, the oldest first.
        is_whole: whether all are included, back to ``after_seq``, apart from damaged ones.
        damaged: first numbers of rows that cannot be read.
    """

    seqs: tuple[int, ...]
    is_whole: bool
    damaged: tuple[int, ...] = ()


def history(
    connection: Connection,
    before: FoundDecision,
    *,
    after_seq: int = 0,
    limit: int,
    max_examined: int = MAX_EXAMINED,
) -> History:
    """The decisions and lifts of a decision's entities before it, the newest available.

    Args:
        connection: a connection of the store.
        before: the decision.
        after_seq: number of the last entry that doesn't matter.
        limit: how many at most.
        max_examined: how many of the tenant's decisions may be examined.
    """
    wanted = {str(each) for each in before.entity_ids}
    needles = [each.encode() for each in wanted]
    rows = (
        select(table.c.first_seq, table.c.count.label("entries"), table.c.index_body)
        .where(table.c.tenant_id == before.tenant_id, table.c.first_seq < before.seq)
        .order_by(table.c.first_seq.desc())
        .execution_options(**STREAMED)
    )
    seqs: list[int] = []
    passed: list[Unreadable] = []
    examined = 0
    with closing(connection.execute(rows)) as found:
        for row in found:
            last = min(row.first_seq + row.entries, before.seq) - 1
            if last <= after_seq:
                break
            least = max(row.first_seq, after_seq + 1, last - (max_examined - examined) + 1)
            for entry in reversed(_readable_entries(row, needles, passed, any_of=True)):
                if (
                    least <= entry.seq <= last
                    and len(seqs) < limit
                    and wanted.intersection(entry.index.entity_ids)
                ):
                    seqs.append(entry.seq)
            examined += last - least + 1
            if len(seqs) >= limit or examined >= max_examined:
                break
    is_whole = len(seqs) < limit and examined < max_examined
    return History(tuple(reversed(seqs)), is_whole, tuple(each.first_seq for each in passed))


def oldest_id(at_ns: int) -> UUID:
    """The smallest UUID of version 7 for a time: later decisions' ids aren't below it."""
    milliseconds = min(max(0, at_ns // 1_000_000), (1 << 48) - 1)
    return UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62)


def rows_within(tenant_id: UUID, least: bytes, greatest: bytes) -> Select[Any]:
    """The rows that may contain ids from ``least`` to ``greatest``."""
    return (
        select(
            table.c.first_seq, table.c.last_id, table.c.count.label("entries"), table.c.index_body
        )
        .where(
            table.c.tenant_id == tenant_id, table.c.last_id >= least, table.c.first_id <= greatest
        )
        .execution_options(**STREAMED)
    )


def newest_first(
    connection: Connection, query: Select[Any], passed: list[Unreadable]
) -> Generator[Row[*tuple[Any, ...]]]:
    """The rows of :func:`rows_within` by their greatest id, in descending order.

    Unreadable rows are added to ``passed``.
    """
    given = 0
    try:
        newest_first = query.order_by(table.c.last_id.desc(), table.c.first_seq.desc())
        with closing(connection.execute(newest_first)) as found:
            for row in found:
                given += 1
                yield row
    except DBAPIError as error:
        if not is_corrupt(error):
            raise
        yield from _one_by_one(connection, query, given, passed)


def _one_by_one(
    connection: Connection, query: Select[Any], given: int, passed: list[Unreadable]
) -> Iterator[Row[*tuple[Any, ...]]]:
    """The next rows of a query, each looked up by its number in the index."""
    numbers = (
        query.with_only_columns(table.c.first_seq)
        .order_by(table.c.last_id.desc(), table.c.first_seq.desc())
        .offset(given)
    )
    for first_seq in connection.execute(numbers).scalars().all():
        try:
            row = connection.execute(query.where(table.c.first_seq == first_seq)).first()
        except DBAPIError as error:
            if not is_corrupt(error):
                raise
            is_known = len(passed) < MAX_MEASURED
            last = _last_of(connection, first_seq) if is_known else first_seq
            passed.append(Unreadable(first_seq, last))
            continue
        if row is not None:
            yield row


def _last_of(connection: Connection, first_seq: int) -> int:
    """The last number that an unreadable row may have."""
    numbers = row_numbers(connection, first_seq, first_seq + MAX_ROW_ENTRIES)
    following = next(numbers, None)
    return first_seq + MAX_ROW_ENTRIES - 1 if following is None else following - 1


def _readable_entries(
    row: Row[*tuple[Any, ...]],
    needles: list[bytes],
    passed: list[Unreadable],
    *,
    any_of: bool = False,
) -> list[Entry]:
    """Like :func:`entries_of`, without damaged rows, which are recorded."""
    try:
        return entries_of(row, needles, any_of=any_of)
    except (DamagedLogError, ValueError):
        passed.append(Unreadable(row.first_seq, row.first_seq + row.entries - 1))
        return []


def entries_of(
    row: Row[*tuple[Any, ...]], needles: list[bytes] | None = None, *, any_of: bool = False
) -> list[Entry]:
    """The entries of a row; none if it lacks one of the texts, or all of them."""
    index = unpack(row.first_seq, row.index_body)
    # Finding bytes takes a twentieth of the time to parse the JSON around them.
    if needles and not (any if any_of else all)(needle in index for needle in needles):
        return []
    return [Entry(seq, each) for seq, each in enumerate(read_index(index), row.first_seq)]


def _needles(query: DecisionQuery) -> list[bytes]:
    """Texts that the index of every matching decision contains."""
    ids = (query.policy_id, query.answered_by, query.entity_id, query.api_key_id)
    needles = [str(each).encode() for each in ids if each is not None]
    needles += [orjson.dumps(each) for each in (query.action, query.reason) if each is not None]
    return needles


def _has_fired(fired: Sequence[tuple[str, str]], query: DecisionQuery) -> bool:
    """Whether a requested policy fired, in the requested mode."""
    if query.policy_id is None and query.mode is None:
        return True
    policy = None if query.policy_id is None else str(query.policy_id)
    return any(policy in (None, each) and query.mode in (None, mode) for each, mode in fired)


def _is_path(path: str | None, wanted: str) -> bool:
    if path is None:
        return False
    seen = path[:MAX_PATH]
    return seen.startswith(wanted[:-1]) if wanted.endswith("*") else seen == wanted
