"""One decision in the parts a service needs; the same from both evaluators."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import orjson

from tidegate.policy import effects

if TYPE_CHECKING:
    from tidegate.decider import ActionType, Reason
    from tidegate.policy.decide import Decided
    from tidegate.policy.decision import EngineDecision
    from tidegate.policy.definitions.model import Mode

_STRENGTH = ("Monitor", "Challenge", "Block")
_MODES: dict[str, Mode] = {"challenge": "Challenge", "block": "Block"}


class Served(NamedTuple):
    """A decision that was counted.

    Attributes:
        answer: the answer to the caller, as JSON: ``action``, ``reason`` and ``decision_id``.
        record: the record of docs/decision.md, as JSON.
        effects: the effects of the decision on the state, as JSON for ``Engine.apply_effects``.
        action: the type of its action.
        reason: why it was taken.
        policy: slug of the answering policy.
        mode: mode of the answer, whether a policy, a ban or the end of the budget gives it; None if
            it allows.
        entity_id: id of the first entity of the event.
        entity_ids: ids of its entities.
        observed_at: the time at which the event counts, in nanoseconds since 1970.
        path: ``request.path`` as received, up to a query; None if it is empty.
        fired: the policies with a clause that fired, once each, with their strongest mode.
    """

    answer: bytes
    record: bytes
    effects: bytes
    action: ActionType
    reason: Reason
    policy: str | None
    mode: Mode | None
    entity_id: str | None
    entity_ids: list[str]
    observed_at: int
    path: str | None
    fired: list[tuple[str, Mode]]


def served_of(decided: Decided, decision_id: str) -> Served:
    """The parts of a decision."""
    decision = decided.decision
    entity_ids = [entity.entity_id for entity in decision.entities]
    return Served(
        answer=orjson.dumps({**decided.to_wire(), "decision_id": decision_id}),
        record=orjson.dumps(decision.to_record()),
        effects=effects.save(decided.changes),
        action=decision.action.type,
        reason=decision.reason,
        policy=decision.policy,
        mode=_MODES.get(decision.action.type),
        entity_id=next(iter(entity_ids), None),
        entity_ids=entity_ids,
        observed_at=decided.time,
        path=None if decided.path is None else _without_query(decided.path),
        fired=_strongest(decision),
    )


def _without_query(path: str) -> str:
    return path.partition("?")[0].partition("#")[0]


def _strongest(decision: EngineDecision) -> list[tuple[str, Mode]]:
    strongest: dict[str, Mode] = {}
    for each in decision.fired:
        known = strongest.get(each.policy, "Monitor")
        strongest[each.policy] = max(known, each.mode, key=_STRENGTH.index)
    return list(strongest.items())
