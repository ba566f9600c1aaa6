"""The present state of an entity in the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from tidegate_server.control.call import Answer, Call
from tidegate_server.control.runtime import mitigation_answer
from tidegate_server.http.problems import ErrorDetail, Problem
from tidegate_server.records.active_mitigations import entity_of
from tidegate_server.stores.base import NotFoundError
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import entities as wire_entities

if TYPE_CHECKING:
    from tidegate.policy.state.inspection import EntityState
    from tidegate_server.engines.compiled import Names

SECOND_NS = 1_000_000_000


def read_state(call: Call) -> Answer:
    """Return counts, windows and active mitigations of an entity that the engine knows."""
    live, state = entity_of(call)
    return Answer(body=_answer(call.tenant_id, state, live.names))


def find(call: Call) -> Answer:
    """Return the id of the entity with certain values, which identifies its decisions and state.

    The values may be secrets: they are hashed like values of events, and not used otherwise.
    """
    body: wire_entities.EntityLookup = call.body
    live = call.app.runtime.find(call.tenant_id)
    known = {} if live is None else live.names.entities
    wanted = str(body.entity_definition_id)
    slug = next((slug for slug, each in known.items() if each == wanted), None)
    if live is None or slug is None:
        raise NotFoundError("entity definition")
    if any(isinstance(part, int) and not -(2**63) <= part < 2**63 for part in body.key):
        raise NotFoundError("entity")  # expressions have 64-bit integers
    found = live.keys.named(slug, body.key, live.redactor)
    if found is None:
        detail = "the entity definition is disabled, or has another number of key parts"
        raise Problem(
            "invalid-request", detail, errors=[ErrorDetail(detail=detail, pointer="/key")]
        )
    entity_id, key = found
    return Answer(
        body=wire_entities.EntityName(
            tenant_id=call.tenant_id,
            entity_id=UUID(entity_id),
            entity_definition_id=body.entity_definition_id,
            definition=slug,
            key=key,
        )
    )


def _answer(tenant_id: UUID, state: EntityState, names: Names) -> wire_entities.EntityState:
    return wire_entities.EntityState(
        tenant_id=tenant_id,
        entity_id=UUID(state.entity_id),
        entity_definition_id=UUID(names.entities[state.definition]),
        definition=state.definition,
        key=state.key,
        event_count=state.event_count,
        first_seen_at=wire_common.time_text(state.first_seen_at),
        last_seen_at=wire_common.time_text(state.last_seen_at),
        windows=tuple(
            wire_entities.EntityWindow(
                policy_id=UUID(names.policies[each.policy]),
                policy=each.policy,
                clause=each.clause,
                value=each.value,
                threshold=each.threshold,
                duration_seconds=each.duration // SECOND_NS,
                falls_at=wire_common.optional_time(each.falls_at),
            )
            for each in state.windows
        ),
        active_mitigations=tuple(
            mitigation_answer(tenant_id, each, names) for each in state.mitigations
        ),
    )
