"""The two evaluators decide alike: equal records and equal state after every event."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import attrs
import orjson
import pytest

from tidegate.evaluation.native import NativeEngine
from tidegate.policy.decide import decide
from tidegate.policy.definitions.bundle import bundle
from tidegate.policy.definitions.compile import compile_all
from tidegate.policy.reference_engine import ReferenceEngine
from tidegate.policy.served import ServedDecision
from tidegate.policy.state import snapshot
from tidegate.policy.state.state import State
from tidegate.testing.choices import RandomChoices
from tidegate.testing.scenarios import arrivals, changed, definitions

if TYPE_CHECKING:
    from tidegate.policy.definitions.compiled import CompiledDefinitions
    from tidegate.policy.definitions.model import Definitions
    from tidegate.testing.scenarios import Arrival

EVENTS = 60
SCENARIOS = 150
PEEK_EVERY = 7


class Pair:
    """One definition set in both evaluators."""

    def __init__(self, compiled: CompiledDefinitions) -> None:
        self.compiled = compiled
        self.state = State(compiled.max_keys)
        self.native = NativeEngine(bundle(compiled))
        self.effects: list[bytes] = []

    def serve(self, arrival: Arrival) -> None:
        """As :meth:`decide`, in the parts that a service needs."""
        decided = decide(self.compiled, self.state, arrival.body, arrival.received_at)
        expected = ServedDecision.of(decided, "an id")
        self.state.apply(decided.changes)
        served = self.native.serve(arrival.body, arrival.received_at, "an id")
        for name in ("answer", "record", "effects"):
            assert orjson.loads(getattr(served, name)) == orjson.loads(getattr(expected, name))
        for attribute in attrs.fields(ServedDecision)[3:]:
            assert getattr(served, attribute.name) == getattr(expected, attribute.name)
        self.effects.append(served.effects)

    def decide(self, arrival: Arrival) -> None:
        decided = decide(self.compiled, self.state, arrival.body, arrival.received_at)
        expected = decided.decision.to_record()
        event = orjson.loads(arrival.body)
        if arrival.received_at % PEEK_EVERY == 0:
            peeked = self.native.peek(event, arrival.received_at)
            assert orjson.loads(peeked) == expected
            states = orjson.loads(self.native.entity_states(event, arrival.received_at))
            assert [key[2] for key in states["keys"]] == [
                each.block.event_count for each in decided.entities if each.block
            ]
        self.state.apply(decided.changes)
        if arrival.received_at % 2:
            wire = self.native.decide_json(arrival.body, arrival.received_at)
            assert orjson.loads(wire) == decided.decision.to_wire()
        else:
            record = self.native.decide_record(arrival.body, arrival.received_at)
            assert orjson.loads(record) == expected

    def compare_states(self) -> None:
        native = orjson.loads(self.native.snapshot())
        assert native == orjson.loads(snapshot.save(self.compiled, self.state))

    def exchange(self, sample: list[bytes]) -> None:
        """Restore each from the snapshot of the other, the native one trained."""
        of_native = self.native.snapshot()
        of_reference = snapshot.save(self.compiled, self.state)
        self.native = NativeEngine(bundle(self.compiled), sample=sample)
        self.native.restore(of_reference)
        self.state = snapshot.restore(self.compiled, of_native)


def _others(choices: RandomChoices, seed: int, before: Definitions) -> Definitions:
    """Other definitions: mostly those before, changed."""
    return definitions(choices) if seed % 3 == 0 else changed(choices, before)


@pytest.mark.parametrize("seed", range(SCENARIOS))
def test_both_evaluators_decide_and_remember_alike(seed: int) -> None:
    """Records and snapshots are equal after every event, also past a restart in the middle.

    The native evaluator is trained on what has arrived then. Of every fourth set the expressions
    run out of cost, each somewhere else.
    """
    choices = RandomChoices(random.Random(seed))
    compilation = compile_all(definitions(choices))
    assert not [each for each in compilation.findings if each.severity == "error"]
    compiled = compilation.compiled
    if seed % 4 == 0:
        limits = attrs.evolve(compiled.limits, cost=choices.below(60))
        compiled = attrs.evolve(compiled, limits=limits)
    pair = Pair(compiled)
    arrived: list[bytes] = []
    for arrival in arrivals(choices, EVENTS):
        if len(arrived) == EVENTS // 2:
            pair.exchange(arrived)
        arrived.append(arrival.body)
        pair.decide(arrival)
        pair.compare_states()


@pytest.mark.parametrize("seed", range(0, SCENARIOS, 3))
def test_both_serve_alike_and_effects_make_the_state_again(seed: int) -> None:
    """Both evaluators serve alike, and effects repeat the state, also after a restart."""
    choices = RandomChoices(random.Random(seed))
    pair = Pair(compile_all(definitions(choices)).compiled)
    middle = pair.native.snapshot()
    for number, arrival in enumerate(arrivals(choices, EVENTS)):
        if number == EVENTS // 2:
            middle = pair.native.snapshot()
            pair.effects.clear()
        pair.serve(arrival)
        pair.compare_states()
    for again in (ReferenceEngine(pair.compiled), NativeEngine(bundle(pair.compiled))):
        again.restore(middle)
        again.apply_effects(pair.effects)
        assert orjson.loads(again.snapshot()) == orjson.loads(pair.native.snapshot())


@pytest.mark.parametrize("seed", range(0, SCENARIOS, 10))
def test_both_apply_effects_to_changed_definitions_alike(seed: int) -> None:
    """Both evaluators apply the same part of effects to changed definitions."""
    choices = RandomChoices(random.Random(seed))
    before = definitions(choices)
    old = Pair(compile_all(before).compiled)
    for arrival in arrivals(choices, EVENTS):
        old.serve(arrival)
    new = compile_all(_others(choices, seed, before)).compiled
    reference, native = ReferenceEngine(new), NativeEngine(bundle(new))
    reference.apply_effects(old.effects)
    native.apply_effects(old.effects)
    assert orjson.loads(native.snapshot()) == orjson.loads(reference.snapshot())


@pytest.mark.parametrize("seed", range(0, SCENARIOS, 5))
def test_both_change_definitions_under_way_alike(seed: int) -> None:
    """Both evaluators take over the same state under changed definitions, with later decisions of
    the old engine."""
    choices = RandomChoices(random.Random(seed))
    before = definitions(choices)
    old = compile_all(before).compiled
    new = compile_all(_others(choices, seed, before)).compiled
    reference, native = ReferenceEngine(old), NativeEngine(bundle(old))
    events = list(arrivals(choices, EVENTS))
    for arrival in events[:40]:
        for engine in (reference, native):
            engine.decide_json(arrival.body, arrival.received_at)
    heirs = reference.with_definitions(new), native.with_definitions(bundle(new))
    restored = NativeEngine(bundle(new))
    restored.restore(native.snapshot())
    assert heirs[1].snapshot() == restored.snapshot()
    for arrival in events[40:]:
        for engine in (reference, native):
            engine.decide_json(arrival.body, arrival.received_at)
    ours, theirs = (orjson.loads(heir.snapshot()) for heir in heirs)
    assert ours == theirs
    for arrival in arrivals(choices, EVENTS):
        first, second = (h.decide_record(arrival.body, arrival.received_at) for h in heirs)
        assert orjson.loads(first) == orjson.loads(second)
    ours, theirs = (orjson.loads(heir.snapshot()) for heir in heirs)
    assert ours == theirs


@pytest.mark.parametrize("seed", range(0, SCENARIOS, 5))
def test_both_tell_and_lift_alike(seed: int) -> None:
    """Pages of active mitigations, states of entities and their ids, lifts and their effects."""
    choices = RandomChoices(random.Random(seed))
    compiled = compile_all(definitions(choices)).compiled
    both = ReferenceEngine(compiled), NativeEngine(bundle(compiled))

    def asked(question: str, *about: Any) -> Any:
        answers = [getattr(engine, question)(*about) for engine in both]
        ours, theirs = (answer and orjson.loads(answer) for answer in answers)
        assert ours == theirs
        return ours

    for arrival in arrivals(choices, EVENTS):
        at = arrival.received_at
        asked("decide_record", arrival.body, at)
        asked("snapshot")
        for each in asked("active_mitigations", at, 3, None)[-1:]:
            key = orjson.dumps(each["key"])
            slug, policy, clause = each["definition"], each["policy"], each["clause"]
            asked("active_mitigations", at, 3, (slug, key.decode(), policy, clause))
            asked("entity_state", slug, key, at)
            asked("find_entity", each["entity_id"])
            asked("lift", slug, key, policy, None if at % 2 else clause, at)


@pytest.mark.parametrize("seed", range(0, SCENARIOS, 10))
def test_both_take_a_snapshot_into_changed_definitions_alike(seed: int) -> None:
    """Both evaluators take the same part of a snapshot into changed definitions."""
    choices = RandomChoices(random.Random(seed))
    before = definitions(choices)
    old = Pair(compile_all(before).compiled)
    for arrival in arrivals(choices, EVENTS):
        old.decide(arrival)
    new = Pair(compile_all(_others(choices, seed, before)).compiled)
    saved = old.native.snapshot()
    new.native.restore(saved)
    new.state = snapshot.restore(new.compiled, saved)
    new.compare_states()
    for arrival in arrivals(choices, EVENTS):
        new.decide(arrival)
    new.compare_states()
