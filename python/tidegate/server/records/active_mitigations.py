"""Mitigations that entities are under: listed, and lifted by operators."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from tidegate.policy.state.standing import ActiveMitigation
from tidegate.server import wire
from tidegate.server.http.call import Answer, Call
from tidegate.server.http.pages import page_after, page_of
from tidegate.server.http.problems import ErrorDetail, Problem
from tidegate.stores.base import NotFoundError

if TYPE_CHECKING:
    from tidegate.engine import BundledEngine
    from tidegate.policy.state.standing import EntityState
    from tidegate.server.engines.engines import Tenant


def list_(call: Call) -> Answer:
    """Active mitigations, in an order that does not change."""
    live = call.app.runtime.find(call.tenant_id)
    if live is None:
        return Answer(body=[])
    engine = live.engine
    query: wire.MitigationsQuery = call.query
    found = engine.active_mitigations(call.now, query.limit + 1, _after(call, engine))
    return page_of(
        call,
        found,
        lambda each: wire.mitigation_answer(call.tenant_id, each, live.names),
        lambda each: [each.entity_id, each.policy, each.clause],
    )


def lift(call: Call) -> Answer:
    """End mitigations of an entity: all of them, or those of one policy or of one clause."""
    query: wire.LiftQuery = call.query
    live, state = entity_of(call)
    wanted = [
        each
        for each in state.mitigations
        if query.policy_id in (None, UUID(live.names.policies[each.policy]))
        and query.clause in (None, each.clause)
    ]
    actor = str(call.operator.operator_id)
    if not wanted or not call.app.runtime.lift(call.tenant_id, wanted, actor, call.request_id):
        raise NotFoundError("active mitigation")
    return Answer()


def entity_of(call: Call) -> tuple[Tenant, EntityState]:
    """The tenant of a call, and the state of the entity in its path.

    Raises:
        NotFoundError: nothing is.
    """
    live = call.app.runtime.find(call.tenant_id)
    found = None if live is None else live.engine.find_entity(str(call.ids["entity_id"]))
    state = None if live is None or found is None else live.engine.entity_state(*found, call.now)
    if live is None or state is None:
        raise NotFoundError("entity")
    return live, state


def _after(call: Call, engine: BundledEngine) -> ActiveMitigation | None:
    """The place where the page begins: after a mitigation, which need not be active any more."""
    after = page_after(call)
    if after is None:
        return None
    entity_id, policy, clause = map(str, after)
    # A cursor names the entity by its id: keys may be longer than a cursor.
    found = engine.find_entity(entity_id)
    if found is None:
        detail = "the last entity of the page before is forgotten; begin again"
        errors = [ErrorDetail(detail=detail, parameter="cursor")]
        raise Problem("invalid-request", detail, errors=errors)
    definition, key = found
    return ActiveMitigation(
        entity_id=entity_id,
        definition=definition,
        key=key,
        policy=policy,
        clause=clause,
        mitigation="",
        mode="Monitor",
        expires_at=0,
    )
