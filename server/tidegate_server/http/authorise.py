"""The caller and the caller's rights, looked up on every request, never taken from the token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from tidegate_server.http.problems import Problem
from tidegate_server.operators.compact import InvalidTokenError
from tidegate_server.operators.permissions import may
from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.objects import memberships, operators, revoked_tokens

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate_server.operators.permissions import Permission, Role
    from tidegate_server.operators.tokens import Tokens
    from tidegate_server.stores.objects.memberships import Membership

SECOND = 1_000_000_000
_SCHEME = "bearer"
_REALM = 'Bearer realm="tidegate"'
_INVALID = {"www-authenticate": f'{_REALM}, error="invalid_token"'}
CHALLENGE = {"www-authenticate": _REALM}
"""The headers of a 401, which say how to authenticate."""


@attrs.frozen
class Caller:
    """The operator whose token came with the request."""

    operator_id: UUID
    name: str
    email: str
    token_id: UUID
    token_expires_at: int
    """Seconds since 1970."""


def bearer(header: str | None) -> str:
    """Return the token in a header.

    Args:
        header: the value of ``Authorization``.

    Raises:
        Problem: ``unauthenticated``; it is missing.
    """
    scheme, _, text = (header or "").partition(" ")
    if scheme.lower() != _SCHEME or not text:
        raise _unauthenticated()
    return text


def caller_of(connection: Connection, tokens: Tokens, text: str, now: int) -> Caller:
    """Return the operator that a token belongs to.

    Args:
        text: the token.
        now: nanoseconds since 1970.

    Raises:
        Problem: ``unauthenticated``; the token isn't valid now.
    """
    try:
        claims = tokens.read(text, now // SECOND)
    except InvalidTokenError:
        raise _unauthenticated(_INVALID) from None
    try:
        operator = operators.find(connection, claims.operator_id)
    except NotFoundError:
        raise _unauthenticated(_INVALID) from None
    if (
        operator.disabled
        or claims.issued_at * SECOND < operator.tokens_valid_from_ns
        or revoked_tokens.is_revoked(connection, str(claims.token_id))
    ):
        raise _unauthenticated(_INVALID)
    return Caller(
        operator_id=operator.operator_id,
        name=operator.name,
        email=operator.email,
        token_id=claims.token_id,
        token_expires_at=claims.expires_at,
    )


def membership_in(connection: Connection, tenant_id: UUID, caller: Caller) -> Membership:
    """Return a caller's membership in a tenant.

    Raises:
        NotFoundError: the tenant doesn't exist, or the caller isn't a member.
    """
    return memberships.find(connection, tenant_id, caller.operator_id)


def require(role: Role, permission: Permission) -> None:
    """Refuse a role that lacks a permission.

    Raises:
        Problem: ``forbidden``.
    """
    if not may(role, permission):
        raise Problem("forbidden", f"the role `{role.value}` may not {permission.value}")


def _unauthenticated(challenge: dict[str, str] = CHALLENGE) -> Problem:
    detail = "an operator's token is needed: `Authorization: Bearer <ACCESS_TOKEN>`"
    return Problem("unauthenticated", detail, headers=challenge)
