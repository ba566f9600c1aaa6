"""How entities stand, and mitigations that operators end."""

from __future__ import annotations

import orjson
from building import ADDRESS, BLOCK, START, WATCH, Build, event, policy

from tidegate_server.engines.serving import TenantEngine

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
TWO = {"duration_seconds": 60, "threshold": 2}
PATHS = {**TWO, "threshold": 5, "measure": "distinct", "field": "request.path"}
HOST = {"name": "Host", "key_fields": ["size(request.path)", "request.client_ip"]}
GUESSING = policy(
    {"entity": "address", "mitigation": "refuse", "window": TWO, "name": "twice"},
    {"entity": "address", "window": PATHS, "name": "paths"},
    {"entity": "address", "mitigation": "watch", "name": "seen"},
    name="Guessing",
)
OTHER = policy({"entity": "host", "mitigation": "refuse", "name": "all"}, name="Other")


def engine_of(build: Build) -> TenantEngine:
    """Three addresses, of which two are refused; everything lasts a minute."""
    engine = build(
        entities=[ADDRESS, HOST],
        mitigations=[BLOCK, {**WATCH, "ttl_seconds": 60}],
        policies=[GUESSING, OTHER],
    )
    for second, last in enumerate([1, 2, 3, 1, 2]):
        engine.decide(event(f"/{second}", f"192.0.2.{last}"), START + second * SECOND)
    return engine


def names(engine: TenantEngine, at: int, **page: int) -> list[tuple[str, str]]:
    listed = engine.active_mitigations(at, **page)
    return [(str(each.key[-1]), f"{each.policy}/{each.clause}") for each in listed]


def test_active_mitigations_are_listed_in_the_order_of_their_names(build: Build) -> None:
    """Active mitigations are listed by definition, key, policy and clause."""
    listed = engine_of(build).active_mitigations(START + 5 * SECOND)
    assert [each.name for each in listed] == sorted(each.name for each in listed)
    assert len(listed) == 8
    first = listed[0]
    assert (first.definition, first.key, first.policy) == ("address", ("192.0.2.1",), "guessing")
    assert (first.clause, first.mitigation, first.mode) == ("seen", "watch", "Monitor")
    assert first.expires_at == START + 3 * SECOND + MINUTE


def test_ended_mitigations_are_not_listed(build: Build) -> None:
    """Expired mitigations are not listed, even while the state still has them."""
    engine = engine_of(build)
    assert ("192.0.2.3", "guessing/seen") not in names(engine, START + 2 * SECOND + MINUTE)
    assert names(engine, START + 4 * SECOND + MINUTE) == []


def test_pages_follow_each_other_without_gap(build: Build) -> None:
    """Each page continues after the last item of the previous one, though the state changes
    between."""
    engine, at = engine_of(build), START + 5 * SECOND
    expected = engine.active_mitigations(at)
    found = page = engine.active_mitigations(at, limit=3)
    while page:
        engine.decide(event("/1", "192.0.2.1"), at)
        page = engine.active_mitigations(at, limit=3, after=page[-1])
        found = found + page
    assert [each.name for each in found] == [each.name for each in expected]
    assert engine.active_mitigations(at, limit=0) == []


def test_a_lifted_mitigation_answers_no_more(build: Build) -> None:
    """A lifted mitigation neither answers nor is listed, and its window goes on."""
    engine, at = engine_of(build), START + MINUTE - SECOND
    waiting = event("/0", "192.0.2.1")
    assert engine.entity_state("address", ["192.0.2.1"], at) is not None
    assert engine.lift("address", ["192.0.2.1"], "guessing", "twice", at)
    listed = names(engine, at)
    assert ("192.0.2.1", "guessing/twice") not in listed
    assert ("192.0.2.1", "guessing/seen") in listed
    assert engine.decide(waiting, START + MINUTE + 4 * SECOND).clause == "all"


def test_all_of_a_policy_can_be_lifted_at_once(build: Build) -> None:
    """Lifting a policy leaves mitigations of other policies and entities."""
    engine, at = engine_of(build), START + 5 * SECOND
    engine.lift("address", ["192.0.2.1"], "guessing", None, at)
    kept = names(engine, at)
    assert not [each for each in kept if each[0] == "192.0.2.1" and "guessing" in each[1]]
    assert ("192.0.2.1", "other/all") in kept
    assert ("192.0.2.2", "guessing/twice") in kept


def test_what_is_not_there_is_not_lifted(build: Build) -> None:
    """No such entity, policy or clause, or it has ended: the state stays to the byte."""
    engine, at = engine_of(build), START + 5 * SECOND
    before = engine.snapshot()
    address = ["192.0.2.1"]
    assert engine.lift("address", ["192.0.2.9"], "guessing", None, at) is None
    assert engine.lift("gone", address, "guessing", None, at) is None
    assert engine.lift("address", [1.5], "guessing", None, at) is None  # type: ignore[list-item]
    assert engine.lift("address", address, "gone", None, at) is None
    assert engine.lift("address", address, "guessing", "paths", at) is None
    assert engine.lift("address", address, "guessing", None, at + 2 * MINUTE) is None
    assert engine.snapshot() == before


def test_effects_repeat_a_lift(build: Build) -> None:
    """Effects repeat a lift in the order of the log, among the decisions around it."""
    engine, again = engine_of(build), engine_of(build)
    at = START + 5 * SECOND
    lifted = engine.lift("address", ["192.0.2.1"], "guessing", None, at)
    assert lifted is not None
    assert orjson.loads(lifted) == [
        ["lift", "address", ["192.0.2.1"], str(at), [["guessing", "twice"], ["guessing", "seen"]]]
    ]
    served = engine.serve(orjson.dumps(event(ip="192.0.2.1")), at + SECOND, "id")
    again.apply_effects([lifted, served.effects])
    assert again.snapshot() == engine.snapshot()


def test_a_lift_of_an_unknown_entity_is_passed_over(build: Build) -> None:
    """A lift of an unknown entity makes no block for it."""
    engine = engine_of(build)
    before = engine.snapshot()
    engine.apply_effects([b'[["lift","address",["203.0.113.1"],"5",[["guessing","twice"]]]]'])
    assert engine.snapshot() == before


def test_the_state_of_an_entity_is_what_is_known_of_it(build: Build) -> None:
    """Windows as they stand at the time, without another event."""
    engine = engine_of(build)
    state = engine.entity_state("address", ["192.0.2.1"], START + 5 * SECOND)
    assert state is not None
    assert (state.definition, state.key, state.event_count) == ("address", ("192.0.2.1",), 2)
    assert (state.first_seen_at, state.last_seen_at) == (START, START + 3 * SECOND)
    windows = [(each.clause, each.value, each.threshold) for each in state.windows]
    assert windows == [("twice", 2, 2), ("paths", 2, 5)]
    assert [each.clause for each in state.mitigations] == ["twice", "seen"]
    later = engine.entity_state("address", ["192.0.2.1"], START + MINUTE + SECOND)
    assert later is not None
    assert [each.value for each in later.windows] == [1, 1]
    # The oldest event that is still counted leaves the window a minute after it.
    for known, oldest in ((state, START), (later, START + 3 * SECOND)):
        assert [(each.duration, each.falls_at) for each in known.windows] == [
            (MINUTE, oldest + MINUTE)
        ] * 2
    empty = engine.entity_state("address", ["192.0.2.1"], START + 3 * MINUTE)
    assert empty is not None
    assert [(each.value, each.falls_at) for each in empty.windows] == [(0, None)] * 2
    assert engine.entity_state("address", ["192.0.2.9"], START) is None
    assert engine.entity_state("gone", ["192.0.2.1"], START) is None


def test_an_entity_is_found_by_its_id(build: Build) -> None:
    """An entity is found by the id that decisions have."""
    engine = engine_of(build)
    decision = engine.decide(event("/0", "192.0.2.1"), START + 5 * SECOND)
    for entity in decision.entities:
        assert engine.find_entity(entity.entity_id) == (entity.definition, entity.key)
        state = engine.entity_state(entity.definition, entity.key, START)
        assert state is not None
        assert state.entity_id == entity.entity_id
    assert engine.find_entity("6f9619ff-8b86-4d01-b42d-00cf4fc964ff") is None
    assert engine.find_entity("no id") is None
