"""Numbers the store keeps about itself, in ``store_meta``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select, update

from tidegate_server.stores.rows.tables import store_meta

if TYPE_CHECKING:
    from sqlalchemy import Connection

CHANGES = "changes"
"""Commits that changed anything but decisions, by any process."""
PRUNED_SEQ = "pruned_seq"
"""The newest decision deleted from the log."""
LOG_ID = "log_id"
"""A random number that identifies this log to the file derived from it."""
RECOVERIES = "recoveries"
"""How often writing failed and resumed."""
PUBLISHED_SEQ = "published_seq"
"""The last decision delivered to other systems; absent if none ever was."""
PUBLISHING_SEQ = "publishing_seq"
"""The last decision of the batch in delivery, so that the batch is the same after a restart."""


def counter(connection: Connection, name: str) -> int:
    """A number."""
    value: int = connection.execute(
        select(store_meta.c.value).where(store_meta.c.name == name)
    ).scalar_one()
    return value


def count(connection: Connection, name: str) -> None:
    """Add one."""
    connection.execute(
        update(store_meta).where(store_meta.c.name == name).values(value=store_meta.c.value + 1)
    )


def set_counter(connection: Connection, name: str, value: int) -> None:
    """Set a number."""
    connection.execute(update(store_meta).where(store_meta.c.name == name).values(value=value))


def find_counter(connection: Connection, name: str) -> int | None:
    """A number that may not be set yet."""
    value: int | None = connection.execute(
        select(store_meta.c.value).where(store_meta.c.name == name)
    ).scalar_one_or_none()
    return value


def put_counter(connection: Connection, name: str, value: int) -> None:
    """Set a number, whether or not it exists."""
    connection.execute(delete(store_meta).where(store_meta.c.name == name))
    connection.execute(insert(store_meta).values(name=name, value=value))
