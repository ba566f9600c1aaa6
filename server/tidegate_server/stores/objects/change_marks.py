"""Marks in the change feed of daemons: with the decision log they rebuild the feed.

Each revision of the definitions is followed by a mark.  A restart begins at one of the last marks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import attrs
from sqlalchemy import delete, select

from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.dialects import upsert
from tidegate_server.stores.rows.tables import change_marks as table

if TYPE_CHECKING:
    from sqlalchemy import Connection

KEPT = 16
"""Marks kept per tenant."""


@attrs.frozen
class Mark:
    """A position in a tenant's change feed.

    Args:
        tenant_id: the tenant.
        sequence: number of the change before the mark.
        hash: the hash after that change, 32 bytes.
        seq: number of the last line in the decision log before that change.
        revision: revision of the definitions active there.
    """

    tenant_id: UUID
    sequence: int
    hash: bytes
    seq: int
    revision: int


def all_of(connection: Connection, tenant_id: UUID) -> list[Mark]:
    """The marks of a tenant, in order."""
    query = select(table).where(table.c.tenant_id == tenant_id).order_by(table.c.sequence)
    return records.many(connection, query, Mark)


def tenants(connection: Connection) -> list[UUID]:
    """Tenants with changes that a daemon followed."""
    return list(connection.execute(select(table.c.tenant_id).distinct()).scalars())


def begin(connection: Connection, mark: Mark) -> None:
    """Add the first mark of a feed that starts over."""
    connection.execute(delete(table).where(table.c.tenant_id == mark.tenant_id))
    records.add(connection, table, mark)


def add(connection: Connection, mark: Mark) -> None:
    """Add a mark, and delete the oldest if there are too many."""
    statement = upsert.of(connection)(table).values(attrs.asdict(mark))
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=("tenant_id", "sequence"), set_={"seq": mark.seq}
        )
    )
    known = select(table.c.sequence).where(table.c.tenant_id == mark.tenant_id)
    last = known.order_by(table.c.sequence.desc()).offset(KEPT).limit(1).scalar_subquery()
    connection.execute(
        delete(table).where(table.c.tenant_id == mark.tenant_id, table.c.sequence <= last)
    )
