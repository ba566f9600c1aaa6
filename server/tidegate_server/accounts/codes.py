"""The codes of a second factor in a login."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from anyio import to_thread

from tidegate_server.control.call import Call
from tidegate_server.http.authorise import CHALLENGE, SECOND
from tidegate_server.http.problems import Problem
from tidegate_server.operators.second_factor import UnreadableFactorError
from tidegate_server.stores.objects import second_factors

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate_server.stores.objects.second_factors import SecondFactor

_STRANGERS = "devices that the operator has not logged in from"


async def require_code(call: Call, operator_id: UUID, code: str | None, known: str | None) -> None:
    """Require a code of an operator whose password was right, if the operator has a second factor.

    All devices that the operator hasn't logged in from share ten attempts in a quarter of an hour:
    strangers who know the password guess no faster from many addresses.

    Args:
        operator_id: the operator.
        code: what was typed; None if nothing was.
        known: the party that a known device's attempts count for.

    Raises:
        Problem: ``second-factor-required``, ``unauthenticated``, ``rate-limited``.
    """
    threads = call.app.public_threads
    found = await to_thread.run_sync(_find, call, operator_id, limiter=threads)
    if found is None or found.confirmed_at_ns is None:
        return
    if code is None:
        raise Problem("second-factor-required", headers=CHALLENGE)
    party, name = known or _STRANGERS, f"second factor of {operator_id}"
    await call.app.login_attempts.enter(party, name, is_device=True)
    if not await to_thread.run_sync(_take, call, operator_id, code, limiter=threads):
        raise wrong_code()
    call.app.login_attempts.succeeded(party, name)


def _find(call: Call, operator_id: UUID) -> SecondFactor | None:
    with call.app.store.read() as connection:
        return second_factors.find(connection, operator_id)


def _take(call: Call, operator_id: UUID, code: str) -> bool:
    """Use a code up; return False for a wrong one, or one that was used."""

    def work(connection: Connection) -> bool:
        found = second_factors.find(connection, operator_id)
        used = None if found is None else use_code(call, found, code)
        if used is not None:
            second_factors.put(connection, used)
        return used is not None

    return call.write(work)


def use_code(call: Call, factor: SecondFactor, code: str) -> SecondFactor | None:
    """Return the factor once a code is used; None for a wrong code, or one that was used before.

    Args:
        factor: the factor, as it is stored.
        code: a code of the app, or a recovery code.

    Raises:
        Problem: ``unauthenticated``; the factor can't be read.
    """
    left = call.app.second_factors.without(factor.recovery, code)
    if left is not None:
        return attrs.evolve(factor, recovery=left)
    try:
        step = call.app.second_factors.step_of(
            factor.sealed, factor.operator_id.bytes, "".join(code.split()), call.now // SECOND
        )
    except UnreadableFactorError as error:
        detail = f"{error} with this server's keys; an administrator can remove it"
        raise Problem("unauthenticated", detail, headers=CHALLENGE) from error
    if step is None or step <= factor.last_step:
        return None
    return attrs.evolve(factor, last_step=step)


def wrong_code() -> Problem:
    """Return the refusal of a code."""
    detail = "the code is wrong, has expired, or was used before"
    return Problem("unauthenticated", detail, headers=CHALLENGE)
