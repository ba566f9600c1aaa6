"""Revoked tokens, kept until they would have expired."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from tidegate_server.stores.rows.bulk import STEP_ROWS
from tidegate_server.stores.rows.tables import revoked_tokens as table

if TYPE_CHECKING:
    from sqlalchemy import Connection


def revoke(connection: Connection, token_id: str, expires_at_ns: int, now_ns: int) -> bool:
    """Revoke a token; a revoked token stays revoked.

    Returns:
        Whether this call revoked it.
    """
    if is_revoked(connection, token_id):
        return False
    connection.execute(
        insert(table).values(token_id=token_id, expires_at_ns=expires_at_ns, revoked_at_ns=now_ns)
    )
    return True


def is_revoked(connection: Connection, token_id: str) -> bool:
    """Whether a token was revoked."""
    query = select(table.c.token_id).where(table.c.token_id == token_id)
    return connection.execute(query).first() is not None


def live(connection: Connection, now_ns: int) -> set[str]:
    """Ids of revoked tokens that have not expired yet."""
    query = select(table.c.token_id).where(table.c.expires_at_ns > now_ns)
    return set(connection.execute(query).scalars())


def prune(connection: Connection, now_ns: int, limit: int = STEP_ROWS) -> int:
    """Delete revoked tokens that have expired, at most ``limit``; return how many."""
    ended = select(table.c.token_id).where(table.c.expires_at_ns <= now_ns).limit(limit)
    return connection.execute(delete(table).where(table.c.token_id.in_(ended))).rowcount
