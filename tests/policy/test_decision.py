"""A decision is read of its record where it is asked for."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import orjson
import pytest
from building import ADDRESS, ONCE, Build, event, policy

from tidegate.decider import Allow, Block, Challenge
from tidegate.policy.decision import EngineDecision

RECORD: dict[str, Any] = {
    "action": {"type": "block", "block": {"status_code": 429, "body": "", "headers": {"a": "b"}}},
    "reason": "policy",
    "policy": "p",
    "clause": "c",
    "mitigation": "m",
    "entities": [{"definition": "address", "entity_id": "e", "key": ["192.0.2.1"]}],
    "matched_actions": ["login"],
    "fired": [
        {
            "policy": "p",
            "clause": "c",
            "mitigation": "m",
            "mode": "Block",
            "entity_id": "e",
            "window": {"value": 3, "threshold": 3},
            "active": False,
        }
    ],
    "errors": {},
}


def test_nothing_is_read_before_it_is_asked_for() -> None:
    """A fault in a record is an error when its part is read, and the other parts can be read."""
    broken = EngineDecision.from_record(b"no JSON")
    with pytest.raises(orjson.JSONDecodeError):
        _ = broken.action
    partial = EngineDecision.from_record({"action": RECORD["action"]})
    assert partial.action == Block(429, "", {"a": "b"})
    with pytest.raises(KeyError):
        _ = partial.fired


def test_it_is_the_same_as_one_that_was_read_whole() -> None:
    """Equal, copied, pickled and written as such."""
    decision = EngineDecision.from_record(orjson.dumps(RECORD))
    assert decision == EngineDecision.from_record(RECORD)
    assert decision.to_record() == RECORD
    for again in (copy.copy(decision), pickle.loads(pickle.dumps(decision))):
        assert again == decision
    assert decision.decision_id is None
    assert "Block(type='block', status_code=429" in repr(decision)


def test_a_misspelt_member_is_an_error() -> None:
    """A misspelt member of a decision is an error, as of every other object."""
    with pytest.raises(AttributeError, match="polcy"):
        _ = EngineDecision.from_record(RECORD).polcy  # type: ignore[attr-defined]


def test_match_tells_actions_apart(build: Build) -> None:
    """``match`` distinguishes actions by class, and by type."""
    engine = build(
        entities=[ADDRESS],
        mitigations=[ONCE],
        policies=[policy({"mitigation": "once"}, expression='request.path == "/trap"')],
    )
    found = []
    for path in ("/", "/trap"):
        match engine.decide(event(path)).action:
            case Allow():
                found.append("allow")
            case Challenge():
                found.append("challenge")
            case Block(status_code=403):
                found.append("block")
    assert found == ["allow", "block"]
