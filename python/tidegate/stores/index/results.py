"""Results of policies: counts by policy and by time.

Derived from the log, by the minute of ``observed_at``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
from sqlalchemy import Select, func, select

from tidegate.stores.rows.tables import result_counts as table

if TYPE_CHECKING:
    from sqlalchemy import Connection, RowMapping

ALL = UUID(int=0)
"""Stands for all decisions of the tenant, in place of a policy."""
MINUTE_NS = 60_000_000_000


@attrs.frozen(kw_only=True)
class Counts:
    """Numbers of decisions by outcome.

    For a policy: decisions in which one of its clauses fired, by its strongest mode. For all: every
    decision; ``monitor`` counts those allowed although a clause fired.
    """

    total: int = 0
    monitor: int = 0
    challenge: int = 0
    block: int = 0
    errors: int = 0
    """Decisions in which an expression failed."""
    last_match_ns: int | None = None


@attrs.frozen
class Step:
    """The counts of one step of time."""

    start_ns: int
    counts: Counts


def by_policy(
    connection: Connection, tenant_id: UUID, from_ns: int | None = None, to_ns: int | None = None
) -> dict[UUID, Counts]:
    """The counts of every policy that fired or failed, and of :data:`ALL` decisions.

    Args:
        connection: a connection of the store.
        tenant_id: whose.
        from_ns: from the minute of this time.
        to_ns: up to this time; the minute it lies in counts whole.
    """
    query = _sums(tenant_id, from_ns, to_ns).add_columns(table.c.policy_id)
    rows = connection.execute(query.group_by(table.c.policy_id)).mappings()
    return {row["policy_id"]: _counts(row) for row in rows}


def of_policy(
    connection: Connection,
    tenant_id: UUID,
    policy_id: UUID = ALL,
    from_ns: int | None = None,
    to_ns: int | None = None,
) -> Counts:
    """The counts of one policy, or of all decisions; the times as for :func:`by_policy`."""
    query = _sums(tenant_id, from_ns, to_ns).where(table.c.policy_id == policy_id)
    return _counts(connection.execute(query).mappings().one())


def timeline(
    connection: Connection,
    tenant_id: UUID,
    policy_id: UUID,
    from_ns: int,
    to_ns: int,
    step_seconds: int,
) -> list[Step]:
    """The counts of each step that has any, the oldest first.

    Args:
        connection: a connection of the store.
        tenant_id: whose.
        policy_id: which, or :data:`ALL`.
        from_ns: as for :func:`by_policy`.
        to_ns: as for :func:`by_policy`.
        step_seconds: a multiple of 60; steps begin at multiples of it since 1970.

    Raises:
        ValueError: the step is no multiple of a minute.
    """
    minutes, seconds = divmod(step_seconds, 60)
    if seconds or minutes < 1:
        raise ValueError(f"a step is a multiple of 60 seconds, not {step_seconds}")
    start = (table.c.minute // minutes).label("start")
    query = _sums(tenant_id, from_ns, to_ns).where(table.c.policy_id == policy_id)
    rows = connection.execute(query.add_columns(start).group_by(start).order_by(start)).mappings()
    return [Step(row["start"] * minutes * MINUTE_NS, _counts(row)) for row in rows]


def _sums(tenant_id: UUID, from_ns: int | None, to_ns: int | None) -> Select[Any]:
    names = ("total", "monitor", "challenge", "block", "errors")
    query: Select[Any] = select(
        *(func.coalesce(func.sum(table.c[name]), 0).label(name) for name in names),
        func.max(table.c.last_match_ns).label("last_match_ns"),
    ).where(table.c.tenant_id == tenant_id)
    if from_ns is not None:
        query = query.where(table.c.minute >= from_ns // MINUTE_NS)
    if to_ns is not None:
        query = query.where(table.c.minute * MINUTE_NS < to_ns)
    return query


def _counts(row: RowMapping) -> Counts:
    return Counts(**{field.name: row[field.name] for field in attrs.fields(Counts)})
