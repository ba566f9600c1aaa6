"""Operators' tokens and sessions: how they begin, for any provider, and how they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate_server.control.call import Answer, Call
from tidegate_server.control.pages import page_by_id
from tidegate_server.http.authorise import SECOND
from tidegate_server.http.ids import new_id
from tidegate_server.stores.objects import operator_sessions, operators, revoked_tokens
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import operators as wire_operators

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection


def open_session(
    call: Call, operator: operators.Operator, provider: str
) -> wire_operators.AccessToken:
    """Create a token for an operator who has just logged in, and note its session.

    Args:
        operator: the operator.
        provider: where the operator logged in.
    """
    # After all tokens were revoked, the next is valid from the end of that second.
    now = max(call.now, operator.tokens_valid_from_ns) // SECOND
    lifetime = call.app.token_lifetime_seconds
    session = operator_sessions.OperatorSession(
        session_id=new_id(),
        operator_id=operator.operator_id,
        provider=provider,
        address=call.address,
        user_agent=call.headers.get("user-agent", ""),
        issued_at_ns=now * SECOND,
        expires_at_ns=(now + lifetime) * SECOND,
    )
    call.write(lambda connection: operator_sessions.add(connection, session))
    return wire_operators.AccessToken(
        access_token=call.app.tokens.issue(operator.operator_id, now, lifetime, session.session_id),
        token_type="Bearer",  # noqa: S106 - the name of a scheme
        expires_in=lifetime,
        expires_at=wire_common.time_text(session.expires_at_ns),
    )


def list_(call: Call) -> Answer:
    """List the caller's sessions, oldest first."""
    caller = call.operator
    return page_by_id(
        call,
        lambda connection, limit, after: operator_sessions.page(
            connection, caller.operator_id, call.now, limit, after
        ),
        lambda session: wire_operators.Session(
            session_id=session.session_id,
            provider=session.provider,
            address=session.address or None,
            user_agent=session.user_agent or None,
            created_at=wire_common.time_text(session.issued_at_ns),
            expires_at=wire_common.time_text(session.expires_at_ns),
            is_current=session.session_id == caller.token_id,
        ),
        lambda session: session.session_id,
    )


def end(call: Call) -> Answer:
    """End one of the caller's sessions."""
    caller, session_id = call.operator, call.ids["session_id"]

    def work(connection: Connection) -> None:
        found = operator_sessions.find(connection, caller.operator_id, session_id)
        _revoke(connection, session_id, found.expires_at_ns, call.now)
        call.audit(connection, "revoke", "token", session_id)

    call.write(work)
    return Answer()


def revoke(call: Call) -> Answer:
    """Revoke the token of the request, or every token of its operator."""
    query: wire_operators.Revocation = call.query
    caller = call.operator

    def work(connection: Connection) -> None:
        if query.all:
            # Tokens have whole seconds, so those of the present second end as well.
            valid_from = (call.now // SECOND + 1) * SECOND
            operators.change(
                connection, caller.operator_id, call.now, tokens_valid_from_ns=valid_from
            )
        else:
            _revoke(connection, caller.token_id, caller.token_expires_at * SECOND, call.now)
        call.audit(connection, "revoke-all" if query.all else "revoke", "token", caller.token_id)

    call.write(work)
    return Answer()


def _revoke(connection: Connection, token_id: UUID, expires_at_ns: int, now: int) -> None:
    revoked_tokens.revoke(connection, str(token_id), expires_at_ns, now)
    operator_sessions.remove(connection, token_id)
