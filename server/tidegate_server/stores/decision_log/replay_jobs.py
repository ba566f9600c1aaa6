"""Replay jobs: they run draft definitions over recorded events and find differing decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import UUID

import attrs
from sqlalchemy import insert, select, update

from tidegate_server.stores.base import ConflictError
from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.tables import replay_differences, replay_jobs, tenants

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

Status: TypeAlias = Literal["queued", "running", "done", "failed", "cancelled"]
ENDED = ("done", "failed", "cancelled")
_NAME = "replay job"


@attrs.frozen(kw_only=True)
class ReplayJob:
    """A job.  ``request`` is the caller's request, ``result`` the counts by outcome."""

    job_id: UUID
    tenant_id: UUID
    status: Status = "queued"
    request: Mapping[str, Any]
    progress: int = 0
    """Events replayed so far."""
    result: Mapping[str, Any] | None = None
    error: str | None = None
    actor: str
    started_at_ns: int | None = None
    finished_at_ns: int | None = None
    revision: int = 1
    created_at_ns: int
    updated_at_ns: int


@attrs.frozen(kw_only=True)
class Difference:
    """A recorded decision that the draft decides differently."""

    ordinal: int
    decision_id: UUID
    recorded: Mapping[str, Any]
    replayed: Mapping[str, Any]


def create(connection: Connection, job: ReplayJob, draft: bytes | None = None) -> None:
    """Add a job, and its draft in the caller's format.

    Raises:
        NotFoundError: the tenant doesn't exist.
    """
    row = attrs.asdict(job, recurse=False)
    connection.execute(insert(replay_jobs).values(**row, draft=draft))


def draft_of(connection: Connection, tenant_id: UUID, job_id: UUID) -> bytes | None:
    """The draft of a job, read by nothing else here: it may have megabytes."""
    return connection.execute(
        select(replay_jobs.c.draft).where(
            replay_jobs.c.tenant_id == tenant_id, replay_jobs.c.job_id == job_id
        )
    ).scalar()


def find(connection: Connection, tenant_id: UUID, job_id: UUID) -> ReplayJob:
    """A job.

    Raises:
        NotFoundError: the tenant has no job with this id.
    """
    key = {"tenant_id": tenant_id, "job_id": job_id}
    return records.find(connection, replay_jobs, ReplayJob, _NAME, key)


def page(
    connection: Connection, tenant_id: UUID, limit: int, before: UUID | None = None
) -> list[ReplayJob]:
    """Jobs of a tenant, the newest first, starting before one."""
    query = (
        records.of(ReplayJob, replay_jobs)
        .where(replay_jobs.c.tenant_id == tenant_id)
        .order_by(replay_jobs.c.job_id.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(replay_jobs.c.job_id < before)
    return records.many(connection, query, ReplayJob)


def is_busy(connection: Connection, tenant_id: UUID) -> bool:
    """Whether a tenant has a waiting or running job."""
    query = select(replay_jobs.c.job_id).where(
        replay_jobs.c.tenant_id == tenant_id, replay_jobs.c.status.not_in(ENDED)
    )
    return connection.execute(query.limit(1)).first() is not None


def start(connection: Connection, tenant_id: UUID, job_id: UUID, now_ns: int) -> ReplayJob:
    """Record that a waiting job runs now.

    Raises:
        ConflictError: the job was cancelled, or is running already.
        NotFoundError: the job doesn't exist.
    """
    job = find(connection, tenant_id, job_id)
    if job.status != "queued":
        raise ConflictError(f"the replay job is {job.status}")
    return _change(connection, job, now_ns, status="running", started_at_ns=now_ns)


def advance(
    connection: Connection,
    tenant_id: UUID,
    job_id: UUID,
    progress: int,
    differences: Sequence[Difference],
    now_ns: int,
) -> ReplayJob:
    """Record the progress of a running job, and the differences found since.

    Raises:
        ConflictError: the job was cancelled, or is over.
        NotFoundError: the job doesn't exist.
    """
    job = _running(connection, tenant_id, job_id)
    if differences:
        rows = [{"job_id": job_id, **attrs.asdict(each, recurse=False)} for each in differences]
        connection.execute(insert(replay_differences), rows)
    return _change(connection, job, now_ns, progress=progress)


def finish(
    connection: Connection, tenant_id: UUID, job_id: UUID, result: Mapping[str, Any], now_ns: int
) -> ReplayJob:
    """End a running job with its counts.

    Raises:
        ConflictError: the job was cancelled, or is over.
        NotFoundError: the job doesn't exist.
    """
    job = _running(connection, tenant_id, job_id)
    return _change(connection, job, now_ns, status="done", result=result, finished_at_ns=now_ns)


def fail(
    connection: Connection, tenant_id: UUID, job_id: UUID, error: str, now_ns: int
) -> ReplayJob:
    """End a running job with the reason it could not continue.

    Raises:
        ConflictError: the job was cancelled, or is over.
        NotFoundError: the job doesn't exist.
    """
    job = _running(connection, tenant_id, job_id)
    return _change(connection, job, now_ns, status="failed", error=error, finished_at_ns=now_ns)


def cancel(connection: Connection, tenant_id: UUID, job_id: UUID, now_ns: int) -> ReplayJob:
    """End a waiting or running job; a finished one stays as it is.

    Raises:
        NotFoundError: the job doesn't exist.
    """
    job = find(connection, tenant_id, job_id)
    if job.status in ENDED:
        return job
    return _change(connection, job, now_ns, status="cancelled", finished_at_ns=now_ns)


def fail_interrupted(connection: Connection, now_ns: int, partition: int) -> int:
    """Fail the jobs of a partition's tenants that waited or ran when its owner stopped; return how
    many."""
    owned = select(tenants.c.tenant_id).where(tenants.c.partition_id == partition)
    return connection.execute(
        update(replay_jobs)
        .where(replay_jobs.c.status.not_in(ENDED), replay_jobs.c.tenant_id.in_(owned))
        .values(
            status="failed",
            error="the service was stopped before the job ended",
            finished_at_ns=now_ns,
            updated_at_ns=now_ns,
            revision=replay_jobs.c.revision + 1,
        )
    ).rowcount


def differences(
    connection: Connection,
    tenant_id: UUID,
    job_id: UUID,
    limit: int,
    after: int = -1,
    decision_id: UUID | None = None,
) -> list[Difference]:
    """The differences that a job found, in order, after an ordinal; optionally of one decision.

    Raises:
        NotFoundError: the job doesn't exist.
    """
    find(connection, tenant_id, job_id)
    columns = [replay_differences.c[field.name] for field in attrs.fields(Difference)]
    query = (
        select(*columns)
        .where(replay_differences.c.job_id == job_id, replay_differences.c.ordinal > after)
        .order_by(replay_differences.c.ordinal)
        .limit(limit)
    )
    if decision_id is not None:
        query = query.where(replay_differences.c.decision_id == decision_id)
    return records.many(connection, query, Difference)


def _running(connection: Connection, tenant_id: UUID, job_id: UUID) -> ReplayJob:
    job = find(connection, tenant_id, job_id)
    if job.status != "running":
        raise ConflictError(f"the replay job is {job.status}")
    return job


def _change(connection: Connection, job: ReplayJob, now_ns: int, **values: object) -> ReplayJob:
    key = {"tenant_id": job.tenant_id, "job_id": job.job_id}
    records.change(connection, replay_jobs, _NAME, key, values, now_ns)
    return find(connection, job.tenant_id, job.job_id)
