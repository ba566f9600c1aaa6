"""Retention: deletes old data, a little at a time.

Appends wait while a step in the log runs, so each is small; repeat it until it deletes nothing.
Deleted decisions can neither be replayed at a start nor derived again, so take a snapshot and flush
the derived file first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import delete, func, select, tuple_

from tidegate_server.stores.decision_log.decisions import oldest_id
from tidegate_server.stores.decision_log.partition_log import drop
from tidegate_server.stores.index.results import MINUTE_NS
from tidegate_server.stores.rows.tables import (
    challenge_sessions,
    decision_log,
    definition_sets,
    definitions,
    field_catalog,
    kept_answers,
    passes,
    policy_versions,
    replay_jobs,
    result_counts,
    snapshot_parts,
    snapshots,
    spools,
    tenants,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

MAX_STEP = 2_000
"""Rows, or decisions of the log, deleted in one step: a few milliseconds."""
STEP_ROWS = 200
END_OF_TIME_NS = 2**63 - 1
_LARGE = (
    definitions,
    policy_versions,
    definition_sets,
    snapshots,
    snapshot_parts,
    kept_answers,
    challenge_sessions,
    passes,
    spools,
)
"""Tables with rows that aren't deleted together with their tenant, since there may be many."""


def prune(
    connection: Connection,
    tenant_id: UUID,
    before_ns: int,
    up_to_seq: int,
    limit: int = MAX_STEP,
) -> int:
    """Delete a tenant's decisions received before a time from the log; return how many rows.

    Args:
        connection: the connection of a write.
        tenant_id: the tenant.
        before_ns: decisions received before this time are deleted; a log row is as old as its
            newest decision.
        up_to_seq: later decisions stay; see :func:`safe_seq` and :meth:`Store.flush_derived
            <tidegate_server.stores.port.Store.flush_derived>`.
        limit: most decisions to delete; the first row may have more.
    """
    # A tenant's rows are in order of arrival, so the first that is young enough ends the search.
    rows = connection.execute(
        select(
            decision_log.c.first_seq,
            decision_log.c.count.label("entries"),
            decision_log.c.received_at_ns,
        )
        .where(decision_log.c.tenant_id == tenant_id)
        .order_by(decision_log.c.first_seq)
        .limit(max(1, limit // 16))
    ).all()
    seqs: list[int] = []
    last = entries = 0
    for row in rows:
        end = row.first_seq + row.entries - 1
        if row.received_at_ns >= before_ns or end > up_to_seq or (seqs and entries >= limit):
            break
        seqs.append(row.first_seq)
        last = end
        entries += row.entries
    if seqs:
        drop(connection, seqs, last)
    jobs = (
        select(replay_jobs.c.job_id)
        .where(replay_jobs.c.tenant_id == tenant_id, replay_jobs.c.finished_at_ns < before_ns)
        .limit(1)
    )
    finished = connection.execute(delete(replay_jobs).where(replay_jobs.c.job_id.in_(jobs)))
    return len(seqs) + finished.rowcount


def prune_derived(
    connection: Connection, tenant_id: UUID, before_ns: int, limit: int = MAX_STEP
) -> int:
    """Delete the rows derived from decisions received before a time, by whole minutes; return how
    many.

    Args:
        connection: the connection of ``Store.derive``.
        tenant_id: the tenant.
        before_ns: as for :func:`prune`.
        limit: most rows to delete from each table.
    """
    place = tuple(result_counts.primary_key.columns)[1:]
    is_old = result_counts.c.received_minute < before_ns // MINUTE_NS
    counts = select(*place).where(result_counts.c.tenant_id == tenant_id, is_old).limit(limit)
    deleted = connection.execute(
        delete(result_counts).where(
            result_counts.c.tenant_id == tenant_id, tuple_(*place).in_(counts)
        )
    ).rowcount
    names = delete(field_catalog).where(
        field_catalog.c.tenant_id == tenant_id,
        field_catalog.c.name != "",
        field_catalog.c.last_seen_at_ns < before_ns,
    )
    return deleted + connection.execute(names).rowcount


def newest_seq(connection: Connection, tenant_id: UUID, before_ns: int) -> int:
    """Number of a tenant's newest decision that is too old, by whole rows; 0 if there isn't one.

    Args:
        connection: a connection of the store.
        tenant_id: the tenant.
        before_ns: as for :func:`prune`.
    """
    newest = (
        select(decision_log.c.first_seq + decision_log.c.count - 1)
        .where(
            decision_log.c.tenant_id == tenant_id,
            decision_log.c.last_id < oldest_id(before_ns).bytes,
        )
        .order_by(decision_log.c.last_id.desc())
        .limit(1)
    )
    return connection.execute(newest).scalar() or 0


def safe_seq(connection: Connection, tenant_id: UUID) -> int:
    """The decision up to which a start needs nothing from the log, with any snapshot."""
    oldest = select(func.min(snapshots.c.seq)).where(snapshots.c.tenant_id == tenant_id)
    return connection.execute(oldest).scalar() or 0


def orphans(connection: Connection) -> list[UUID]:
    """Deleted tenants with rows left; see :func:`forget` and :func:`forget_derived`."""
    known = select(tenants.c.tenant_id)
    found: set[UUID] = set()
    for table in (decision_log, result_counts, field_catalog, *_LARGE):
        query = select(table.c.tenant_id).where(table.c.tenant_id.not_in(known)).limit(1)
        found.update(connection.execute(query).scalars())
    return sorted(found)


def forget(connection: Connection, tenant_id: UUID, limit: int = STEP_ROWS) -> int:
    """Delete one step of a deleted tenant's definitions, versions, snapshots and kept responses.

    Return how many rows.  The tenant's decisions are pruned separately.
    """
    for table in _LARGE:
        place = tuple(table.primary_key.columns)
        # A snapshot part is as large as hundreds of other rows, and a response may be too.
        most = 4 if table in (snapshot_parts, kept_answers) else limit
        found = select(*place).where(table.c.tenant_id == tenant_id).limit(most)
        deleted = connection.execute(delete(table).where(tuple_(*place).in_(found))).rowcount
        if deleted:
            return deleted
    return 0


def forget_derived(connection: Connection, tenant_id: UUID, limit: int = MAX_STEP) -> int:
    """Delete one step of the rows derived from a deleted tenant's decisions; return how many.

    The decisions themselves are pruned separately.
    """
    names = connection.execute(delete(field_catalog).where(field_catalog.c.tenant_id == tenant_id))
    return names.rowcount + prune_derived(connection, tenant_id, END_OF_TIME_NS, limit)
