"""Decisions that were made elsewhere, counted at the time they were observed."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest
from building import ADDRESS, BLOCK, START, Build, event, policy
from tests.generators.scenarios import arrivals, definitions

from tidegate.errors import EffectsError
from tidegate.evaluation.native import NativeEngine
from tidegate.policy.definitions.bundle import bundle
from tidegate.policy.definitions.compile import compile_all
from tidegate.policy.reference_engine import ReferenceEngine
from tidegate.policy.served import Served
from tidegate.testing.choices import RandomChoices
from tidegate_server.engines.serving import TenantEngine

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
ADDRESSES = ["192.0.2.1"]
TWO = {"duration_seconds": 60, "threshold": 2}
PATHS = {**TWO, "measure": "distinct", "field": "request.path"}
GUESSING = policy(
    {"entity": "address", "mitigation": "refuse", "window": TWO, "name": "twice"}, name="Guessing"
)
WANDERING = policy(
    {"entity": "address", "mitigation": "refuse", "window": PATHS, "name": "paths"},
    name="Wandering",
)


def engine_of(build: Build, *policies: dict[str, Any]) -> TenantEngine:
    return build(entities=[ADDRESS], mitigations=[BLOCK], policies=list(policies))


def effects(engine: TenantEngine, at: int, path: str = "/1") -> bytes:
    """The effects of another engine for an event of the address."""
    other = TenantEngine(engine.definitions, evaluator=engine.evaluator)
    return bytes(other.serve(orjson.dumps(event(path, *ADDRESSES)), at, "id").effects)


def active(engine: TenantEngine, at: int) -> list[tuple[str, int]]:
    return [(each.clause, each.expires_at) for each in engine.active_mitigations(at)]


def test_an_event_counts_once_at_its_time(build: Build) -> None:
    """A late event stands in the window before one that came later, and both reach it."""
    engine = engine_of(build, GUESSING)
    engine.decide(event("/1", *ADDRESSES), START + 30 * SECOND)
    engine.count_late(effects(engine, START), START + 31 * SECOND)
    state = engine.entity_state("address", ADDRESSES, START + 31 * SECOND)
    assert state is not None
    assert (state.event_count, state.windows[0].value) == (2, 2)
    assert (state.first_seen_at, state.last_seen_at) == (START, START + 30 * SECOND)
    assert active(engine, START + 31 * SECOND) == [("twice", START + MINUTE)]


def test_an_event_that_its_window_no_longer_holds_counts_in_none(build: Build) -> None:
    """However many come, a visitor who has done nothing since is not blocked."""
    engine = engine_of(build, GUESSING)
    now = START + 10 * MINUTE
    for second in range(5):
        engine.count_late(effects(engine, START + second * SECOND), now)
    assert active(engine, now) == []
    assert engine.decide(event("/1", *ADDRESSES), now).action.type == "allow"


def test_a_mitigation_that_has_ended_is_not_set(build: Build) -> None:
    """A Block of another engine until some time lasts until then, not longer."""
    every = policy({"entity": "address", "mitigation": "refuse", "name": "all"}, name="Every")
    engine = engine_of(build, every)
    sent = effects(engine, START)
    assert orjson.loads(engine.count_late(sent, START + MINUTE))[0][5] == []
    engine.count_late(sent, START + SECOND)
    assert active(engine, START + SECOND) == [("all", START + MINUTE)]


def test_a_value_counts_at_its_newest_time(build: Build) -> None:
    """In a distinct window a value that was seen later stays where it is."""
    engine = engine_of(build, WANDERING)
    engine.decide(event("/1", *ADDRESSES), START + 30 * SECOND)
    engine.count_late(effects(engine, START, "/1"), START + 31 * SECOND)
    assert active(engine, START + 31 * SECOND) == []
    engine.count_late(effects(engine, START + SECOND, "/2"), START + 31 * SECOND)
    assert active(engine, START + 31 * SECOND) == [("paths", START + SECOND + MINUTE)]


def test_the_clock_of_another_machine_may_not_run_ahead(build: Build) -> None:
    """A time far ahead counts as five minutes ahead, as with an event of a caller."""
    engine = engine_of(build, GUESSING)
    counted = orjson.loads(engine.count_late(effects(engine, START + 60 * MINUTE), START))
    assert counted[0][3] == str(START + 5 * MINUTE)


def test_mitigations_from_elsewhere_count_no_event(build: Build) -> None:
    """An actor is mitigated of whom nothing else is known."""
    engine = engine_of(build, GUESSING)
    until = str(START + MINUTE)
    one = ["mitigate", "address", ADDRESSES, str(START), [["guessing", "twice", until]]]
    engine.apply_effects([orjson.dumps([one])])
    state = engine.entity_state("address", ADDRESSES, START)
    assert state is not None
    assert state.event_count == 0
    assert engine.decide(event("/1", *ADDRESSES), START + SECOND).reason == "active-mitigation"
    saved = engine.snapshot()
    engine.load_state(saved)
    assert engine.snapshot() == saved


@pytest.mark.parametrize("kind", ["lift", "late", "mitigate"])
def test_only_effects_of_events_are_counted(build: Build, kind: str) -> None:
    """A lift from elsewhere, or what was counted late there, is refused."""
    engine = engine_of(build, GUESSING)
    parts: list[Any] = [[]] if kind in ("lift", "mitigate") else [[], []]
    with pytest.raises(EffectsError):
        engine.count_late(orjson.dumps([[kind, "address", ADDRESSES, "5", *parts]]), START)


@pytest.mark.parametrize("seed", range(60))
def test_both_count_late_alike(seed: int) -> None:
    """Both evaluators count decisions of a third the same way, and effects repeat it."""
    choices = RandomChoices(random.Random(seed))
    compiled = compile_all(definitions(choices)).compiled
    both = ReferenceEngine(compiled), NativeEngine(bundle(compiled))
    again = ReferenceEngine(compiled), NativeEngine(bundle(compiled))
    elsewhere = NativeEngine(bundle(compiled))
    now = 0
    for number, arrival in enumerate(arrivals(choices, 80)):
        now = max(now, arrival.received_at)
        if number % 3 == 0:
            served = [Served(*each.serve(arrival.body, now, "id")).effects for each in both]
        else:
            sent = Served(*elsewhere.serve(arrival.body, arrival.received_at, "id")).effects
            late = now + (number % 5) * 7 * SECOND
            served = [each.count_late(sent, late) for each in both]
        ours, theirs = (orjson.loads(bytes(each)) for each in served)
        assert ours == theirs
        for engine in again:
            engine.apply_effects([bytes(served[0])])
        states = [orjson.loads(engine.snapshot()) for engine in (*both, *again)]
        assert all(state == states[0] for state in states)
