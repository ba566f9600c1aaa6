"""Retention: what is too old is deleted, a little at a time.

Appends wait while a step runs, so each is small; call it again until it deletes nothing.
What was deleted from the log cannot be replayed at a start: take a snapshot before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import delete, func, select, tuple_

from tidegate.stores.counters import INDEXED_SEQ, counter
from tidegate.stores.decisions import oldest_id
from tidegate.stores.tables import (
    decision_log,
    decisions,
    field_catalog,
    replay_jobs,
    result_counts,
    snapshots,
    tenants,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

MAX_STEP = 2_000
"""Rows deleted at once: some 10 ms."""
END_OF_TIME_NS = 2**63 - 1


def prune(
    connection: Connection,
    tenant_id: UUID,
    before_ns: int,
    limit: int = MAX_STEP,
    up_to_seq: int = END_OF_TIME_NS,
) -> int:
    """Delete what is kept of a tenant's decisions received before a time; how many rows.

    Args:
        connection: the connection of a write.
        tenant_id: whose.
        before_ns: what was received before it goes; a log row goes with its newest decision.
        limit: rows deleted from each table at most.
        up_to_seq: decisions after this one stay; see :func:`safe_seq`.
    """
    deleted = 0
    old = (
        select(decisions.c.decision_id)
        .where(
            decisions.c.tenant_id == tenant_id,
            decisions.c.decision_id < oldest_id(before_ns),
            decisions.c.seq <= up_to_seq,
        )
        .order_by(decisions.c.decision_id)
        .limit(limit)
    )
    deleted += connection.execute(
        delete(decisions).where(
            decisions.c.tenant_id == tenant_id, decisions.c.decision_id.in_(old)
        )
    ).rowcount
    # Rows of a tenant lie in order of arrival: the first that is young enough ends the search.
    rows = connection.execute(
        select(decision_log.c.first_seq, decision_log.c.count, decision_log.c.received_at_ns)
        .where(
            decision_log.c.tenant_id == tenant_id,
            decision_log.c.first_seq <= counter(connection, INDEXED_SEQ),
        )
        .order_by(decision_log.c.first_seq)
        .limit(max(1, limit // 16))
    ).all()
    seqs = [
        row.first_seq
        for row in rows
        if row.received_at_ns < before_ns and row.first_seq + row.count - 1 <= up_to_seq
    ]
    if seqs:
        deleted += connection.execute(
            delete(decision_log).where(decision_log.c.first_seq.in_(seqs))
        ).rowcount
    place = (result_counts.c.policy_id, result_counts.c.minute)
    counts = (
        select(*place)
        .where(result_counts.c.tenant_id == tenant_id, result_counts.c.last_received_ns < before_ns)
        .limit(limit)
    )
    deleted += connection.execute(
        delete(result_counts).where(
            result_counts.c.tenant_id == tenant_id, tuple_(*place).in_(counts)
        )
    ).rowcount
    deleted += connection.execute(
        delete(field_catalog).where(
            field_catalog.c.tenant_id == tenant_id,
            field_catalog.c.name != "",
            field_catalog.c.last_seen_at_ns < before_ns,
        )
    ).rowcount
    jobs = (
        select(replay_jobs.c.job_id)
        .where(replay_jobs.c.tenant_id == tenant_id, replay_jobs.c.finished_at_ns < before_ns)
        .limit(1)
    )
    deleted += connection.execute(
        delete(replay_jobs).where(replay_jobs.c.job_id.in_(jobs))
    ).rowcount
    return deleted


def newest_seq(connection: Connection, tenant_id: UUID, before_ns: int) -> int:
    """Number of the newest of a tenant's decisions received before a time; 0 without any."""
    newest = (
        select(decisions.c.seq)
        .where(decisions.c.tenant_id == tenant_id, decisions.c.decision_id < oldest_id(before_ns))
        .order_by(decisions.c.decision_id.desc())
        .limit(1)
    )
    return connection.execute(newest).scalar() or 0


def safe_seq(connection: Connection, tenant_id: UUID) -> int:
    """Up to which decision a start needs nothing of the log, whichever snapshot it takes."""
    oldest = select(func.min(snapshots.c.seq)).where(snapshots.c.tenant_id == tenant_id)
    return connection.execute(oldest).scalar() or 0


def orphans(connection: Connection) -> list[UUID]:
    """Deleted tenants that decisions or names are still kept of; see :func:`forget`."""
    known = select(tenants.c.tenant_id)
    found: set[UUID] = set()
    for table in (decision_log, decisions, result_counts, field_catalog):
        query = select(table.c.tenant_id).where(table.c.tenant_id.not_in(known)).limit(1)
        found.update(connection.execute(query).scalars())
    return sorted(found)


def forget(connection: Connection, tenant_id: UUID, limit: int = MAX_STEP) -> int:
    """Delete what is kept of a deleted tenant, a step at a time; how many rows."""
    names = connection.execute(delete(field_catalog).where(field_catalog.c.tenant_id == tenant_id))
    return names.rowcount + prune(connection, tenant_id, END_OF_TIME_NS, limit)
