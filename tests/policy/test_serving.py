"""The parts of a decision that a service gets, and a state made again from them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from building import ADDRESS, BLOCK, PUZZLE, START, WATCH, Build, event, policy

from tidegate.errors import EffectsError, EventError
from tidegate_server.engines.serving import TenantEngine

DECISION_ID = '0190f1c4-5b7e-7c3a-9d2e-"quoted"'
THREE = {"duration_seconds": 60, "threshold": 3}
GUESSING = {"entity": "address", "mitigation": "refuse", "window": THREE}


def serve(engine: TenantEngine, made: dict[str, Any], seconds: int = 0) -> Any:
    return engine.serve(orjson.dumps(made), START + seconds * 1_000_000_000, DECISION_ID)


def guessing(build: Build, **settings: Any) -> TenantEngine:
    """Refuses an address for a minute at its third event."""
    return build(
        entities=[ADDRESS],
        mitigations=[BLOCK, WATCH],
        policies=[
            policy(GUESSING, {"mitigation": "watch", "name": "watching"}, name="Guessing"),
            policy({"mitigation": "watch"}, name="All"),
        ],
        settings=settings,
    )


def test_an_answer_carries_the_id_of_the_decision(build: Build) -> None:
    """A served answer has the decision's id next to the action and reason."""
    engine = build(mitigations=[PUZZLE], policies=[policy({"mitigation": "puzzle"})])
    served = serve(engine, event(return_url="https://here.test/"))
    challenge = {"provider": "pow", "difficulty": 4, "return_url": "https://here.test/"}
    assert orjson.loads(served.answer) == {
        "action": {"type": "challenge", "challenge": challenge},
        "reason": "policy",
        "decision_id": DECISION_ID,
    }
    assert (served.action, served.mode, served.reason) == ("challenge", "Challenge", "policy")


def test_served_parts_are_those_of_the_record(build: Build) -> None:
    """A service needs none of the record's JSON to index a decision."""
    engine = guessing(build)
    for _ in range(2):
        assert serve(engine, event()).action == "allow"
    served = serve(engine, event("/a?token=x", at=1.0))
    record = orjson.loads(served.record)
    assert record["clause"] == "clause-1"
    assert (served.action, served.reason) == (record["action"]["type"], record["reason"])
    assert (served.policy, served.mode) == ("guessing", "Block")
    assert served.entity_ids == [each["entity_id"] for each in record["entities"]]
    assert served.entity_id == served.entity_ids[0]
    assert served.fired == [("guessing", "Block"), ("all", "Monitor")]
    assert (served.observed_at, served.path) == (START + 1_000_000_000, "/a")


def test_what_is_absent_is_none(build: Build) -> None:
    """No policy answered, no entity applied, no path was sent."""
    served = serve(build(), {"request": {"path": ""}})
    assert (served.policy, served.mode, served.entity_id, served.path) == (None,) * 4
    assert (served.entity_ids, served.fired, served.effects) == ([], [], b"[]")
    assert (served.action, served.reason) == ("allow", "no-match")


def test_a_refused_event_is_not_served(build: Build) -> None:
    """A refused event has no decision, and leaves no state."""
    engine = guessing(build)
    with pytest.raises(EventError):
        engine.serve(b'{"request": 1}', START, DECISION_ID)
    assert engine.stats()["keys"] == 0


def test_effects_are_written_as_documented(build: Build) -> None:
    """Effects have one entry for each applying entity: key, time, counts and mitigations."""
    engine = guessing(build)
    effects = [orjson.loads(serve(engine, event()).effects) for _ in range(3)]
    counted = ["event", "address", ["192.0.2.1"], str(START), [["guessing", "clause-1", None]]]
    ends = str(START + 60 * 1_000_000_000)
    assert effects[0] == [[*counted, []]]
    assert effects[2] == [[*counted, [["guessing", "clause-1", ends]]]]


def test_effects_make_the_state_again_evictions_included(build: Build) -> None:
    """A fresh engine that repeats them decides on as the first would."""
    first, second = guessing(build, max_keys=2), guessing(build, max_keys=2)
    events = [event(ip=f"192.0.2.{number % 3}") for number in range(20)]
    effects = [serve(first, each, number).effects for number, each in enumerate(events)]
    second.apply_effects(effects)
    assert first.stats()["evictions_total"] > 0
    assert second.snapshot() == first.snapshot()


def test_effects_without_a_place_are_passed_over(build: Build) -> None:
    """Effects on an entity, clause, measure or mitigation that is gone are skipped."""
    ends = str(START + 1)
    entries = [
        ["event", "gone", ["x"], str(START), [], []],
        ["event", "address", ["x", "y"], str(START), [], []],
        [
            "event",
            "address",
            ["x"],
            str(START),
            [["guessing", "clause-1", "a value"], ["guessing", "gone", None], ["gone", "c", None]],
            [["guessing", "watching", ends], ["guessing", "gone", ends]],
        ],
    ]
    engine = guessing(build)
    engine.apply_effects([orjson.dumps(entries)])
    (key,) = orjson.loads(engine.snapshot())["keys"]
    value = {"type": "string", "value": "x"}
    assert key == ["address", [value], 1, str(START), str(START), [], []]


GOOD = ["event", "address", ["x"], "5", [["guessing", "clause-1", None]], []]


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"{}",
        b"[1]",
        b"[[]]",
        b'[["event"]]',
        orjson.dumps([["other", *GOOD[1:]]]),
        orjson.dumps([[*GOOD, 1]]),
        orjson.dumps([["event", 1, *GOOD[2:]]]),
        orjson.dumps([["event", "address", "x", *GOOD[3:]]]),
        orjson.dumps([["event", "address", [1.5], *GOOD[3:]]]),
        orjson.dumps([["event", "address", [None], *GOOD[3:]]]),
        b'[["event","address",[18446744073709551616],"5",[],[]]]',
        orjson.dumps([["event", "address", ["x"], 5, [], []]]),
        orjson.dumps([["event", "address", ["x"], "05", [], []]]),
        orjson.dumps([["event", "address", ["x"], "-5", [], []]]),
        orjson.dumps([["event", "address", ["x"], "9223372036854775808", [], []]]),
        orjson.dumps([["event", "address", ["x"], "5", [["guessing", "clause-1"]], []]]),
        orjson.dumps([["event", "address", ["x"], "5", [["guessing", "clause-1", 5]], []]]),
        orjson.dumps([["event", "address", ["x"], "5", [], [["guessing", "clause-1", None]]]]),
        orjson.dumps([["event", "gone", ["x"], "5", [], [["guessing", "clause-1", "x"]]]]),
        orjson.dumps([GOOD, [*GOOD[:5], None]]),
    ],
)
def test_malformed_effects_leave_nothing_of_themselves(build: Build, bad: bytes) -> None:
    """Of several effects those before a malformed one stay, and the error gives its position."""
    engine = guessing(build)
    with pytest.raises(EffectsError, match="entry 1") as caught:
        engine.apply_effects([orjson.dumps([GOOD]), bad, orjson.dumps([GOOD])])
    assert (caught.value.code, caught.value.position) == ("invalid-effects", 1)
    (key,) = orjson.loads(engine.snapshot())["keys"]
    assert key[2] == 1


def test_a_recorded_decision_is_explained_as_it_was_made(build: Build) -> None:
    """The effects before a decision and its time of receipt are enough to explain it."""
    engine = guessing(build)
    log = []
    for number in range(6):
        made = event(ip=f"192.0.2.{number % 2}", path=f"/{number}")
        log.append((made, serve(engine, made, number)))
    for at, (made, served) in enumerate(log):
        then = guessing(build)
        then.apply_effects(earlier.effects for _, earlier in log[:at])
        explanation = then.explain(made, START + at * 1_000_000_000)
        assert explanation.decision.to_record() == orjson.loads(served.record)
