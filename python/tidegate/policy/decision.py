"""What was decided on one event, and why; the same from both evaluators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import attrs
import orjson

from tidegate.policy.model import Mode

ActionType: TypeAlias = Literal["allow", "challenge", "block"]
Reason: TypeAlias = Literal["no-match", "policy", "active-mitigation", "budget-exceeded"]


@attrs.frozen
class ChallengeAnswer:
    """What the client is to complete, and where it wants to go afterwards."""

    provider: str
    difficulty: int
    return_url: str | None


@attrs.frozen
class BlockAnswer:
    """What the blocked client is sent."""

    status_code: int
    body: str
    headers: Mapping[str, str]


@attrs.frozen
class DecidedAction:
    """What to do with the request; a member named by the type says how."""

    type: ActionType
    challenge: ChallengeAnswer | None = None
    block: BlockAnswer | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        return attrs.asdict(
            self, filter=lambda _, value: value is not None or _.name == "return_url"
        )


@attrs.frozen
class Entity:
    """An actor the event belongs to."""

    definition: str
    entity_id: str
    key: tuple[str | int | bool, ...]


@attrs.frozen
class WindowValue:
    """How far a window is filled, this event counted."""

    value: int
    threshold: int


@attrs.frozen
class FiredClause:
    """A clause that fired; ``active`` when only its mitigation of an earlier event did."""

    policy: str
    clause: str
    mitigation: str | None
    mode: Mode
    entity_id: str | None
    window: WindowValue | None
    active: bool


@attrs.frozen
class Decision:
    """One decision.

    Attributes:
        action: what to do with the request.
        reason: ``policy``, ``active-mitigation``, ``no-match`` or ``budget-exceeded``.
        policy: slug of the policy that decided, None when none did.
        clause: name of its clause.
        mitigation: slug of the mitigation applied.
        entities: the actors the event belongs to; the first is the primary one.
        matched_actions: slugs of the actions recognised.
        fired: every clause that fired, in order; Monitor clauses too.
        errors: place of an expression to the code of its error.
        budget_ended_at: where the budget of the decision ended, empty when it did not: the place
            of an expression among actions and policies, one among entities, or both.
    """

    action: DecidedAction
    reason: Reason
    policy: str | None
    clause: str | None
    mitigation: str | None
    entities: tuple[Entity, ...]
    matched_actions: tuple[str, ...]
    fired: tuple[FiredClause, ...]
    errors: Mapping[str, str]
    budget_ended_at: tuple[str, ...] = ()

    @classmethod
    def from_record(cls, record: bytes | str | Mapping[str, Any]) -> Decision:
        """The decision of a record, as :meth:`to_record` gives it or as JSON text."""
        data = record if isinstance(record, Mapping) else orjson.loads(record)
        return cls(
            action=_action(data["action"]),
            reason=data["reason"],
            policy=data["policy"],
            clause=data["clause"],
            mitigation=data["mitigation"],
            entities=tuple(
                Entity(each["definition"], each["entity_id"], tuple(each["key"]))
                for each in data["entities"]
            ),
            matched_actions=tuple(data["matched_actions"]),
            fired=tuple(_fired(each) for each in data["fired"]),
            errors=dict(data["errors"]),
            budget_ended_at=tuple(data.get("budget_ended_at", ())),
        )

    def to_record(self) -> dict[str, Any]:
        """Everything, as JSON data."""
        ended = {"budget_ended_at": list(self.budget_ended_at)} if self.budget_ended_at else {}
        return {
            "action": self.action.to_dict(),
            "reason": self.reason,
            "policy": self.policy,
            "clause": self.clause,
            "mitigation": self.mitigation,
            "entities": [{**attrs.asdict(each), "key": list(each.key)} for each in self.entities],
            "matched_actions": list(self.matched_actions),
            "fired": [attrs.asdict(each) for each in self.fired],
            "errors": dict(self.errors),
            **ended,
        }

    def to_wire(self) -> dict[str, Any]:
        """What the caller is sent."""
        return {"action": self.action.to_dict(), "reason": self.reason}


def _action(data: Mapping[str, Any]) -> DecidedAction:
    challenge, block = data.get("challenge"), data.get("block")
    return DecidedAction(
        data["type"],
        ChallengeAnswer(**challenge) if challenge else None,
        BlockAnswer(**block) if block else None,
    )


def _fired(data: Mapping[str, Any]) -> FiredClause:
    window = data["window"]
    return FiredClause(**{**data, "window": WindowValue(**window) if window else None})
