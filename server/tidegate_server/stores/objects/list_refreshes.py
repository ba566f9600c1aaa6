"""Refreshes of lists from their sources: the last good one, and the last that was refused."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import attrs
from sqlalchemy import delete, func, select

from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.dialects import upsert
from tidegate_server.stores.rows.tables import list_refreshes as table

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection


@attrs.frozen(kw_only=True)
class ListRefresh:
    """The refreshes of one list from one source."""

    tenant_id: UUID
    list_id: UUID
    source: str
    """The source as JSON; if the list has another one now, it was never refreshed from it."""
    refreshed_at_ns: int | None = None
    refused_at_ns: int | None = None
    code: str = ""
    """Why the last refused one was refused; empty if none was."""
    detail: str = ""

    @property
    def checked_at_ns(self) -> int:
        """When the list was last fetched, with success or not; 0 if it never was."""
        return max(self.refreshed_at_ns or 0, self.refused_at_ns or 0)

    @property
    def is_refused(self) -> bool:
        """Whether the last refresh was refused."""
        return (self.refused_at_ns or 0) > (self.refreshed_at_ns or 0)


def put(connection: Connection, refresh: ListRefresh) -> None:
    """Store the refreshes of a list.

    Raises:
        NotFoundError: the tenant doesn't exist.
    """
    values = attrs.asdict(refresh, recurse=False)
    places = ("tenant_id", "list_id")
    changed = {name: values[name] for name in values if name not in places}
    statement = upsert.of(connection)(table).values(values)
    connection.execute(statement.on_conflict_do_update(index_elements=places, set_=changed))


def of_tenant(connection: Connection, tenant_id: UUID) -> dict[UUID, ListRefresh]:
    """The refreshes of a tenant's lists, by list."""
    query = records.of(ListRefresh, table).where(table.c.tenant_id == tenant_id)
    return {each.list_id: each for each in records.many(connection, query, ListRefresh)}


def find(connection: Connection, tenant_id: UUID, list_id: UUID, source: str) -> ListRefresh | None:
    """The refreshes of a list from a source; None if there wasn't one."""
    query = records.of(ListRefresh, table).where(
        table.c.tenant_id == tenant_id, table.c.list_id == list_id, table.c.source == source
    )
    return next(iter(records.many(connection, query, ListRefresh)), None)


def forget(connection: Connection, tenant_id: UUID, lists: Collection[UUID]) -> None:
    """Delete the refreshes of lists that are gone, or no longer have a source."""
    connection.execute(
        delete(table).where(table.c.tenant_id == tenant_id, table.c.list_id.in_(lists))
    )


def refused(connection: Connection) -> int:
    """How many lists' last refresh was refused."""
    query = select(func.count()).where(
        table.c.refused_at_ns > func.coalesce(table.c.refreshed_at_ns, 0)
    )
    return int(connection.execute(query).scalar_one())
