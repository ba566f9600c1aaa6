"""What the engine knows of an entity now."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from tidegate.server import wire
from tidegate.server.active_mitigations import entity_of, shown
from tidegate.server.call import Answer, Call

if TYPE_CHECKING:
    from tidegate.policy.standing import EntityState
    from tidegate.server.workers.compiling import Names


def read_state(call: Call) -> Answer:
    """Counts, windows and active mitigations of an entity that the engine knows."""
    live, state = entity_of(call)
    return Answer(body=_answer(state, live.names))


def _answer(state: EntityState, names: Names) -> wire.EntityState:
    return wire.EntityState(
        entity_id=UUID(state.entity_id),
        entity_definition_id=UUID(names.entities[state.definition]),
        definition=state.definition,
        key=state.key,
        event_count=state.event_count,
        first_seen_at=wire.time_text(state.first_seen_at),
        last_seen_at=wire.time_text(state.last_seen_at),
        windows=tuple(
            wire.EntityWindow(
                policy_id=UUID(names.policies[each.policy]),
                policy=each.policy,
                clause=each.clause,
                value=each.value,
                threshold=each.threshold,
            )
            for each in state.windows
        ),
        active_mitigations=tuple(shown(each, names) for each in state.mitigations),
    )
