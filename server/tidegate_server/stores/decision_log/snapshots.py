"""Snapshots of the engines' state, so that a start needn't read most of the log.

A state may take many megabytes. It is written in small parts, so that no commit carries all of it.
It becomes valid with the last row, which has the number of parts. If the process is killed before
that, the previous snapshot still exists, and the next one removes the parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

import attrs
from sqlalchemy import delete, func, insert, select, tuple_

from tidegate_server.stores.base import DamagedLogError
from tidegate_server.stores.decision_log.log import Packing, unpack_pieces
from tidegate_server.stores.objects import tenants
from tidegate_server.stores.rows import tables
from tidegate_server.stores.rows.tables import snapshot_parts
from tidegate_server.stores.rows.tables import snapshots as table

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

MAX_BYTES = 8 * 1024 * 1024 * 1024
"""The most that a snapshot may unpack to: millions of keys with dozens of windows each."""
PART_BYTES = 256 * 1024
"""Size of a part: a commit that carries one takes a millisecond longer."""
KEPT = 2
"""Keep the newest, and the one before it in case the newest is damaged."""


class State(Protocol):
    """A state that can be stored as a snapshot."""

    @property
    def tenant_id(self) -> UUID: ...

    @property
    def seq(self) -> int: ...

    @property
    def revision(self) -> int: ...

    @property
    def created_at_ns(self) -> int: ...

    def write(self, take: Callable[[bytes], object], /) -> None:
        """Produce the state as JSON, in pieces: a large one is never in memory as a whole."""


@attrs.frozen(kw_only=True)
class Snapshot:
    """The state of a tenant's engine after the decision ``seq``."""

    tenant_id: UUID
    seq: int
    revision: int
    """Revision of the definitions that made it."""
    body: bytes = attrs.field(repr=False)
    created_at_ns: int

    def write(self, take: Callable[[bytes], object]) -> None:
        """See :meth:`State.write`."""
        take(self.body)


def save(connection: Connection, snapshot: State) -> None:
    """Store a snapshot in one transaction, and delete those before the last two.

    Raises:
        NotFoundError: the tenant doesn't exist.
    """
    for step in steps(snapshot):
        step(connection)
    while tidy(connection, snapshot.tenant_id):
        pass


def steps(snapshot: State) -> list[Callable[[Connection], None]]:
    """The small writes that save a snapshot, one after another; :func:`tidy` follows them.

    Compressing a large state takes long, so it is done here, where no caller waits, not on the
    writing thread.
    """
    packing = Packing()
    snapshot.write(packing.add)
    body = memoryview(packing.finish())
    parts = [body[start : start + PART_BYTES] for start in range(0, len(body), PART_BYTES)]
    return [
        partial(_forget, snapshot=snapshot),
        *(partial(_write, snapshot=snapshot, part=at, body=each) for at, each in enumerate(parts)),
        partial(_finish, snapshot=snapshot, parts=len(parts)),
    ]


def tidy(connection: Connection, tenant_id: UUID, limit: int = 4) -> int:
    """Remove parts of a tenant's snapshots that are no longer kept, or were never completed.

    Args:
        connection: the connection of a write.
        tenant_id: the tenant; none of its snapshots is being written now.
        limit: most parts to remove.

    Returns:
        How many were removed; 0 when none are left.
    """
    place = (snapshot_parts.c.seq, snapshot_parts.c.part)
    kept = select(table.c.seq).where(table.c.tenant_id == tenant_id)
    left = (
        select(*place)
        .where(snapshot_parts.c.tenant_id == tenant_id, snapshot_parts.c.seq.not_in(kept))
        .limit(limit)
    )
    return connection.execute(
        delete(snapshot_parts).where(
            snapshot_parts.c.tenant_id == tenant_id, tuple_(*place).in_(left)
        )
    ).rowcount


def _forget(connection: Connection, snapshot: State) -> None:
    """Remove an existing snapshot for the same decision."""
    tenants.require(connection, snapshot.tenant_id)
    for each in (table, snapshot_parts):
        connection.execute(
            delete(each).where(each.c.tenant_id == snapshot.tenant_id, each.c.seq == snapshot.seq)
        )


def _write(connection: Connection, snapshot: State, part: int, body: memoryview) -> None:
    tenants.require(connection, snapshot.tenant_id)
    connection.execute(
        insert(snapshot_parts).values(
            tenant_id=snapshot.tenant_id, seq=snapshot.seq, part=part, body=body
        )
    )


def _finish(connection: Connection, snapshot: State, parts: int) -> None:
    tenants.require(connection, snapshot.tenant_id)
    connection.execute(
        insert(table).values(
            tenant_id=snapshot.tenant_id,
            seq=snapshot.seq,
            revision=snapshot.revision,
            parts=parts,
            created_at_ns=snapshot.created_at_ns,
        )
    )
    kept = (
        select(table.c.seq)
        .where(table.c.tenant_id == snapshot.tenant_id)
        .order_by(table.c.seq.desc())
        .limit(KEPT)
    )
    connection.execute(
        delete(table).where(table.c.tenant_id == snapshot.tenant_id, table.c.seq.not_in(kept))
    )


def newest(
    connection: Connection, tenant_id: UUID, before_seq: int | None = None
) -> Iterator[Snapshot]:
    """The snapshots of a tenant, the newest first; damaged ones are skipped.

    Args:
        connection: a connection of the store.
        tenant_id: the tenant.
        before_seq: only snapshots taken before this decision.

    If one does not fit the engine, try the previous one: it needs more of the log and gives the
    same state.
    """
    query = select(table).where(table.c.tenant_id == tenant_id).order_by(table.c.seq.desc())
    if before_seq is not None:
        query = query.where(table.c.seq < before_seq)
    for row in connection.execute(query).all():
        parts = (
            select(snapshot_parts.c.body)
            .where(snapshot_parts.c.tenant_id == tenant_id, snapshot_parts.c.seq == row.seq)
            .order_by(snapshot_parts.c.part)
        )
        packed = b"".join(connection.execute(parts).scalars())
        try:
            body = unpack_pieces(row.seq, packed, MAX_BYTES)
        except DamagedLogError:
            continue
        yield Snapshot(
            tenant_id=tenant_id,
            seq=row.seq,
            revision=row.revision,
            body=body,
            created_at_ns=row.created_at_ns,
        )


def newest_seq(connection: Connection) -> int:
    """The last decision in any snapshot; 0 without snapshots."""
    return connection.execute(select(func.max(table.c.seq))).scalar() or 0


def newest_ns(connection: Connection, tenant_id: UUID) -> int | None:
    """The time of a tenant's newest snapshot; None if there isn't one."""
    newest = select(func.max(table.c.created_at_ns)).where(table.c.tenant_id == tenant_id)
    return connection.execute(newest).scalar()


def oldest_newest_ns(connection: Connection) -> int | None:
    """The time of the last snapshot for the tenant that has waited longest for its next one."""
    newest = select(func.max(table.c.created_at_ns).label("at")).group_by(table.c.tenant_id)
    return connection.execute(select(func.min(newest.subquery().c.at))).scalar()


def oldest_newest_seq(connection: Connection, partition: int) -> int:
    """The smallest decision number among the tenants' newest snapshots; 0 if a tenant of the
    partition has none."""
    newest = (
        select(func.coalesce(func.max(table.c.seq), 0).label("seq"))
        .select_from(
            tables.tenants.outerjoin(table, table.c.tenant_id == tables.tenants.c.tenant_id)
        )
        .where(tables.tenants.c.partition_id == partition)
        .group_by(tables.tenants.c.tenant_id)
    )
    return connection.execute(select(func.min(newest.subquery().c.seq))).scalar() or 0
