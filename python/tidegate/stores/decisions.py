"""Decisions, found: by time, action, policy, entity, path and API key.

Derived from the log: call ``index_now`` first to see everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import orjson
from sqlalchemy import Select, false, func, or_, select
from sqlalchemy.sql.elements import ColumnElement

from tidegate.stores.base import NotFoundError
from tidegate.stores.log import LIFT
from tidegate.stores.tables import decisions as table

if TYPE_CHECKING:
    from sqlalchemy import Connection, RowMapping

MAX_EXAMINED = 100_000
"""Decisions looked at for one page, about 0.1 s: a rare one costs several pages, not a stall."""


@attrs.frozen(kw_only=True)
class FoundDecision:
    """What a search knows of a decision; the rest is in the log under ``seq``."""

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
    """Policies of which a clause fired, with their strongest mode."""


@attrs.frozen(kw_only=True)
class DecisionQuery:
    """What decisions are looked for; what is None does not matter.

    Args:
        from_ns: received at this time or later.
        to_ns: received before this time.
        action: ``allow``, ``challenge`` or ``block``.
        reason: why.
        policy_id: a clause of this policy fired.
        entity_id: of this entity.
        path: of this path exactly, or, when it ends in ``*``, of one that begins so.
        api_key_id: that came with this key.
    """

    from_ns: int | None = None
    to_ns: int | None = None
    action: str | None = None
    reason: str | None = None
    policy_id: UUID | None = None
    entity_id: UUID | None = None
    path: str | None = None
    api_key_id: UUID | None = None


@attrs.frozen
class DecisionPage:
    """Decisions, the newest first.

    Args:
        decisions: those found; perhaps fewer than asked for, or none, with more to come.
        next_before: where the next page begins; None when this is the last.
    """

    decisions: tuple[FoundDecision, ...]
    next_before: UUID | None


def find(connection: Connection, tenant_id: UUID, decision_id: UUID) -> FoundDecision:
    """A decision.

    Raises:
        NotFoundError: the tenant has none of this id (any more).
    """
    row = (
        connection.execute(
            select(table).where(
                table.c.tenant_id == tenant_id,
                table.c.decision_id == decision_id,
                table.c.action != LIFT,
            )
        )
        .mappings()
        .first()
    )
    if row is None:
        raise NotFoundError("decision")
    return _found(row)


def search(
    connection: Connection,
    tenant_id: UUID,
    query: DecisionQuery,
    limit: int,
    before: UUID | None = None,
    max_examined: int = MAX_EXAMINED,
) -> DecisionPage:
    """A page of decisions, the newest first.

    Args:
        connection: a connection of the store.
        tenant_id: whose.
        query: which.
        limit: how many at most.
        before: ``next_before`` of the page before.
        max_examined: how many may be looked at; then the page ends, however short it is.
    """
    examined = _examined(tenant_id, query, before)
    candidates = examined.order_by(table.c.decision_id.desc()).limit(max_examined).subquery()
    rows = (
        connection.execute(
            select(candidates)
            .where(*_filters(candidates.c, query))
            .order_by(candidates.c.decision_id.desc())
            .limit(limit)
        )
        .mappings()
        .all()
    )
    found = tuple(_found(row) for row in rows)
    if len(found) == limit:
        return DecisionPage(found, found[-1].decision_id)
    last_examined = connection.execute(
        examined.with_only_columns(table.c.decision_id)
        .order_by(table.c.decision_id.desc())
        .limit(1)
        .offset(max_examined - 1)
    ).scalar()
    return DecisionPage(found, last_examined)


@attrs.frozen
class Span:
    """Where in the log the decisions of a time are."""

    first_seq: int
    last_seq: int
    count: int


def span(connection: Connection, tenant_id: UUID, from_ns: int, to_ns: int) -> Span | None:
    """The decisions, and lifts, of a tenant that were received within a time; None without any."""
    query = select(func.min(table.c.seq), func.max(table.c.seq), func.count()).where(
        table.c.tenant_id == tenant_id,
        table.c.decision_id >= oldest_id(from_ns),
        table.c.decision_id < oldest_id(to_ns),
    )
    first, last, count = connection.execute(query).one()
    return None if first is None else Span(first, last, count)


@attrs.frozen
class History:
    """What happened to some entities before a decision.

    Args:
        seqs: numbers of the entries of the log, the oldest first.
        is_whole: whether all are there, back to ``after_seq``.
    """

    seqs: tuple[int, ...]
    is_whole: bool


def history(
    connection: Connection,
    before: FoundDecision,
    *,
    after_seq: int = 0,
    limit: int,
    max_examined: int = MAX_EXAMINED,
) -> History:
    """The decisions, and lifts, of a decision's entities before it; the newest that there are.

    Args:
        connection: a connection of the store.
        before: the decision.
        after_seq: number of the last entry that does not matter.
        limit: how many at most.
        max_examined: how many of the tenant's decisions may be looked at.
    """
    examined = (
        select(table.c.seq, table.c.entity_ids)
        .where(
            table.c.tenant_id == before.tenant_id,
            table.c.decision_id < before.decision_id,
            table.c.seq > after_seq,
        )
        .order_by(table.c.decision_id.desc())
        .limit(max_examined)
        .subquery()
    )
    of_entities = or_(false(), *(_is_of(examined.c, each) for each in before.entity_ids))
    wanted = select(examined.c.seq).where(of_entities).limit(limit)
    seqs = sorted(connection.execute(wanted).scalars())
    count = select(func.count()).select_from(examined)
    is_whole = len(seqs) < limit and connection.execute(count).scalar_one() < max_examined
    return History(tuple(seqs), is_whole)


def oldest_id(at_ns: int) -> UUID:
    """The least UUID of version 7 of a time: those received from then on are not below it."""
    milliseconds = max(0, at_ns // 1_000_000)
    return UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62)


def _examined(tenant_id: UUID, query: DecisionQuery, before: UUID | None) -> Select[Any]:
    """The tenant's decisions in the time that is asked for, which their ids begin with."""
    examined = select(table).where(table.c.tenant_id == tenant_id)
    if query.from_ns is not None:
        examined = examined.where(
            table.c.decision_id >= oldest_id(query.from_ns), table.c.received_at_ns >= query.from_ns
        )
    if query.to_ns is not None:
        examined = examined.where(
            table.c.decision_id < oldest_id(query.to_ns + 1_000_000),
            table.c.received_at_ns < query.to_ns,
        )
    if before is not None:
        examined = examined.where(table.c.decision_id < before)
    return examined


def _filters(columns: Any, query: DecisionQuery) -> list[ColumnElement[bool]]:
    filters: list[ColumnElement[bool]] = [
        columns.action != LIFT,
        *(
            columns[name] == value
            for name, value in (
                ("action", query.action),
                ("reason", query.reason),
                ("api_key_id", query.api_key_id),
            )
            if value is not None
        ),
    ]
    if query.path is not None:
        if query.path.endswith("*"):
            prefix = query.path[:-1]
            filters.append(func.substr(columns.path, 1, len(prefix)) == prefix)
        else:
            filters.append(columns.path == query.path)
    if query.policy_id is not None:
        filters.append(columns.fired.contains(f'"{query.policy_id}"', autoescape=True))
    if query.entity_id is not None:
        filters.append(_is_of(columns, query.entity_id))
    return filters


def _is_of(columns: Any, entity_id: UUID) -> ColumnElement[bool]:
    return func.instr(columns.entity_ids, entity_id.bytes) > 0


def _found(row: RowMapping) -> FoundDecision:
    ids = row["entity_ids"] or b""
    return FoundDecision(
        **{name: value for name, value in row.items() if name not in ("entity_ids", "fired")},
        entity_ids=tuple(
            UUID(bytes=bytes(ids[start : start + 16])) for start in range(0, len(ids), 16)
        ),
        fired=tuple((UUID(policy), mode) for policy, mode in orjson.loads(row["fired"])),
    )
