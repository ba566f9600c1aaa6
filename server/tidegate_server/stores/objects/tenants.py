"""Tenants: everything else belongs to one, such as definitions, keys and decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
from sqlalchemy import func, select, update

from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.rows import records, tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

_NAME = "tenant"


@attrs.frozen(kw_only=True)
class Tenant:
    """A tenant.  ``definition_revision`` counts the changes of its definitions."""

    tenant_id: UUID
    name: str
    slug: str
    settings: Mapping[str, Any]
    definition_revision: int = 1
    revision: int = 1
    created_at_ns: int
    updated_at_ns: int
    partition_id: int = 0
    """The log partition that has its decisions."""


def create(connection: Connection, tenant: Tenant) -> None:
    """Add a tenant.

    Raises:
        ConflictError: another has its id, name or slug.
    """
    records.add(connection, tables.tenants, tenant)


def find(connection: Connection, tenant_id: UUID) -> Tenant:
    """A tenant.

    Raises:
        NotFoundError: it doesn't exist.
    """
    return records.find(connection, tables.tenants, Tenant, _NAME, {"tenant_id": tenant_id})


def find_by_slug(connection: Connection, slug: str) -> Tenant:
    """A tenant by its slug.

    Raises:
        NotFoundError: it doesn't exist.
    """
    return records.find(connection, tables.tenants, Tenant, _NAME, {"slug": slug})


def page(
    connection: Connection, limit: int, after: UUID | None = None, partition: int | None = None
) -> list[Tenant]:
    """Tenants by id, starting after one; all, or those in a partition."""
    query = records.of(Tenant, tables.tenants).order_by(tables.tenants.c.tenant_id).limit(limit)
    if after is not None:
        query = query.where(tables.tenants.c.tenant_id > after)
    if partition is not None:
        query = query.where(tables.tenants.c.partition_id == partition)
    return records.many(connection, query, Tenant)


def page_of_operator(
    connection: Connection, operator_id: UUID, limit: int, after: UUID | None = None
) -> list[Tenant]:
    """The tenants of an operator by id, starting after one."""
    query = (
        records.of(Tenant, tables.tenants)
        .join(tables.memberships, tables.memberships.c.tenant_id == tables.tenants.c.tenant_id)
        .where(tables.memberships.c.user_id == operator_id)
        .order_by(tables.tenants.c.tenant_id)
        .limit(limit)
    )
    if after is not None:
        query = query.where(tables.tenants.c.tenant_id > after)
    return records.many(connection, query, Tenant)


def change(
    connection: Connection,
    tenant_id: UUID,
    now_ns: int,
    *,
    expected_revision: int | None = None,
    **values: object,
) -> int:
    """Change ``name``, ``slug`` or ``settings``; return the new revision.

    Raises:
        ConflictError: another has this name or slug.
        NotFoundError: the tenant doesn't exist.
        StaleRevisionError: it is not at the expected revision.
    """
    key = {"tenant_id": tenant_id}
    return records.change(connection, tables.tenants, _NAME, key, values, now_ns, expected_revision)


def delete(
    connection: Connection, tenant_id: UUID, *, expected_revision: int | None = None
) -> None:
    """Delete a tenant with its keys and memberships.

    Large tables are cleared in small steps later. Without the tenant their rows can't be found; see
    :func:`tidegate_server.stores.retention.orphans`.

    Raises:
        NotFoundError: the tenant doesn't exist.
        StaleRevisionError: it is not at the expected revision.
    """
    key = {"tenant_id": tenant_id}
    records.remove(connection, tables.tenants, _NAME, key, expected_revision)


def generation(connection: Connection, tenant_id: UUID) -> int:
    """The stored definitions of a tenant that are in force.

    Raises:
        NotFoundError: the tenant doesn't exist.
    """
    table = tables.tenants
    found: int | None = connection.execute(
        select(table.c.definition_generation).where(table.c.tenant_id == tenant_id)
    ).scalar()
    if found is None:
        raise NotFoundError(_NAME)
    return found


def require(connection: Connection, tenant_id: UUID) -> None:
    """Check that a tenant exists before adding something to it.

    Raises:
        NotFoundError: the tenant doesn't exist.
    """
    generation(connection, tenant_id)


def count_definition_change(connection: Connection, tenant_id: UUID) -> int:
    """Count a change of a tenant's definitions; return the new number.

    Raises:
        NotFoundError: the tenant doesn't exist.
    """
    table = tables.tenants
    changed = connection.execute(
        update(table)
        .where(table.c.tenant_id == tenant_id)
        .values(definition_revision=table.c.definition_revision + 1)
        .returning(table.c.definition_revision)
    ).scalar()
    if changed is None:
        raise NotFoundError(_NAME)
    return int(changed)


def definition_revisions(connection: Connection, partition: int) -> dict[UUID, tuple[int, int]]:
    """The number of definition changes of each tenant in a partition, and the tenant's revision.

    An engine is built from settings too, so a change of either number means it must be rebuilt.
    """
    table = tables.tenants
    query = select(table.c.tenant_id, table.c.definition_revision, table.c.revision).where(
        table.c.partition_id == partition
    )
    return {tenant: (changes, revision) for tenant, changes, revision in connection.execute(query)}


def placements(connection: Connection, tenant_id: UUID | None = None) -> dict[UUID, int]:
    """The partition of each tenant, or of one."""
    table = tables.tenants
    query = select(table.c.tenant_id, table.c.partition_id)
    if tenant_id is not None:
        query = query.where(table.c.tenant_id == tenant_id)
    found = connection.execute(query)
    return {tenant_id: partition for tenant_id, partition in found}  # noqa: C416 - rows


def counts(connection: Connection) -> dict[int, int]:
    """The number of tenants in each partition that has any."""
    table = tables.tenants
    counted = select(table.c.partition_id, func.count()).group_by(table.c.partition_id)
    found = connection.execute(counted)
    return {partition: count for partition, count in found}  # noqa: C416 - rows


def least_loaded(connection: Connection, partitions: int) -> int:
    """The partition with the fewest tenants, or the first of several.

    Args:
        connection: a connection of the store.
        partitions: how many there are.
    """
    load = counts(connection)
    return min(range(partitions), key=lambda each: load.get(each, 0))
