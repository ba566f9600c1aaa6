"""The ``local`` provider, which exchanges email and password for a token."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from anyio import to_thread

from tidegate_server.accounts.codes import require_code
from tidegate_server.accounts.tokens import open_session
from tidegate_server.control.call import Answer, Call
from tidegate_server.http.authorise import CHALLENGE, SECOND
from tidegate_server.http.problems import Problem
from tidegate_server.login.pages import asset
from tidegate_server.login.signing_in import Moment, claim
from tidegate_server.offload.inbox import Inbox
from tidegate_server.operators.passwords import is_password
from tidegate_server.operators.providers import LOCAL
from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.objects import memberships, operators

if TYPE_CHECKING:
    from starlette.responses import Response

    from tidegate_server.wire import operators as wire_operators


PASSWORD_SECONDS = 20.0
_form = asset("password.html", "text/html")


def password_form(call: Call) -> Response:
    """Return the form for email and password."""
    call.app.logins.need_local()
    return _form(call)


async def local_token(call: Call) -> Answer:
    """Return a token to a caller who knows an operator's password."""
    call.app.logins.need_local()
    body: wire_operators.Login = call.body
    name, attempts = operators.address_key(body.email), call.app.login_attempts
    base_url, now = call.app.base_url(), call.now // SECOND
    device = call.app.devices.open(call.headers.get("cookie"), base_url, now)
    known = None if device is None else device.attempts_of(name)
    client = call.client if known is None else known
    await attempts.enter(client, name, is_device=known is not None)
    operator = await to_thread.run_sync(_operator, call, name, limiter=call.app.public_threads)
    is_right = await knows_password(
        call, operator, name, body.password, is_urgent=known is not None
    )
    if operator is None or not is_right or operator.disabled:
        raise Problem("unauthenticated", "the email or the password is wrong", headers=CHALLENGE)
    await require_code(call, operator.operator_id, body.code, known)
    attempts.succeeded(client, name)
    given = await to_thread.run_sync(_begin, call, operator, limiter=call.app.public_threads)
    cookie = call.app.devices.set(device, name, base_url, now)
    return Answer(body=given, headers={"set-cookie": cookie})


async def knows_password(
    call: Call, operator: operators.Operator | None, name: str, password: str, *, is_urgent: bool
) -> bool:
    """Whether a password is an operator's, checked in a worker process.

    Args:
        operator: the operator; None for an unknown name, which takes as long.
        name: the name to log in with.
        is_urgent: whether the check goes before those of strangers.
    """
    look = partial(_is_password, password, operator.password_hash if operator else None)
    return await call.app.passwords.run(
        look, Inbox(call.app), name, PASSWORD_SECONDS, is_urgent=is_urgent
    )


def _is_password(password: str, kept: str | None, _: object) -> bool:
    return is_password(password, kept)


def _operator(call: Call, name: str) -> operators.Operator | None:
    try:
        with call.app.store.read() as connection:
            return operators.find_by_email(connection, name)
    except NotFoundError:
        return None


def _begin(call: Call, operator: operators.Operator) -> wire_operators.AccessToken:
    _claim(call, operator)
    return open_session(call, operator, LOCAL)


def _claim(call: Call, operator: operators.Operator) -> None:
    """Give the operator the roles that waited for their address, usually none."""
    with call.app.store.read() as connection:
        if not memberships.is_invited(connection, operator.email):
            return
    moment = Moment(call.now, call.request_id)
    call.write(
        partial(claim, email=operator.email, operator_id=operator.operator_id, moment=moment)
    )
