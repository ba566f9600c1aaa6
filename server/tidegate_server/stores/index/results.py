"""Results of policies: counts by policy and time.

Derived from the log, by the minutes in which events were observed and received.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
from sqlalchemy import Select, func, select

from tidegate_server.stores.decision_log.decisions import END_NS, Clock
from tidegate_server.stores.index.derived import indexed_seq
from tidegate_server.stores.rows.tables import decision_log
from tidegate_server.stores.rows.tables import result_counts as table

if TYPE_CHECKING:
    from sqlalchemy import Connection, RowMapping

ALL = UUID(int=0)
"""Used in place of a policy for all decisions of the tenant."""
MINUTE_NS = 60_000_000_000


@attrs.frozen(kw_only=True)
class Period:
    """A span of time, open where it has no end.

    Args:
        from_ns: from this time's minute on.
        to_ns: up to this time; its minute counts in full.
        clock: the decision's time that is meant.
    """

    from_ns: int | None = None
    to_ns: int | None = None
    clock: Clock = "observed"


ALWAYS = Period()


@attrs.frozen(kw_only=True)
class Counts:
    """Numbers of decisions by answer.

    For a policy, these are the decisions in which one of its clauses fired. ``challenge`` and
    ``block`` are answers that it gave itself, so the sum over all policies is the number of answers
    given. ``allow + challenge + block + by_others`` is ``total``.
    """

    total: int = 0
    allow: int = 0
    challenge: int = 0
    block: int = 0
    by_others: int = 0
    """For a policy: decisions challenged or blocked by another policy, or by the end of the budget.
    """
    monitor: int = 0
    """Decisions in which only Monitor clauses fired, whatever the answer."""
    errors: int = 0
    """Decisions in which an expression failed."""
    last_match_ns: int | None = None
    """The newest, by the period's clock."""


@attrs.frozen
class Step:
    """The counts of one time step."""

    start_ns: int
    counts: Counts


def by_policy(
    connection: Connection, tenant_id: UUID, period: Period = ALWAYS
) -> dict[UUID, Counts]:
    """The counts of every policy that fired or failed, and of :data:`ALL` decisions."""
    query = _sums(tenant_id, period).add_columns(table.c.policy_id)
    rows = connection.execute(query.group_by(table.c.policy_id)).mappings()
    return {row["policy_id"]: _counts(row) for row in rows}


def of_policy(
    connection: Connection, tenant_id: UUID, policy_id: UUID = ALL, period: Period = ALWAYS
) -> Counts:
    """The counts of one policy, or of all decisions."""
    query = _sums(tenant_id, period).where(table.c.policy_id == policy_id)
    return _counts(connection.execute(query).mappings().one())


def timeline(
    connection: Connection, tenant_id: UUID, policy_id: UUID, period: Period, step_seconds: int
) -> list[Step]:
    """The counts of each non-empty step, the oldest first.

    Args:
        connection: a connection of the store.
        tenant_id: the tenant.
        policy_id: the policy, or :data:`ALL`.
        period: the time that the steps cover.
        step_seconds: a multiple of 60; steps begin at multiples of it since 1970.

    Raises:
        ValueError: the step isn't a multiple of a minute.
    """
    minutes, seconds = divmod(step_seconds, 60)
    if seconds or minutes < 1:
        raise ValueError(f"a step is a multiple of 60 seconds, not {step_seconds}")
    start = (_minute(period.clock) // minutes).label("start")
    query = _sums(tenant_id, period).where(table.c.policy_id == policy_id)
    rows = connection.execute(query.add_columns(start).group_by(start).order_by(start)).mappings()
    return [Step(row["start"] * minutes * MINUTE_NS, _counts(row)) for row in rows]


def totals_by_policy(
    connection: Connection, tenant_id: UUID, period: Period, step_seconds: int
) -> dict[int, dict[UUID, int]]:
    """The number of decisions each policy fired in, for each non-empty step.

    Args:
        connection: a connection of the store.
        tenant_id: the tenant.
        period: the time that the steps cover.
        step_seconds: as for :func:`timeline`.

    Returns:
        By the time the step begins, in nanoseconds since 1970.
    """
    minutes = step_seconds // 60
    start = (_minute(period.clock) // minutes).label("start")
    query = select(start, table.c.policy_id, func.sum(table.c.total).label("total"))
    query = _within(query, tenant_id, period).where(table.c.policy_id != ALL)
    found: dict[int, dict[UUID, int]] = {}
    for row in connection.execute(query.group_by(start, table.c.policy_id)):
        found.setdefault(row.start * minutes * MINUTE_NS, {})[row.policy_id] = row.total
    return found


def received(connection: Connection, tenant_id: UUID, period: Period) -> list[tuple[int, int]]:
    """When a period's decisions were received: spans of whole minutes, the newest first.

    A search for old events reads little else, whenever they arrived. Each span is its first time
    and the first time after it, in nanoseconds since 1970. The first span may cover decisions that
    are not counted yet.
    """
    minute = table.c.received_minute
    minutes = _within(select(minute).distinct(), tenant_id, period)
    found = minutes.where(table.c.policy_id == ALL).subquery().c.received_minute
    # Consecutive minutes have a constant distance from their row numbers.
    island = (found - func.row_number().over(order_by=found)).label("island")
    spans = select(found.label("minute"), island).subquery()
    rows = connection.execute(
        select(func.min(spans.c.minute).label("first"), func.max(spans.c.minute).label("last"))
        .group_by(spans.c.island)
        .order_by(func.max(spans.c.minute).desc())
    )
    counted = [(row.first * MINUTE_NS, (row.last + 1) * MINUTE_NS) for row in rows]
    rest = (
        select(decision_log.c.first_id)
        .where(
            decision_log.c.tenant_id == tenant_id,
            decision_log.c.first_seq > indexed_seq(connection),
        )
        .order_by(decision_log.c.first_id)
        .limit(1)
    )
    oldest: bytes | None = connection.execute(rest).scalar()
    # An id begins with its milliseconds.
    uncounted = [] if oldest is None else [(int.from_bytes(oldest[:6]) * 1_000_000, END_NS)]
    return uncounted + counted


def _sums(tenant_id: UUID, period: Period) -> Select[Any]:
    names = [each.name for each in attrs.fields(Counts) if each.name != "last_match_ns"]
    last = table.c.last_observed_ns if period.clock == "observed" else table.c.last_received_ns
    query: Select[Any] = select(
        *(func.coalesce(func.sum(table.c[name]), 0).label(name) for name in names),
        func.max(last).label("last_match_ns"),
    )
    return _within(query, tenant_id, period)


def _within(query: Select[Any], tenant_id: UUID, period: Period) -> Select[Any]:
    query = query.where(table.c.tenant_id == tenant_id)
    minute = _minute(period.clock)
    if period.from_ns is not None:
        query = query.where(minute >= period.from_ns // MINUTE_NS)
    if period.to_ns is not None:
        query = query.where(minute < -(-period.to_ns // MINUTE_NS))
    return query


def _minute(clock: Clock) -> Any:
    return table.c.observed_minute if clock == "observed" else table.c.received_minute


def _counts(row: RowMapping) -> Counts:
    return Counts(**{field.name: row[field.name] for field in attrs.fields(Counts)})
