"""One decision in the parts a service needs; the same from both evaluators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs
import orjson

from tidegate.policy import effects

if TYPE_CHECKING:
    from tidegate.decider import ActionType, Reason
    from tidegate.policy.decide import Decided
    from tidegate.policy.decision import EngineDecision
    from tidegate.policy.definitions.model import Mode

_STRENGTH = ("Monitor", "Challenge", "Block")
_MODES: dict[str, Mode] = {"challenge": "Challenge", "block": "Block"}


class Served(Protocol):
    """A decision that was counted."""

    @property
    def answer(self) -> bytes:
        """The answer to the caller, as JSON: ``action``, ``reason`` and ``decision_id``."""

    @property
    def record(self) -> bytes:
        """The record of docs/decision.md, as JSON."""

    @property
    def effects(self) -> bytes:
        """The effects of the decision on the state, as JSON for ``Engine.apply_effects``."""

    @property
    def action(self) -> ActionType: ...

    @property
    def reason(self) -> Reason: ...

    @property
    def policy(self) -> str | None:
        """Slug of the answering policy."""

    @property
    def mode(self) -> Mode | None:
        """Mode of the answering mitigation."""

    @property
    def entity_id(self) -> str | None:
        """Id of the first entity of the event."""

    @property
    def entity_ids(self) -> list[str]:
        """Ids of its entities."""

    @property
    def observed_at(self) -> int:
        """The time at which the event counts, in nanoseconds since 1970."""

    @property
    def path(self) -> str | None:
        """``request.path`` as received, up to a query; None if it is empty."""

    @property
    def fired(self) -> list[tuple[str, Mode]]:
        """The policies with a clause that fired, once each, with their strongest mode."""


@attrs.frozen
class ServedDecision:
    """The decision parts of the reference evaluator."""

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

    @classmethod
    def of(cls, decided: Decided, decision_id: str) -> ServedDecision:
        """The parts of a decision."""
        decision = decided.decision
        entity_ids = [entity.entity_id for entity in decision.entities]
        return cls(
            answer=orjson.dumps({**decided.to_wire(), "decision_id": decision_id}),
            record=orjson.dumps(decision.to_record()),
            effects=effects.save(decided.changes),
            action=decision.action.type,
            reason=decision.reason,
            policy=decision.policy,
            mode=_mode(decision),
            entity_id=next(iter(entity_ids), None),
            entity_ids=entity_ids,
            observed_at=decided.time,
            path=None if decided.path is None else _without_query(decided.path),
            fired=_strongest(decision),
        )


def _mode(decision: EngineDecision) -> Mode | None:
    return _MODES.get(decision.action.type) if decision.policy is not None else None


def _without_query(path: str) -> str:
    return path.partition("?")[0].partition("#")[0]


def _strongest(decision: EngineDecision) -> list[tuple[str, Mode]]:
    strongest: dict[str, Mode] = {}
    for each in decision.fired:
        known = strongest.get(each.policy, "Monitor")
        strongest[each.policy] = max(known, each.mode, key=_STRENGTH.index)
    return list(strongest.items())
