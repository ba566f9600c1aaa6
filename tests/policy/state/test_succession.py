"""Definitions changed under way, and states copied under way."""

from __future__ import annotations

import threading
from typing import Any

import orjson
import pytest
from building import ADDRESS, BLOCK, START, Build, document, event, policy

from tidegate.errors import DefinitionsError, SnapshotError
from tidegate_server.engines.serving import TenantEngine

SECOND = 1_000_000_000
HOST = {"name": "Host", "key_fields": ["request.client_ip", "request.path"]}


def window(threshold: int, **members: Any) -> dict[str, Any]:
    return {"duration_seconds": 60, "threshold": threshold, **members}


def guessing(threshold: int = 3, **members: Any) -> dict[str, Any]:
    clause = {"name": "c", "entity": "address", "mitigation": "refuse", **members}
    return policy({**clause, "window": window(threshold)}, name="Guessing")


def sections(*policies: dict[str, Any], entities: Any = (ADDRESS,), **more: Any) -> dict[str, Any]:
    return {
        "entities": list(entities),
        "mitigations": [BLOCK],
        "policies": list(policies or [guessing()]),
        **more,
    }


def decide(engine: TenantEngine, *seconds: float, ip: str = "192.0.2.1") -> list[str]:
    return [
        engine.decide(event(ip=ip), START + round(second * SECOND)).action.type
        for second in seconds
    ]


def test_windows_and_mitigations_go_on_by_changed_definitions(build: Build) -> None:
    """Windows and mitigations keep their content under changed definitions."""
    old = build(**sections())
    decide(old, 0, 1)
    new = old.with_definitions(document(**sections(guessing(expression="true"))))
    assert decide(new, 2, 3) == ["block", "block"]
    assert new.definitions.policies[0].clauses[0].expression == "true"
    assert new.evaluator == old.evaluator


CHANGES = [
    sections(guessing(2)),
    sections(guessing(9)),
    sections(guessing(mitigation=None)),
    sections(policy({"name": "new"}, name="Before"), guessing()),
    sections(guessing(), entities=(HOST, ADDRESS)),
    sections(guessing(entity="host"), entities=(HOST, ADDRESS)),
    sections(
        policy(
            {
                "entity": "address",
                "name": "c",
                "window": window(3, measure="distinct", field="source"),
            },
            name="Guessing",
        )
    ),
    sections(guessing(), entities=({**ADDRESS, "key_fields": ["request.client_ip", "source"]},)),
    sections(guessing(), settings={"max_keys": 2}),
    sections(policy({}, name="Other"), entities=()),
]


@pytest.mark.parametrize("changed", CHANGES)
def test_what_is_taken_over_is_what_a_snapshot_would_bring(
    build: Build, changed: dict[str, Any]
) -> None:
    """Thresholds, measures, order, entities and bounds: to the byte."""
    old = build(**sections())
    for last in range(4):
        decide(old, *range(last + 1), ip=f"192.0.2.{last}")
    restored = TenantEngine.restore(document(**changed), old.snapshot(), build.evaluator)
    assert old.with_definitions(document(**changed)).snapshot() == restored.snapshot()


def test_the_new_engine_takes_over_what_the_old_still_decides(build: Build) -> None:
    """Decisions, effects and lifts between the call and the swap are not lost."""
    changed = document(**sections(policy({"name": "new"}, name="Before"), guessing()))
    old = build(**sections())
    decide(old, 0)
    new = old.with_definitions(changed)
    decide(old, 1, 2)
    served = old.serve(orjson.dumps(event()), START + 3 * SECOND, "id")
    assert old.lift("address", ["192.0.2.1"], "guessing", None, START + 4 * SECOND)
    old.apply_effects([served.effects])
    restored = TenantEngine.restore(changed, old.snapshot(), build.evaluator)
    assert new.snapshot() == restored.snapshot()
    assert old.lift("address", ["192.0.2.1"], "guessing", None, START + 5 * SECOND)
    assert new.active_mitigations(START + 5 * SECOND) == []


def test_the_old_engine_does_not_see_the_new_one(build: Build) -> None:
    """The old engine stays intact when the change is not used."""
    old = build(**sections())
    decide(old, 0)
    before = old.snapshot()
    new = old.with_definitions(document(**sections()))
    decide(new, 1, 2)
    assert old.snapshot() == before
    del new
    assert decide(old, 1, 2) == ["allow", "block"]


def test_a_line_of_successors_keeps_the_state(build: Build) -> None:
    """Each successor takes over from the one before, with decisions between."""
    engine = build(**sections(guessing(4)))
    for second in range(3):
        assert decide(engine, second) == ["allow"]
        engine = engine.with_definitions(document(**sections(guessing(4), revision=second)))
    assert decide(engine, 3) == ["block"]


def test_definitions_that_are_refused_change_nothing(build: Build) -> None:
    """Malformed definitions, or definitions of another tenant, leave the engine unchanged."""
    old = build(**sections())
    with pytest.raises(DefinitionsError):
        old.with_definitions(document(entitys=[]))
    other = {**document(**sections()), "tenant": {"name": "Other"}}
    with pytest.raises(SnapshotError, match="another tenant"):
        old.with_definitions(other)
    assert decide(old, 0) == ["allow"]


def test_a_frozen_state_stays_as_it_was(build: Build) -> None:
    """While the engine changes, evicts and freezes again."""
    engine = build(**sections(settings={"max_keys": 150}))
    for last in range(200):
        decide(engine, 0, 1, ip=f"192.0.2.{last}")
    expected = engine.snapshot()
    frozen = engine.freeze()
    for last in range(100, 250):
        decide(engine, 2, ip=f"192.0.2.{last}")
    later = engine.freeze()
    assert frozen.snapshot() == expected
    assert later.snapshot() == engine.snapshot() != expected


def test_a_frozen_state_is_handed_over_in_pieces(build: Build) -> None:
    """The pieces of a frozen state make up the snapshot, and an error ends the writing."""
    engine = build(**sections(settings={"max_keys": 9_000}))
    for last in range(9_000):
        decide(engine, 0, ip=f"2001:db8::{last:x}")
    frozen = engine.freeze()
    pieces: list[bytes] = []
    frozen.write(pieces.append)
    assert b"".join(pieces) == frozen.snapshot()
    assert len(pieces) > 1 or engine.evaluator == "reference"

    def refuse(piece: bytes) -> None:
        raise OSError(len(piece))

    with pytest.raises(OSError, match=r"[0-9]+"):
        frozen.write(refuse)


def test_a_state_is_frozen_whole_while_threads_decide(build: Build) -> None:
    """Two addresses that are seen alternately differ by one event at most."""
    engine = build(**sections(guessing(9)))
    done = threading.Event()

    def work() -> None:
        for number in range(400):
            decide(engine, number / 1000, ip=f"192.0.2.{number % 2}")
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        counts = [key[2] for key in orjson.loads(engine.freeze().snapshot())["keys"]]
        assert max(counts, default=0) - min(counts, default=0) <= 1
    thread.join()
