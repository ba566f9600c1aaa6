"""The seam between the two databases: a statement with two forms names both, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs
from sqlalchemy.dialects import postgresql, sqlite

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

F = TypeVar("F")


@attrs.frozen
class Forms(Generic[F]):
    """Something that each database has in a form of its own."""

    sqlite: F
    postgresql: F

    def of(self, connection: Connection) -> F:
        """The form of the database behind a connection."""
        form: F = getattr(self, connection.dialect.name)
        return form


upsert: Forms[Callable[[Any], Any]] = Forms(sqlite.insert, postgresql.insert)
"""An insert with ``on_conflict_do_update``."""
PLACE = Forms("?", "%s")
"""How a driver writes the place of a value."""


def is_postgresql(url: str) -> bool:
    """Whether a URL names a database of PostgreSQL."""
    return url.startswith(("postgresql://", "postgres://"))


def driver_connection(connection: Connection) -> Any:
    """The driver's connection beneath."""
    return connection.connection.driver_connection
