"""The active mitigations of entities: list them, and let operators lift them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

import msgspec

from tidegate.policy.state.inspection import ActiveMitigation
from tidegate_server.control.call import Answer, Call
from tidegate_server.control.pages import page_after, page_of
from tidegate_server.control.runtime import mitigation_answer
from tidegate_server.http.problems import ErrorDetail, Problem
from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.objects import audit
from tidegate_server.wire import entities as wire_entities

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate.policy.state.inspection import EntityState
    from tidegate_server.engines.serving import BundledEngine
    from tidegate_server.engines.tenant import Tenant
    from tidegate_server.stores.objects.audit import AuditEntry

MAX_ENTITIES = 500
"""The most entities that one call lifts mitigations of: each waits for a commit."""
PAGE = 1_000
KIND = "active-mitigation"
"""The kind in audit entries."""


def list_(call: Call) -> Answer:
    """List active mitigations, in a stable order."""
    live = call.app.runtime.find(call.tenant_id)
    if live is None:
        return Answer(body=[])
    engine = live.engine
    query: wire_entities.MitigationsQuery = call.query
    found = engine.active_mitigations(call.now, query.limit + 1, _after(call, engine))
    return page_of(
        call,
        found,
        lambda each: mitigation_answer(call.tenant_id, each, live.names),
        lambda each: [each.entity_id, each.policy, each.clause],
    )


def lift(call: Call) -> Answer:
    """End an entity's mitigations: all of them, or only those of a policy or a clause."""
    query: wire_entities.LiftQuery = call.query
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


def lift_many(call: Call) -> Answer:
    """End the active mitigations of an entity, policy, clause, definition or mode.

    The mitigations of each entity are ended, recorded and audited together; the call is audited
    too, with its reason.

    Raises:
        Problem: ``invalid-request``; the call affects many entities, and gives no reason.
    """
    body: wire_entities.MitigationsLift = call.body
    if body.entity_id is None and body.reason is None and not body.dry_run:
        detail = "a reason is needed to lift the mitigations of more than one entity"
        errors = [ErrorDetail(detail=detail, pointer="/reason")]
        raise Problem("invalid-request", detail, errors=errors)
    live = call.app.runtime.find(call.tenant_id)
    wanted = {} if live is None else _wanted(call, live)
    entities = list(wanted.values())[:MAX_ENTITIES]
    complete = len(entities) == len(wanted)
    if body.dry_run:
        count = sum(map(len, entities))
        return Answer(body=wire_entities.MitigationsLifted(lifted=count, complete=complete))
    actor = str(call.operator.operator_id)
    lifted = sum(
        len(each)
        for each in entities
        if call.app.runtime.lift(call.tenant_id, each, actor, call.request_id)
    )
    after = {**msgspec.to_builtins(body), "lifted": lifted}
    del after["dry_run"]
    about = body.entity_id or call.tenant_id
    call.write(partial(_audit, entry=call.audit_entry("lift", KIND, about, after=after)))
    return Answer(body=wire_entities.MitigationsLifted(lifted=lifted, complete=complete))


def _audit(connection: Connection, entry: AuditEntry) -> None:
    audit.add(connection, entry)


def _wanted(call: Call, live: Tenant) -> dict[str, list[ActiveMitigation]]:
    """Return a call's mitigations by entity, for at most one entity more than it lifts."""
    body: wire_entities.MitigationsLift = call.body

    def is_wanted(each: ActiveMitigation) -> bool:
        return (
            body.policy_id in (None, UUID(live.names.policies[each.policy]))
            and body.clause in (None, each.clause)
            and body.mode in (None, each.mode)
            and body.entity_definition_id in (None, UUID(live.names.entities[each.definition]))
        )

    if body.entity_id is not None:
        state = _state(live, body.entity_id, call.now)
        wanted = [] if state is None else [*filter(is_wanted, state.mitigations)]
        return {str(body.entity_id): wanted} if wanted else {}
    found: dict[str, list[ActiveMitigation]] = {}
    after = None
    while page := live.engine.active_mitigations(call.now, PAGE, after):
        for each in filter(is_wanted, page):
            found.setdefault(each.entity_id, []).append(each)
        if len(found) > MAX_ENTITIES:
            break
        after = page[-1]
    return found


def entity_of(call: Call) -> tuple[Tenant, EntityState]:
    """Return the tenant of a call, and the state of the entity in its path.

    Raises:
        NotFoundError: the tenant isn't active, or has no such entity.
    """
    live = call.app.runtime.find(call.tenant_id)
    state = None if live is None else _state(live, call.ids["entity_id"], call.now)
    if live is None or state is None:
        raise NotFoundError("entity")
    return live, state


def _state(live: Tenant, entity_id: UUID, at: int) -> EntityState | None:
    found = live.engine.find_entity(str(entity_id))
    return None if found is None else live.engine.entity_state(*found, at)


def _after(call: Call, engine: BundledEngine) -> ActiveMitigation | None:
    """Return where the page starts: after a mitigation, which may have ended since."""
    after = page_after(call)
    if after is None:
        return None
    entity_id, policy, clause = map(str, after)
    # A cursor names the entity by its id, as keys may be longer than a cursor.
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
