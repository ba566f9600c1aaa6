"""Copies the tables that earlier versions derived inside the database into the derived file, but
for the field catalog, which is learned from the log again.

It is done before the migration that drops it: a transaction over two files could end with neither.
Interrupted, it is done again from its start.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from sqlalchemy import text

from tidegate.stores.index import derived
from tidegate.stores.rows.connections import deriving_engine, driver_connection

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

LAST_REVISION = "0002"
"""The last with these tables in the database."""
_STATEMENTS = (
    """
    INSERT INTO derived.idempotency (bucket, key_hash, fingerprint, seq)
    SELECT hour << 16 | (seq >> 16 & 65535) AS bucket, key_hash, fingerprint, seq
    FROM main.idempotency ORDER BY bucket, key_hash
    """,
    "INSERT INTO derived.result_counts SELECT * FROM main.result_counts",
    """
    UPDATE derived.derived_meta
    SET value = (SELECT value FROM main.store_meta WHERE name = 'indexed_seq')
    WHERE name = 'indexed_seq'
    """,
)


def carry_over(path: Path, connection: Connection) -> None:
    """Make the derived file of a database with what is in the database.

    Args:
        path: of the database, of an earlier revision with these tables.
        connection: a writing one, in no transaction.
    """
    with connection.begin():
        connection.execute(
            text("INSERT INTO store_meta VALUES ('log_id', :number) ON CONFLICT DO NOTHING"),
            {"number": secrets.randbits(62)},
        )
        find = text("SELECT value FROM store_meta WHERE name = 'log_id'")
        log_id: int = connection.execute(find).scalar_one()
    derived.make(path, log_id)
    engine = deriving_engine(path)
    try:
        with engine.connect() as copying:
            with copying.begin():
                for statement in _STATEMENTS:
                    copying.execute(text(statement))
            # On stable storage before the migration takes it out of the database.
            driver_connection(copying).execute("PRAGMA derived.wal_checkpoint(TRUNCATE)")
    finally:
        engine.dispose()
