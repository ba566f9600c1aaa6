"""Alerts of tenants: what each watches, its state, and messages that nobody has taken yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
from sqlalchemy import delete, func, select, update

from tidegate_server.stores.objects.tenants import Tenant
from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.dialects import upsert
from tidegate_server.stores.rows.tables import alert_messages as messages_table
from tidegate_server.stores.rows.tables import alerts as table
from tidegate_server.stores.rows.tables import tenants

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from sqlalchemy import Connection

_NAME = "alert"


@attrs.frozen(kw_only=True)
class Alert:
    """An alert.

    Attributes:
        body: the condition, and where messages go.
        state: what the evaluation remembers; None before the first one. It changes without a new
            revision.
        dropped: messages that no receiver took in time.
    """

    alert_id: UUID
    tenant_id: UUID
    name: str
    body: Mapping[str, Any] = attrs.field(repr=False)
    state: Mapping[str, Any] | None = None
    dropped: int = 0
    revision: int = 1
    created_at_ns: int
    updated_at_ns: int


@attrs.frozen(kw_only=True)
class AlertMessage:
    """A message on its way to one receiver.

    Attributes:
        message_id: the same for each attempt.
        destination: the receiver, as the alert names it.
        body: the alerts that it is about.
        next_at_ns: when it is sent.
        error: why the last attempt failed.
    """

    message_id: UUID
    tenant_id: UUID
    destination: Mapping[str, Any] = attrs.field(repr=False)
    body: Mapping[str, Any]
    created_at_ns: int
    attempts: int = 0
    next_at_ns: int
    error: str = ""


def create(connection: Connection, alert: Alert) -> None:
    """Add an alert.

    Raises:
        ConflictError: another alert of the tenant has its name.
        NotFoundError: the tenant doesn't exist.
    """
    records.add(connection, table, alert)


def find(connection: Connection, tenant_id: UUID, alert_id: UUID) -> Alert:
    """An alert of a tenant.

    Raises:
        NotFoundError: it doesn't exist.
    """
    return records.find(connection, table, Alert, _NAME, _key(tenant_id, alert_id))


def page(
    connection: Connection, tenant_id: UUID, limit: int, after: UUID | None = None
) -> list[Alert]:
    """Alerts of a tenant by id, starting after one."""
    query = (
        records.of(Alert, table)
        .where(table.c.tenant_id == tenant_id)
        .order_by(table.c.alert_id)
        .limit(limit)
    )
    if after is not None:
        query = query.where(table.c.alert_id > after)
    return records.many(connection, query, Alert)


def number(connection: Connection, tenant_id: UUID) -> int:
    """How many alerts a tenant has."""
    query = select(func.count()).where(table.c.tenant_id == tenant_id)
    return connection.execute(query).scalar_one()


def of_partition(connection: Connection, partition: int) -> list[Alert]:
    """The alerts of all tenants of a partition."""
    query = (
        records.of(Alert, table)
        .join(tenants, tenants.c.tenant_id == table.c.tenant_id)
        .where(tenants.c.partition_id == partition)
        .order_by(table.c.alert_id)
    )
    return records.many(connection, query, Alert)


def tenants_of(connection: Connection, alerts: Iterable[Alert]) -> dict[UUID, Tenant]:
    """The tenants of alerts, by id."""
    wanted = {each.tenant_id for each in alerts}
    query = records.of(Tenant, tenants)
    found = records.many(connection, query, Tenant) if wanted else []
    return {each.tenant_id: each for each in found if each.tenant_id in wanted}


def change(
    connection: Connection, tenant_id: UUID, alert_id: UUID, now_ns: int, **values: object
) -> int:
    """Change an alert's name or body; return its next revision.

    Raises:
        ConflictError: another alert of the tenant has this name.
        NotFoundError: the alert doesn't exist.
    """
    return records.change(connection, table, _NAME, _key(tenant_id, alert_id), values, now_ns)


def remove(connection: Connection, tenant_id: UUID, alert_id: UUID) -> None:
    """Delete an alert.

    Raises:
        NotFoundError: the alert doesn't exist.
    """
    records.remove(connection, table, _NAME, _key(tenant_id, alert_id))


def put_state(connection: Connection, alert_id: UUID, state: Mapping[str, Any]) -> None:
    """Store the state of an alert, unless it was deleted."""
    connection.execute(update(table).where(table.c.alert_id == alert_id).values(state=state))


def put_message(connection: Connection, message: AlertMessage) -> None:
    """Store a message, or its last attempt.

    Raises:
        NotFoundError: the tenant doesn't exist.
    """
    values = attrs.asdict(message, recurse=False)
    changed = {name: values[name] for name in ("attempts", "next_at_ns", "error")}
    statement = upsert.of(connection)(messages_table).values(values)
    connection.execute(
        statement.on_conflict_do_update(index_elements=("message_id",), set_=changed)
    )


def remove_message(connection: Connection, message_id: UUID) -> None:
    """Delete a message, if it is there."""
    connection.execute(delete(messages_table).where(messages_table.c.message_id == message_id))


def count_dropped(connection: Connection, tenant_id: UUID, alerts: Collection[UUID]) -> None:
    """Count a message that no receiver took, for each alert that it was about."""
    connection.execute(
        update(table)
        .where(table.c.tenant_id == tenant_id, table.c.alert_id.in_(alerts))
        .values(dropped=table.c.dropped + 1)
    )


def messages_of(connection: Connection, tenant_id: UUID) -> list[AlertMessage]:
    """A tenant's messages, the oldest first."""
    query = (
        records.of(AlertMessage, messages_table)
        .where(messages_table.c.tenant_id == tenant_id)
        .order_by(messages_table.c.created_at_ns)
    )
    return records.many(connection, query, AlertMessage)


def messages_of_partition(connection: Connection, partition: int) -> list[AlertMessage]:
    """The messages of all tenants of a partition, the oldest first."""
    query = (
        records.of(AlertMessage, messages_table)
        .join(tenants, tenants.c.tenant_id == messages_table.c.tenant_id)
        .where(tenants.c.partition_id == partition)
        .order_by(messages_table.c.created_at_ns)
    )
    return records.many(connection, query, AlertMessage)


def _key(tenant_id: UUID, alert_id: UUID) -> dict[str, object]:
    return {"tenant_id": tenant_id, "alert_id": alert_id}
