"""Operators' tokens: how they are issued, for any provider, and how they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate_server.control.call import Answer, Call
from tidegate_server.http.authorise import SECOND
from tidegate_server.stores.objects import operators, revoked_tokens
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import operators as wire_operators

if TYPE_CHECKING:
    from sqlalchemy import Connection


def access_token(call: Call, operator: operators.Operator) -> wire_operators.AccessToken:
    """Create a token for an operator who has just logged in."""
    # After all tokens were revoked, the next is valid from the end of that second.
    now = max(call.now, operator.tokens_valid_from_ns) // SECOND
    lifetime = call.app.token_lifetime_seconds
    return wire_operators.AccessToken(
        access_token=call.app.tokens.issue(operator.operator_id, now, lifetime),
        token_type="Bearer",  # noqa: S106 - the name of a scheme
        expires_in=lifetime,
        expires_at=wire_common.time_text((now + lifetime) * SECOND),
    )


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
            revoked_tokens.revoke(
                connection, str(caller.token_id), caller.token_expires_at * SECOND, call.now
            )
        call.audit(connection, "revoke-all" if query.all else "revoke", "token", caller.token_id)

    call.write(work)
    return Answer()
