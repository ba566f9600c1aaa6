"""The caller and its memberships."""

from __future__ import annotations

from tidegate_server.control.call import Answer, Call
from tidegate_server.http.authorise import SECOND
from tidegate_server.stores.objects import memberships, second_factors, tenants
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import operators as wire_operators


def read(call: Call) -> Answer:
    """Return the operator behind the token."""
    caller = call.operator
    with call.app.store.read() as connection:
        found = [
            (each.role, tenants.find(connection, each.tenant_id))
            for each in memberships.of_operator(connection, caller.operator_id)
        ]
        factor = second_factors.find(connection, caller.operator_id)
    mine = tuple(
        wire_operators.MyMembership(
            tenant_id=tenant.tenant_id,
            name=tenant.name,
            slug=tenant.slug,
            role=role,  # type: ignore[arg-type]
        )
        for role, tenant in found
    )
    return Answer(
        body=wire_operators.Me(
            user_id=caller.operator_id,
            name=caller.name,
            email=caller.email,
            token_expires_at=wire_common.time_text(caller.token_expires_at * SECOND),
            second_factor=factor is not None and factor.confirmed_at_ns is not None,
            memberships=mine,
        )
    )
