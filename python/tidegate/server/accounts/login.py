"""Tokens of the ``local`` provider: email and password in, a token out; and their end."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from anyio import to_thread

from tidegate.operators.passwords import is_password
from tidegate.server import wire
from tidegate.server.http.authorise import CHALLENGE, SECOND
from tidegate.server.http.call import Answer, Call
from tidegate.server.http.problems import Problem
from tidegate.server.offload.desk import Desk
from tidegate.stores.base import NotFoundError
from tidegate.stores.objects import operators, revoked_tokens

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate.server.routing.context import Application


PASSWORD_SECONDS = 20.0


async def local_token(call: Call) -> Answer:
    """A token for whoever knows the password of an operator."""
    body: wire.Login = call.body
    name, attempts = body.email.lower(), call.app.login_attempts
    await attempts.enter(call.address, name)
    operator = await to_thread.run_sync(_operator, call, name, limiter=call.app.light_threads)
    look = partial(_is_password, body.password, operator.password_hash if operator else None)
    is_known = await call.app.passwords.run(look, Desk(call.app), name, PASSWORD_SECONDS)
    if operator is None or not is_known or operator.disabled:
        raise Problem("unauthenticated", "the email or the password is wrong", headers=CHALLENGE)
    attempts.succeeded(call.address, name)
    # After a revocation of all tokens the next one counts from the end of that second.
    now = max(call.now, operator.tokens_valid_from_ns) // SECOND
    lifetime = call.app.token_lifetime_seconds
    return Answer(
        body=wire.AccessToken(
            access_token=call.app.tokens.issue(operator.operator_id, now, lifetime),
            token_type="Bearer",  # noqa: S106 - the name of a scheme
            expires_in=lifetime,
            expires_at=wire.time_text((now + lifetime) * SECOND),
        )
    )


def _is_password(password: str, kept: str | None, _: Application) -> bool:
    return is_password(password, kept)


def _operator(call: Call, name: str) -> operators.Operator | None:
    try:
        with call.app.store.read() as connection:
            return operators.find_by_email(connection, name)
    except NotFoundError:
        return None


def revoke(call: Call) -> Answer:
    """End the token that came with the request, or every token of its operator."""
    query: wire.Revocation = call.query
    caller = call.operator

    def work(connection: Connection) -> None:
        if query.all:
            # Tokens know whole seconds: those of the running one end as well.
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
