"""Compares decisions with the expected ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from tidegate.decider import Block, Challenge
from tidegate.errors import EventError
from tidegate.policy.decision import EngineDecision

if TYPE_CHECKING:
    from tidegate.policy.decision import FiredClause
    from tidegate.testing.policies.model import Bounds, Expectation, ExpectedClause

Outcome: TypeAlias = "EngineDecision | EventError"
"""A decision, or the reason for which the event was refused."""


@attrs.frozen
class Difference:
    """A member that isn't as expected."""

    member: str
    expected: Any
    got: Any


def compare(expect: Expectation, outcome: Outcome) -> list[Difference]:
    """The members in which an outcome isn't as expected.

    Args:
        expect: the expected decision.
        outcome: the decision, or the refusal of the event.
    """
    if isinstance(outcome, EventError):
        if expect.refused is not None and expect.refused in str(outcome):
            return []
        return [Difference("refused", expect.refused, str(outcome))]
    got = _got(outcome)
    differences = [
        Difference(name, value, got[name])
        for name, value in attrs.asdict(expect, recurse=False).items()
        if value is not None and name != "fired" and value != got[name]
    ]
    if expect.fired is not None and not _have_fired(expect.fired, outcome.fired):
        expected = [_written(each) for each in expect.fired]
        fired = [_written(each) for each in map(_fired, outcome.fired)]
        differences.append(Difference("fired", expected, fired))
    return differences


def compare_count(kind: str, bounds: Bounds, got: int) -> Iterator[Difference]:
    """The bounds that a number of decisions doesn't keep.

    Args:
        kind: the kind of decisions.
        bounds: how many are expected.
        got: how many there were.
    """
    if got < bounds.at_least:
        yield Difference(kind, f"at least {bounds.at_least}", got)
    if bounds.at_most is not None and got > bounds.at_most:
        yield Difference(kind, f"at most {bounds.at_most}", got)


def summary_of(outcome: Outcome) -> dict[str, Any]:
    """An outcome in a few members, as files of expected decisions have it."""
    if isinstance(outcome, EventError):
        return {"refused": True}
    return {
        "action": outcome.action.type,
        "reason": outcome.reason,
        "policy": outcome.policy,
        "clause": outcome.clause,
    }


def _got(decision: EngineDecision) -> dict[str, Any]:
    action = decision.action
    challenge = action if isinstance(action, Challenge) else None
    return {
        "action": action.type,
        "reason": decision.reason,
        "policy": decision.policy,
        "clause": decision.clause,
        "mitigation": decision.mitigation,
        "status_code": action.status_code if isinstance(action, Block) else None,
        "provider": challenge and challenge.provider,
        "difficulty": challenge and challenge.difficulty,
        "return_url": challenge and challenge.return_url,
        "matched_actions": decision.matched_actions,
        "entities": {each.definition: each.key for each in decision.entities},
        "errors": dict(decision.errors),
        "client_ip_problem": decision.client_ip_problem,
        "refused": None,
    }


def _have_fired(expected: tuple[ExpectedClause, ...], fired: tuple[FiredClause, ...]) -> bool:
    return len(expected) == len(fired) and all(
        _written(one).items() <= _fired(other).items()
        for one, other in zip(expected, fired, strict=True)
    )


def _fired(clause: FiredClause) -> dict[str, Any]:
    return {
        "policy": clause.policy,
        "clause": clause.clause,
        "mitigation": clause.mitigation,
        "mode": clause.mode,
        "active": clause.active,
        "window": clause.window and clause.window.value,
    }


def _written(clause: ExpectedClause | Mapping[str, Any]) -> dict[str, Any]:
    """The members that a clause has."""
    members = clause if isinstance(clause, Mapping) else attrs.asdict(clause)
    return {name: value for name, value in members.items() if value is not None}
