"""Sessions of operators: the tokens that were issued and are still valid."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import attrs
from sqlalchemy import delete, select

from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.bulk import STEP_ROWS
from tidegate_server.stores.rows.tables import operator_sessions as table
from tidegate_server.stores.rows.tables import operators

if TYPE_CHECKING:
    from sqlalchemy import Connection

MAX_USER_AGENT = 512
"""Characters of a user agent that are kept."""
COMMAND_LINE = "command-line"
"""The provider of tokens that a command made."""


@attrs.frozen(kw_only=True)
class OperatorSession:
    """A session.

    Attributes:
        session_id: the id of its token.
        provider: where the operator logged in.
        address: from where; empty for a token that a command made.
    """

    session_id: UUID
    operator_id: UUID
    provider: str
    address: str
    user_agent: str
    issued_at_ns: int
    expires_at_ns: int


def add(connection: Connection, session: OperatorSession) -> None:
    """Add a session.

    Raises:
        NotFoundError: the operator doesn't exist.
    """
    shown = attrs.evolve(session, user_agent=session.user_agent[:MAX_USER_AGENT])
    records.add(connection, table, shown)


def page(
    connection: Connection, operator_id: UUID, now_ns: int, limit: int, after: UUID | None = None
) -> list[OperatorSession]:
    """The sessions of an operator that are valid at a time, oldest first, starting after one."""
    query = (
        select(table)
        .join(operators, operators.c.operator_id == table.c.operator_id)
        .where(
            table.c.operator_id == operator_id,
            table.c.expires_at_ns > now_ns,
            table.c.issued_at_ns >= operators.c.tokens_valid_from_ns,
        )
        .order_by(table.c.session_id)
        .limit(limit)
    )
    if after is not None:
        query = query.where(table.c.session_id > after)
    return records.many(connection, query, OperatorSession)


def find(connection: Connection, operator_id: UUID, session_id: UUID) -> OperatorSession:
    """A session of an operator.

    Raises:
        NotFoundError: the operator has no such session.
    """
    key = {"session_id": session_id, "operator_id": operator_id}
    return records.find(connection, table, OperatorSession, "session", key)


def remove(connection: Connection, session_id: UUID) -> None:
    """Delete a session whose token was revoked; none is an older token, which was never listed."""
    connection.execute(delete(table).where(table.c.session_id == session_id))


def prune(connection: Connection, now_ns: int, limit: int = STEP_ROWS) -> int:
    """Delete sessions that have expired, at most ``limit``; return how many."""
    ended = select(table.c.session_id).where(table.c.expires_at_ns <= now_ns).limit(limit)
    return connection.execute(delete(table).where(table.c.session_id.in_(ended))).rowcount
