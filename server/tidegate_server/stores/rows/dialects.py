"""The seam between both databases: a statement with two forms names both, side by side."""

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
    """Something that has a different form for each database."""

    sqlite: F
    postgresql: F

    def of(self, connection: Connection) -> F:
        """The form for the database behind a connection."""
        form: F = getattr(self, connection.dialect.name)
        return form


upsert: Forms[Callable[[Any], Any]] = Forms(sqlite.insert, postgresql.insert)
"""An insert with ``on_conflict_do_update``."""
PLACE = Forms("?", "%s")
"""The driver's placeholder for a value."""


def is_postgresql(url: str) -> bool:
    """Whether a URL names a PostgreSQL database."""
    return url.startswith(("postgresql://", "postgres://"))


def driver_connection(connection: Connection) -> Any:
    """The underlying driver connection."""
    return connection.connection.driver_connection
