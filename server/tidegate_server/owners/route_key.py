"""Route keys: the part of a request that says where it belongs, a tenant or a challenge."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qs
from uuid import UUID

import attrs
from sqlalchemy import select

from tidegate.policy.proofs import tenant_of_ticket
from tidegate_server.stores.rows.tables import challenge_sessions

if TYPE_CHECKING:
    from sqlalchemy import Connection

_ID = "([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
_TENANT = re.compile(rf"(?:/api/v1)?/tenants/{_ID}(?:/|$)", re.ASCII)
_CHALLENGE = re.compile(rf"/api/v1/challenge/{_ID}(/solution)?$", re.ASCII)
_FIRST = ("/api/v1/", "/tenants")


@attrs.frozen
class RouteKey:
    """The route key of a path.

    Attributes:
        tenant_id: the tenant that the request is for.
        challenge_id: the challenged decision; the request is for its tenant.
        is_of_first: a request without either is for the first partition, so that the limits of
            logins are those of one process; if False, all partitions answer it alike.
    """

    tenant_id: UUID | None = None
    challenge_id: UUID | None = None
    is_of_first: bool = False


def route_key_in(path: str) -> RouteKey:
    """Return the route key of a path, as it was written."""
    found = _TENANT.match(path)
    if found is not None:
        return RouteKey(tenant_id=UUID(found[1]))
    found = _CHALLENGE.match(path)
    if found is not None:
        return RouteKey(challenge_id=UUID(found[1]))
    return RouteKey(is_of_first=path.startswith(_FIRST))


def tenant_of_challenge(connection: Connection, challenge_id: UUID, query: bytes) -> UUID | None:
    """Return the tenant whose decision challenged; None if neither session nor query names it.

    Args:
        connection: to the database that all partitions share.
        challenge_id: the decision's id.
        query: the request's query, which may have a ticket.
    """
    table = challenge_sessions
    opened: UUID | None = connection.execute(
        select(table.c.tenant_id).where(table.c.challenge_id == challenge_id)
    ).scalar()
    if opened is not None:
        return opened
    tickets = parse_qs(query.decode("latin-1")).get("ticket")
    return tenant_of_ticket(tickets[0]) if tickets else None
