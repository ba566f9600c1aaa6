"""API keys as they are stored: everything but their text."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import attrs
from sqlalchemy import bindparam, or_, select, update

from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.columns import Id
from tidegate_server.stores.rows.tables import api_keys as table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

_NAME = "API key"


@attrs.frozen(kw_only=True)
class ApiKey:
    """A key, found by its public prefix and verified by the keyed hash of its secret."""

    api_key_id: UUID
    tenant_id: UUID
    name: str
    source_id: str | None = None
    trust_level: str = "External"
    can_sync: bool = False
    """Whether a daemon may read the definitions with it and forward its decisions."""
    rate_limit_per_minute: int
    prefix: str
    secret_hash: bytes = attrs.field(repr=False)
    previous_secret_hash: bytes | None = attrs.field(default=None, repr=False)
    """The secret before the last rotation, valid until ``previous_secret_until_ns``."""
    previous_secret_until_ns: int | None = None
    expires_at_ns: int | None = None
    revoked_at_ns: int | None = None
    last_used_at_ns: int | None = None
    revision: int = 1
    created_at_ns: int
    updated_at_ns: int


def create(connection: Connection, key: ApiKey) -> None:
    """Add a key.

    Raises:
        ConflictError: another key has its prefix, or another of the tenant has its name.
        NotFoundError: the tenant doesn't exist.
    """
    records.add(connection, table, key)


def find(connection: Connection, tenant_id: UUID, api_key_id: UUID) -> ApiKey:
    """A key of a tenant.

    Raises:
        NotFoundError: it doesn't exist.
    """
    return records.find(connection, table, ApiKey, _NAME, _key(tenant_id, api_key_id))


def page(
    connection: Connection, tenant_id: UUID, limit: int, after: UUID | None = None
) -> list[ApiKey]:
    """Keys of a tenant by id, starting after one, including revoked and expired ones."""
    query = (
        select(table)
        .where(table.c.tenant_id == tenant_id)
        .order_by(table.c.api_key_id)
        .limit(limit)
    )
    if after is not None:
        query = query.where(table.c.api_key_id > after)
    return records.many(connection, query, ApiKey)


def live(connection: Connection, now_ns: int) -> list[ApiKey]:
    """All active keys of all tenants."""
    query = select(table).where(
        table.c.revoked_at_ns.is_(None),
        or_(table.c.expires_at_ns.is_(None), table.c.expires_at_ns > now_ns),
    )
    return records.many(connection, query, ApiKey)


def change(
    connection: Connection,
    tenant_id: UUID,
    api_key_id: UUID,
    now_ns: int,
    *,
    expected_revision: int | None = None,
    **values: object,
) -> int:
    """Change a key's name, source, trust level, limit or expiry.

    Raises:
        ConflictError: another of the tenant has this name.
        NotFoundError: the key doesn't exist.
        StaleRevisionError: it is not at the expected revision.
    """
    key = _key(tenant_id, api_key_id)
    return records.change(connection, table, _NAME, key, values, now_ns, expected_revision)


def rotate(
    connection: Connection,
    tenant_id: UUID,
    api_key_id: UUID,
    secret_hash: bytes,
    previous_until_ns: int,
    now_ns: int,
    *,
    expected_revision: int | None = None,
) -> int:
    """Give a key a new secret; the old one stays valid until ``previous_until_ns``.

    Raises:
        NotFoundError: the key doesn't exist.
        StaleRevisionError: it is not at the expected revision.
    """
    values = {
        "secret_hash": secret_hash,
        "previous_secret_hash": table.c.secret_hash,
        "previous_secret_until_ns": previous_until_ns,
    }
    key = _key(tenant_id, api_key_id)
    return records.change(connection, table, _NAME, key, values, now_ns, expected_revision)


def revoke(
    connection: Connection,
    tenant_id: UUID,
    api_key_id: UUID,
    now_ns: int,
    *,
    expected_revision: int | None = None,
) -> int:
    """Revoke a key for good; a revoked key stays as it was.

    Raises:
        NotFoundError: the key doesn't exist.
        StaleRevisionError: it is not at the expected revision.
    """
    found = find(connection, tenant_id, api_key_id)
    if found.revoked_at_ns is not None and expected_revision in (None, found.revision):
        return found.revision
    key = _key(tenant_id, api_key_id)
    values = {"revoked_at_ns": now_ns}
    return records.change(connection, table, _NAME, key, values, now_ns, expected_revision)


def used(connection: Connection, last_used_at_ns: Mapping[UUID, int]) -> None:
    """Record when keys were last used; their revision doesn't change."""
    if last_used_at_ns:
        connection.execute(
            update(table)
            .where(table.c.api_key_id == bindparam("key", type_=Id))
            .values(last_used_at_ns=bindparam("at")),
            [{"key": key, "at": at} for key, at in last_used_at_ns.items()],
        )


def _key(tenant_id: UUID, api_key_id: UUID) -> dict[str, object]:
    return {"tenant_id": tenant_id, "api_key_id": api_key_id}
