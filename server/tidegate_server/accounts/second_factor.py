"""The second factor of the caller's password."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs
from anyio import to_thread

from tidegate_server.accounts.codes import require_code, use_code, wrong_code
from tidegate_server.accounts.password_login import knows_password
from tidegate_server.control.call import Answer, Call
from tidegate_server.http.authorise import CHALLENGE
from tidegate_server.http.problems import Problem
from tidegate_server.operators.second_factor import codes_left, otpauth_uri, shown_secret
from tidegate_server.stores.objects import operators, second_factors
from tidegate_server.wire import operators as wire_operators

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.stores.objects.second_factors import SecondFactor

_KIND = "second-factor"


def read(call: Call) -> Answer:
    """Return whether logins need a code, and how many recovery codes are left."""
    with call.app.store.read() as connection:
        found = second_factors.find(connection, call.operator.operator_id)
    left = 0 if found is None else codes_left(found.recovery)
    return Answer(body=wire_operators.SecondFactor(state=_state(found), recovery_codes_left=left))


async def begin(call: Call) -> Answer:
    """Return a new secret, which counts once its first code is shown; replaces a pending one."""
    body: wire_operators.SecondFactorStart = call.body
    caller, attempts = call.operator, call.app.login_attempts
    party = f"operator {caller.operator_id}"
    await attempts.enter(party, caller.email, is_device=True)
    threads = call.app.public_threads
    operator = await to_thread.run_sync(_operator, call, limiter=threads)
    if operator.password_hash is None:
        raise Problem("conflict", "the operator has no password; the identity provider has factors")
    if not await knows_password(call, operator, operator.email, body.password, is_urgent=True):
        raise Problem("unauthenticated", "the password is wrong", headers=CHALLENGE)
    attempts.succeeded(party, caller.email)
    return Answer(body=await to_thread.run_sync(_start, call, limiter=threads))


def _operator(call: Call) -> operators.Operator:
    with call.app.store.read() as connection:
        return operators.find(connection, call.operator.operator_id)


def _start(call: Call) -> wire_operators.SecondFactorSecret:
    caller = call.operator
    secret, sealed = call.app.second_factors.new_secret(caller.operator_id.bytes)

    def work(connection: Connection) -> None:
        if _state(second_factors.find(connection, caller.operator_id)) == "on":
            raise Problem("conflict", "there is a second factor; remove it first")
        made = second_factors.SecondFactor(operator_id=caller.operator_id, sealed=sealed)
        second_factors.put(connection, made)

    call.write(work)
    return wire_operators.SecondFactorSecret(
        secret=shown_secret(secret), uri=otpauth_uri(secret, caller.email)
    )


def confirm(call: Call) -> Answer:
    """Turn the second factor on with its first code, and return the recovery codes."""
    body: wire_operators.ShownCode = call.body
    operator_id = call.operator.operator_id
    codes, digests = call.app.second_factors.new_recovery_codes()

    def work(connection: Connection) -> bool:
        found = second_factors.find(connection, operator_id)
        if found is None or found.confirmed_at_ns is not None:
            raise Problem("conflict", f"the second factor is {_state(found)}, not pending")
        used = use_code(call, found, body.code)
        if used is None:
            return False
        on = attrs.evolve(used, confirmed_at_ns=call.now, recovery=digests)
        second_factors.put(connection, on)
        call.audit(connection, "create", _KIND, operator_id)
        return True

    if not call.write(work):
        raise wrong_code()
    return Answer(body=wire_operators.RecoveryCodes(recovery_codes=tuple(codes)))


async def remove(call: Call) -> Answer:
    """Turn the second factor off, with a code of it."""
    body: wire_operators.ShownCode = call.body
    operator_id = call.operator.operator_id
    await require_code(call, operator_id, body.code, f"operator {operator_id}")

    def work(connection: Connection) -> None:
        second_factors.remove(connection, operator_id)
        call.audit(connection, "delete", _KIND, operator_id)

    await to_thread.run_sync(call.write, work, limiter=call.app.public_threads)
    return Answer()


def _state(factor: SecondFactor | None) -> Literal["off", "pending", "on"]:
    if factor is None:
        return "off"
    return "pending" if factor.confirmed_at_ns is None else "on"
