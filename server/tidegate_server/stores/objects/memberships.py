"""Memberships: the roles of operators in tenants."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

import attrs
from sqlalchemy import and_, func, or_, select, update

from tidegate_server.stores.base import ConflictError, NotFoundError
from tidegate_server.stores.objects.operators import address_key
from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.tables import memberships as table
from tidegate_server.stores.rows.tables import operators

if TYPE_CHECKING:
    from sqlalchemy import Connection

_NAME = "membership"
OWNER = "Owner"
"""The role that a tenant always needs."""


@attrs.frozen(kw_only=True)
class Membership:
    """A role of an operator in a tenant."""

    tenant_id: UUID
    user_id: UUID
    role: str
    revision: int = 1
    created_at_ns: int
    updated_at_ns: int
    accepted_at_ns: int | None = None
    """The operator's first use; until then nothing about the operator is shown."""
    email: str | None = None
    """The address that was invited. Until somebody logs in with it, ``user_id`` is the membership's
    own and belongs to no operator."""


def put(
    connection: Connection,
    tenant_id: UUID,
    user_id: UUID,
    role: str,
    now_ns: int,
    *,
    expected_revision: int | None = None,
    accepted_at_ns: int | None = None,
    email: str | None = None,
) -> Membership:
    """Give an operator a role in a tenant, replacing any they have.

    The function does not check whether the operator exists, so no caller can find that out.

    Args:
        accepted_at_ns: set if a new membership is accepted from the start.
        email: address of a new membership with a ``user_id`` that belongs to no operator.

    Raises:
        ConflictError: it would leave the tenant without an Owner.
        NotFoundError: the tenant doesn't exist.
        StaleRevisionError: the membership is not at the expected revision.
    """
    key = _key(tenant_id, user_id)
    try:
        known = find(connection, tenant_id, user_id)
    except NotFoundError:
        if expected_revision is not None:
            raise
        new = Membership(
            tenant_id=tenant_id,
            user_id=user_id,
            role=role,
            created_at_ns=now_ns,
            updated_at_ns=now_ns,
            accepted_at_ns=accepted_at_ns,
            email=None if email is None else address_key(email),
        )
        records.add(connection, table, new)
        return new
    if role != OWNER:
        _keep_an_owner(connection, known)
    records.change(connection, table, _NAME, key, {"role": role}, now_ns, expected_revision)
    return find(connection, tenant_id, user_id)


def accept(connection: Connection, tenant_id: UUID, user_id: UUID, now_ns: int) -> None:
    """Record that an operator uses a membership, if it is not accepted yet."""
    connection.execute(
        update(table)
        .where(
            table.c.tenant_id == tenant_id,
            table.c.user_id == user_id,
            table.c.accepted_at_ns.is_(None),
        )
        .values(accepted_at_ns=now_ns)
    )


def is_invited(connection: Connection, email: str) -> bool:
    """Whether a tenant invited an address that nobody has logged in with since."""
    query = select(table.c.user_id).where(table.c.email == address_key(email))
    return connection.execute(query).first() is not None


def claim(connection: Connection, email: str, user_id: UUID, now_ns: int) -> list[Membership]:
    """Give an operator the memberships of an address, as accepted.

    If the operator is a member already, the role given later wins.

    Args:
        email: an address verified to be the operator's.

    Returns:
        The memberships that changed hands, as they were before.
    """
    query = select(table).where(table.c.email == address_key(email)).order_by(table.c.tenant_id)
    found = records.many(connection, query, Membership)
    for each in found:
        key = _key(each.tenant_id, each.user_id)
        try:
            own = find(connection, each.tenant_id, user_id)
        except NotFoundError:
            mine = {"user_id": user_id, "email": None, "accepted_at_ns": now_ns}
            records.change(connection, table, _NAME, key, mine, now_ns)
            continue
        records.remove(connection, table, _NAME, key)
        if each.updated_at_ns > own.updated_at_ns:
            with suppress(ConflictError):  # keep the last Owner
                put(connection, each.tenant_id, user_id, each.role, now_ns)
        accept(connection, each.tenant_id, user_id, now_ns)
    return found


def find_by_email(connection: Connection, tenant_id: UUID, email: str) -> Membership:
    """The membership of an address: one given to the address, else one that its operator accepted.

    A membership that the operator has not accepted is not found, so it can't reveal whose address
    it is.

    Raises:
        NotFoundError: it doesn't exist.
    """
    address = address_key(email)
    holder = select(operators.c.operator_id).where(operators.c.email == address).scalar_subquery()
    is_accepted = table.c.accepted_at_ns.is_not(None)
    query = (
        select(table)
        .where(
            table.c.tenant_id == tenant_id,
            or_(table.c.email == address, and_(table.c.user_id == holder, is_accepted)),
        )
        .order_by(table.c.email.is_(None))
    )
    found = records.many(connection, query, Membership)
    if not found:
        raise NotFoundError(_NAME)
    return found[0]


def find(connection: Connection, tenant_id: UUID, user_id: UUID) -> Membership:
    """A membership.

    Raises:
        NotFoundError: it doesn't exist.
    """
    return records.find(connection, table, Membership, _NAME, _key(tenant_id, user_id))


def page(
    connection: Connection, tenant_id: UUID, limit: int, after: UUID | None = None
) -> list[Membership]:
    """Memberships of a tenant by operator, starting after one."""
    query = (
        select(table).where(table.c.tenant_id == tenant_id).order_by(table.c.user_id).limit(limit)
    )
    if after is not None:
        query = query.where(table.c.user_id > after)
    return records.many(connection, query, Membership)


def of_operator(connection: Connection, user_id: UUID) -> list[Membership]:
    """All memberships of an operator."""
    query = select(table).where(table.c.user_id == user_id).order_by(table.c.tenant_id)
    return records.many(connection, query, Membership)


def delete(
    connection: Connection,
    tenant_id: UUID,
    user_id: UUID,
    *,
    expected_revision: int | None = None,
) -> None:
    """Remove an operator's role in a tenant.

    Raises:
        ConflictError: it would leave the tenant without an Owner.
        NotFoundError: the membership doesn't exist.
        StaleRevisionError: it is not at the expected revision.
    """
    _keep_an_owner(connection, find(connection, tenant_id, user_id))
    records.remove(connection, table, _NAME, _key(tenant_id, user_id), expected_revision)


def _keep_an_owner(connection: Connection, leaving: Membership) -> None:
    if leaving.role != OWNER:
        return
    others = connection.execute(
        select(func.count()).where(
            table.c.tenant_id == leaving.tenant_id,
            table.c.role == OWNER,
            table.c.user_id != leaving.user_id,
            # The operator of an unused membership may not exist.
            table.c.accepted_at_ns.is_not(None),
        )
    ).scalar_one()
    if not others:
        raise ConflictError("the last Owner of a tenant can be neither removed nor demoted")


def _key(tenant_id: UUID, user_id: UUID) -> dict[str, UUID]:
    return {"tenant_id": tenant_id, "user_id": user_id}
