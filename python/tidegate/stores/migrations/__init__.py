"""Migrations: forward only, each in one transaction together with its number.

A migration that is interrupted leaves nothing behind and is run again from its start.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import inspect, select
from sqlalchemy import text as sql

from tidegate.stores.base import SchemaError

if TYPE_CHECKING:
    from sqlalchemy import Connection

HEAD = "0010"
"""The newest revision; they are numbered without a gap."""
VERSION_TABLE = "schema_version"


def current(connection: Connection) -> str | None:
    """The revision of a database, or None for an empty one."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    number: str | None = connection.execute(
        select(sql("version_num")).select_from(sql(VERSION_TABLE))
    ).scalar()
    return number


def check(connection: Connection) -> None:
    """Refuse a database of another version.

    Raises:
        SchemaError: it is older, or newer.
    """
    found = current(connection)
    if found == HEAD:
        return
    if found is not None and found > HEAD:
        raise SchemaError(
            f"the database is at revision {found}, this version of Tidegate knows {HEAD};"
            " run the version that wrote it, or a newer one"
        )
    raise SchemaError(
        f"the database is at revision {found or 'none'}, this version of Tidegate needs"
        f" {HEAD}; run `tidegate migrate`"
    )


def upgrade(connection: Connection) -> None:
    """Bring a database to the newest revision.

    Args:
        connection: not in a transaction; each revision is committed by itself.

    Raises:
        SchemaError: the database is newer than this code.
    """
    found = current(connection)
    connection.rollback()
    if found is not None and found > HEAD:
        check(connection)
    if found == HEAD:
        return
    # Alembic takes as long to import as everything else together, and a server needs none of it.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
