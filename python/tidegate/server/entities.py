"""What the engine knows of an entity now."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from tidegate.server import wire
from tidegate.server.active_mitigations import LiveNames, shown
from tidegate.server.call import Answer, Call
from tidegate.server.problems import ErrorDetail, Problem
from tidegate.stores.base import NotFoundError

if TYPE_CHECKING:
    from tidegate.policy.standing import EntityState


def read_state(call: Call) -> Answer:
    """Counts, windows and active mitigations of an entity that the engine knows."""
    engine = call.app.runtime.engine(call.tenant_id)
    found = None if engine is None else engine.find_entity(str(call.ids["entity_id"]))
    if engine is None or found is None:
        raise NotFoundError("entity")
    state = engine.entity_state(*found, call.now)
    if state is None:
        raise NotFoundError("entity")
    return Answer(body=_answer(state, LiveNames.of(engine)))


def find(call: Call) -> Answer:
    """The id of the entity that some values make, by which its decisions and state are found.

    The values may be secrets: they are hashed as those of events are, and nothing else is done
    with them.
    """
    body: wire.EntityLookup = call.body
    engine = call.app.runtime.engine(call.tenant_id)
    definitions = () if engine is None else engine.definitions.entities
    wanted = str(body.entity_definition_id)
    slug = next((each.slug for each in definitions if each.entity_definition_id == wanted), None)
    if engine is None or slug is None:
        raise NotFoundError("entity definition")
    found = engine.entity_named(slug, body.key)
    if found is None:
        detail = "the entity definition is disabled, or has another number of key parts"
        raise Problem(
            "invalid-request", detail, errors=[ErrorDetail(detail=detail, pointer="/key")]
        )
    entity_id, key = found
    return Answer(
        body=wire.EntityName(
            entity_id=UUID(entity_id),
            entity_definition_id=body.entity_definition_id,
            definition=slug,
            key=key,
        )
    )


def _answer(state: EntityState, names: LiveNames) -> wire.EntityState:
    return wire.EntityState(
        entity_id=UUID(state.entity_id),
        entity_definition_id=names.entities[state.definition],
        definition=state.definition,
        key=state.key,
        event_count=state.event_count,
        first_seen_at=wire.time_text(state.first_seen_at),
        last_seen_at=wire.time_text(state.last_seen_at),
        windows=tuple(
            wire.EntityWindow(
                policy_id=names.policies[each.policy],
                policy=each.policy,
                clause=each.clause,
                value=each.value,
                threshold=each.threshold,
            )
            for each in state.windows
        ),
        active_mitigations=tuple(shown(each, names) for each in state.mitigations),
    )
