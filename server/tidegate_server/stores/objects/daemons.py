"""Daemons of a tenant: each one's last report, and its last decision in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import attrs
from sqlalchemy import func, select

from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.dialects import upsert
from tidegate_server.stores.rows.tables import daemons as table
from tidegate_server.stores.rows.tables import spools

if TYPE_CHECKING:
    from sqlalchemy import Connection


@attrs.frozen(kw_only=True)
class Daemon:
    """A daemon as it last reported itself."""

    tenant_id: UUID
    daemon_id: UUID
    name: str
    version: str
    mode: str
    sequence: int
    """The number of the last change it has."""
    definitions_revision: int
    is_equal: bool
    """Whether the hash of its data matched the changes here."""
    behind: int
    """Changes it had not received by then."""
    spooled: int
    """Decisions it has yet to forward."""
    dropped: int
    """Decisions it could not keep."""
    first_seen_at_ns: int
    last_seen_at_ns: int


@attrs.frozen
class Forwarded:
    """The last decision of a spool within a block of the log."""

    daemon_id: UUID
    spool_id: UUID
    number: int


def put(connection: Connection, daemon: Daemon) -> None:
    """Store a daemon's report; the time it was first seen stays.

    Raises:
        NotFoundError: the tenant doesn't exist.
    """
    values = attrs.asdict(daemon, recurse=False)
    places = ("tenant_id", "daemon_id")
    changed = {name: values[name] for name in values if name not in (*places, "first_seen_at_ns")}
    statement = upsert.of(connection)(table).values(values)
    connection.execute(statement.on_conflict_do_update(index_elements=places, set_=changed))


def page(
    connection: Connection, tenant_id: UUID, limit: int, after: UUID | None = None
) -> list[Daemon]:
    """Daemons of a tenant by id, starting after one."""
    query = (
        select(table).where(table.c.tenant_id == tenant_id).order_by(table.c.daemon_id).limit(limit)
    )
    if after is not None:
        query = query.where(table.c.daemon_id > after)
    return records.many(connection, query, Daemon)


def longest_silent(connection: Connection, tenant_id: UUID, since_ns: int) -> int | None:
    """When the daemon that has been silent for the longest was last seen.

    Args:
        since_ns: daemons that were last seen before this time don't count.

    Returns:
        Nanoseconds since 1970; None without a daemon.
    """
    query = select(func.min(table.c.last_seen_at_ns)).where(
        table.c.tenant_id == tenant_id, table.c.last_seen_at_ns >= since_ns
    )
    found: int | None = connection.execute(query).scalar()
    return found


def forwarded(connection: Connection, tenant_id: UUID, daemon_id: UUID, spool_id: UUID) -> int:
    """The number of a spool's last decision in the log; 0 if there isn't one."""
    query = select(spools.c.number).where(
        spools.c.tenant_id == tenant_id,
        spools.c.daemon_id == daemon_id,
        spools.c.spool_id == spool_id,
    )
    found: int | None = connection.execute(query).scalar()
    return found or 0


def note_forwarded(connection: Connection, tenant_id: UUID, last: Forwarded) -> None:
    """Record the last decision of a spool, in the transaction that appends its decisions."""
    statement = upsert.of(connection)(spools).values(
        tenant_id=tenant_id,
        daemon_id=last.daemon_id,
        spool_id=last.spool_id,
        number=last.number,
    )
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=("tenant_id", "daemon_id", "spool_id"), set_={"number": last.number}
        )
    )
