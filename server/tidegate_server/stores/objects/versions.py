"""Versions of policies: every save is kept permanently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
from sqlalchemy import func, insert, select

from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.objects import pending, tenants
from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.tables import policy_versions as table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection


@attrs.frozen(kw_only=True)
class PolicyVersion:
    """A saved policy; versions of a policy count from 1."""

    tenant_id: UUID
    policy_id: UUID
    version: int
    body: Mapping[str, Any]
    actor: str
    created_at_ns: int


def save(
    connection: Connection,
    tenant_id: UUID,
    policy_id: UUID,
    body: Mapping[str, Any],
    actor: str,
    now_ns: int,
) -> int:
    """Store a saved policy; return the version number.

    Raises:
        NotFoundError: the tenant doesn't exist.
    """
    tenants.require(connection, tenant_id)
    last = connection.execute(
        select(func.max(table.c.version)).where(
            table.c.tenant_id == tenant_id, table.c.policy_id == policy_id
        )
    ).scalar()
    version = (last or 0) + 1
    connection.execute(
        insert(table).values(
            tenant_id=tenant_id,
            policy_id=policy_id,
            version=version,
            body=body,
            actor=actor,
            created_at_ns=now_ns,
        )
    )
    return version


def last_numbers(
    connection: Connection, tenant_id: UUID, policy_ids: Sequence[UUID]
) -> dict[UUID, int]:
    """The newest version number of each policy that has one, including hidden ones."""
    query = (
        select(table.c.policy_id, func.max(table.c.version).label("last"))
        .where(table.c.tenant_id == tenant_id)
        .group_by(table.c.policy_id)
    )
    if len(policy_ids) == 1:
        query = query.where(table.c.policy_id == policy_ids[0])
    return {row.policy_id: row.last for row in connection.execute(query)}


def find(connection: Connection, tenant_id: UUID, policy_id: UUID, version: int) -> PolicyVersion:
    """A version.

    Raises:
        NotFoundError: it doesn't exist.
    """
    query = records.of(PolicyVersion, table).where(
        table.c.tenant_id == tenant_id,
        table.c.policy_id == policy_id,
        table.c.version == version,
        pending.is_whole(table.c.change_id),
    )
    found = records.many(connection, query, PolicyVersion)
    if not found:
        raise NotFoundError("version")
    return found[0]


def page(
    connection: Connection,
    tenant_id: UUID,
    policy_id: UUID,
    limit: int,
    before: int | None = None,
) -> list[PolicyVersion]:
    """Versions of a policy, the newest first, starting before one."""
    query = (
        records.of(PolicyVersion, table)
        .where(
            table.c.tenant_id == tenant_id,
            table.c.policy_id == policy_id,
            pending.is_whole(table.c.change_id),
        )
        .order_by(table.c.version.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(table.c.version < before)
    return records.many(connection, query, PolicyVersion)
