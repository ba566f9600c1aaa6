"""Changes that are written in steps: hidden until they are complete, removed if they never are.

A change of thousands of objects would hold up the commits of decisions if it were one transaction.
Its rows in ``audit`` and ``policy_versions`` carry its id, and its definitions are a generation of
their own beside the one in force; nobody sees them while ``pending_changes`` knows the id.  The
last step, a short one, puts the generation in force and forgets the id, so all of the change
appears at once. After a kill before that, the next start finds the id and removes the rows that
carry it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
from sqlalchemy import delete, insert, or_, select, tuple_, update

from tidegate.stores.objects import tenants
from tidegate.stores.rows import records, tables
from tidegate.stores.rows.bulk import STEP_ROWS
from tidegate.stores.rows.tables import pending_changes as table

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection


@attrs.frozen
class PendingChange:
    """A change that is being written."""

    change_id: UUID
    tenant_id: UUID
    generation: int
    """The generation of its definitions, not in force yet; -1 when they are changed in place."""


def is_whole(change_id: Any) -> ColumnElement[bool]:
    """A condition: rows that have this id, or none, are visible."""
    return or_(change_id.is_(None), change_id.not_in(select(table.c.change_id)))


def begin(connection: Connection, change: PendingChange) -> None:
    """Hide the rows that the steps of a change will write."""
    connection.execute(insert(table).values(attrs.asdict(change)))


def finish(connection: Connection, change: PendingChange) -> None:
    """Show it."""
    connection.execute(delete(table).where(table.c.change_id == change.change_id))


def put_in_force(connection: Connection, change: PendingChange, removal_id: UUID) -> PendingChange:
    """Show a change whose definitions are a generation of their own.

    Args:
        connection: the connection of a write.
        change: a change all of whose steps are written.
        removal_id: id of the pending change that the former generation becomes.

    Returns:
        The change that is to be removed now.

    Raises:
        NotFoundError: there is no such tenant.
    """
    former = tenants.generation(connection, change.tenant_id)
    connection.execute(
        update(tables.tenants)
        .where(tables.tenants.c.tenant_id == change.tenant_id)
        .values(definition_generation=change.generation)
    )
    finish(connection, change)
    removal = PendingChange(removal_id, change.tenant_id, former)
    begin(connection, removal)
    return removal


def interrupted(connection: Connection, partition: int) -> list[PendingChange]:
    """Changes of which some step was written, but not the last.

    Args:
        connection: a connection of the store.
        partition: of the tenants whose changes nobody writes now; the first one has those of
            deleted tenants too.
    """
    found = records.many(connection, records.of(PendingChange, table), PendingChange)
    where = tenants.placements(connection)
    return [each for each in found if where.get(each.tenant_id, 0) == partition]


def remove(connection: Connection, change: PendingChange, limit: int = STEP_ROWS) -> int:
    """Remove some rows of an interrupted change; how many, 0 when none are left."""
    for part, place in (
        (tables.audit, (tables.audit.c.audit_id,)),
        (
            tables.policy_versions,
            tuple(tables.policy_versions.primary_key.columns),
        ),
    ):
        found = select(*place).where(part.c.change_id == change.change_id).limit(limit)
        deleted = connection.execute(delete(part).where(tuple_(*place).in_(found))).rowcount
        if deleted:
            return deleted
    deleted = remove_generations(connection, change.tenant_id, change.generation, limit)
    if not deleted:
        finish(connection, change)
    return deleted


def remove_generations(
    connection: Connection, tenant_id: UUID, generation: int, limit: int = STEP_ROWS
) -> int:
    """Delete a step of a generation of a tenant's definitions; how many rows."""
    part = tables.definitions
    place = tuple(part.primary_key.columns)
    found = (
        select(*place)
        .where(part.c.tenant_id == tenant_id, part.c.generation == generation)
        .limit(limit)
    )
    return connection.execute(delete(part).where(tuple_(*place).in_(found))).rowcount
