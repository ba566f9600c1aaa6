"""Changes written in steps: hidden until complete, removed if they never are.

A change of thousands of objects in one transaction would hold up the commits of decisions. So its
rows in ``audit`` and ``policy_versions`` carry its id, and its definitions are a separate
generation next to the one in force. Readers skip them while ``pending_changes`` has the id. The
last step, a short one, puts the generation in force and deletes the id, so the whole change appears
at once. If the process is killed before that, the next start finds the id and removes the rows that
carry it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
from sqlalchemy import delete, insert, or_, select, tuple_, update

from tidegate_server.stores.objects import tenants
from tidegate_server.stores.rows import records, tables
from tidegate_server.stores.rows.bulk import STEP_ROWS
from tidegate_server.stores.rows.tables import pending_changes as table

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection


@attrs.frozen
class PendingChange:
    """A change that is being written."""

    change_id: UUID
    tenant_id: UUID
    generation: int
    """The generation of its definitions, not in force yet; -1 if they are changed in place."""


def is_whole(change_id: Any) -> ColumnElement[bool]:
    """A condition that selects rows with this id, or with none."""
    return or_(change_id.is_(None), change_id.not_in(select(table.c.change_id)))


def begin(connection: Connection, change: PendingChange) -> None:
    """Hide the rows that the steps of a change will write."""
    connection.execute(insert(table).values(attrs.asdict(change)))


def finish(connection: Connection, change: PendingChange) -> None:
    """Show it."""
    connection.execute(delete(table).where(table.c.change_id == change.change_id))


def put_in_force(connection: Connection, change: PendingChange, removal_id: UUID) -> PendingChange:
    """Show a change whose definitions are a separate generation.

    Args:
        connection: the connection of a write.
        change: a change with all steps written.
        removal_id: id for the pending change that removes the former generation.

    Returns:
        The change to be removed now.

    Raises:
        NotFoundError: the tenant doesn't exist.
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
    """Changes with some step written, but not the last.

    Args:
        connection: a connection of the store.
        partition: the partition whose tenants' changes no one is writing now; the first partition
            includes deleted tenants.
    """
    found = records.many(connection, records.of(PendingChange, table), PendingChange)
    where = tenants.placements(connection)
    return [each for each in found if where.get(each.tenant_id, 0) == partition]


def remove(connection: Connection, change: PendingChange, limit: int = STEP_ROWS) -> int:
    """Remove some rows of an interrupted change; return how many, 0 when none are left."""
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
    """Delete one step of a generation of a tenant's definitions; return how many rows."""
    part = tables.definitions
    place = tuple(part.primary_key.columns)
    found = (
        select(*place)
        .where(part.c.tenant_id == tenant_id, part.c.generation == generation)
        .limit(limit)
    )
    return connection.execute(delete(part).where(tuple_(*place).in_(found))).rowcount
