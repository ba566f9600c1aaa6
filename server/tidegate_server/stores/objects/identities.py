"""Identities: the operator behind an identity provider's subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.tables import identities as table

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection


@attrs.frozen(kw_only=True)
class Identity:
    """An operator, as one issuer knows them."""

    issuer: str
    subject: str
    operator_id: UUID
    created_at_ns: int


def add(connection: Connection, identity: Identity) -> None:
    """Link an identity to an operator.

    Raises:
        ConflictError: it is linked to one already.
        NotFoundError: the operator doesn't exist.
    """
    records.add(connection, table, identity)


def find(connection: Connection, issuer: str, subject: str) -> Identity:
    """An identity.

    Raises:
        NotFoundError: it doesn't exist.
    """
    key = {"issuer": issuer, "subject": subject}
    return records.find(connection, table, Identity, "identity", key)
