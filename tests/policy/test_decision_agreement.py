"""The two evaluators decide alike: equal records and equal state after every event."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import attrs
import orjson
import pytest
from tests.generators.proofs import proof_keys
from tests.generators.scenarios import TENANT, arrivals, changed, definitions

from tidegate.evaluation.native import NativeEngine, NativeProofKeys
from tidegate.policy.decide import decide
from tidegate.policy.definitions.bundle import bundle
from tidegate.policy.definitions.compile import compile_all
from tidegate.policy.reference_engine import ReferenceEngine
from tidegate.policy.served import Served, served_of
from tidegate.policy.state import snapshot
from tidegate.policy.state.state import State
from tidegate.testing.choices import RandomChoices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.generators.scenarios import Arrival

    from tidegate.policy.decide import Decided
    from tidegate.policy.definitions.compiled import CompiledDefinitions
    from tidegate.policy.definitions.model import Definitions

EVENTS = 60
SCENARIOS = 150
PEEK_EVERY = 7


KEYS = proof_keys(TENANT)


def native(compiled: CompiledDefinitions, sample: Sequence[bytes] = ()) -> NativeEngine:
    """The native evaluator, which reads proofs of challenges."""
    keys = NativeProofKeys(KEYS.tenant.bytes, KEYS.proof_key, KEYS.sealing_key)
    return NativeEngine(bundle(compiled), [], sample, None, "any", keys)


def reference(compiled: CompiledDefinitions) -> ReferenceEngine:
    """The reference, which reads them too."""
    return ReferenceEngine(compiled, proof_keys=KEYS)


def decided_by(compiled: CompiledDefinitions, state: State, arrival: Arrival) -> Decided:
    return decide(compiled, state, arrival.body, arrival.received_at, proof_keys=KEYS)


class Pair:
    """One definition set in both evaluators."""

    def __init__(self, compiled: CompiledDefinitions) -> None:
        self.compiled = compiled
        self.state = State(compiled.max_keys)
        self.native = native(compiled)
        self.effects: list[bytes] = []

    def serve(self, arrival: Arrival) -> None:
        """As :meth:`decide`, in the parts that a service needs."""
        decided = decided_by(self.compiled, self.state, arrival)
        expected = served_of(decided, "an id")
        self.state.apply(decided.changes)
        served = Served(*self.native.serve(arrival.body, arrival.received_at, "an id"))
        for name in ("answer", "record", "effects"):
            assert orjson.loads(getattr(served, name)) == orjson.loads(getattr(expected, name))
        assert served[3:] == expected[3:]
        self.effects.append(served.effects)

    def decide(self, arrival: Arrival) -> None:
        decided = decided_by(self.compiled, self.state, arrival)
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
        self.native = native(self.compiled, sample)
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
    for arrival in arrivals(choices, EVENTS, KEYS):
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
    for number, arrival in enumerate(arrivals(choices, EVENTS, KEYS)):
        if number == EVENTS // 2:
            middle = pair.native.snapshot()
            pair.effects.clear()
        pair.serve(arrival)
        pair.compare_states()
    for again in (reference(pair.compiled), native(pair.compiled)):
        again.restore(middle)
        again.apply_effects(pair.effects)
        assert orjson.loads(again.snapshot()) == orjson.loads(pair.native.snapshot())


@pytest.mark.parametrize("seed", range(0, SCENARIOS, 10))
def test_both_apply_effects_to_changed_definitions_alike(seed: int) -> None:
    """Both evaluators apply the same part of effects to changed definitions."""
    choices = RandomChoices(random.Random(seed))
    before = definitions(choices)
    old = Pair(compile_all(before).compiled)
    for arrival in arrivals(choices, EVENTS, KEYS):
        old.serve(arrival)
    new = compile_all(_others(choices, seed, before)).compiled
    both = reference(new), native(new)
    for engine in both:
        engine.apply_effects(old.effects)
    ours, theirs = (orjson.loads(engine.snapshot()) for engine in both)
    assert ours == theirs


@pytest.mark.parametrize("seed", range(0, SCENARIOS, 5))
def test_both_change_definitions_under_way_alike(seed: int) -> None:
    """Both evaluators take over the same state under changed definitions, with later decisions of
    the old engine."""
    choices = RandomChoices(random.Random(seed))
    before = definitions(choices)
    old = compile_all(before).compiled
    new = compile_all(_others(choices, seed, before)).compiled
    slow, fast = reference(old), native(old)
    events = list(arrivals(choices, EVENTS, KEYS))
    for arrival in events[:40]:
        for engine in (slow, fast):
            engine.decide_json(arrival.body, arrival.received_at)
    heirs = slow.with_definitions(new), fast.with_definitions(bundle(new))
    restored = native(new)
    restored.restore(fast.snapshot())
    assert heirs[1].snapshot() == restored.snapshot()
    for arrival in events[40:]:
        for engine in (slow, fast):
            engine.decide_json(arrival.body, arrival.received_at)
    ours, theirs = (orjson.loads(heir.snapshot()) for heir in heirs)
    assert ours == theirs
    for arrival in arrivals(choices, EVENTS, KEYS):
        first, second = (h.decide_record(arrival.body, arrival.received_at) for h in heirs)
        assert orjson.loads(first) == orjson.loads(second)
    ours, theirs = (orjson.loads(heir.snapshot()) for heir in heirs)
    assert ours == theirs


@pytest.mark.parametrize("seed", range(0, SCENARIOS, 5))
def test_both_tell_and_lift_alike(seed: int) -> None:
    """Pages of active mitigations, states of entities and their ids, lifts and their effects."""
    choices = RandomChoices(random.Random(seed))
    compiled = compile_all(definitions(choices)).compiled
    both = reference(compiled), native(compiled)

    def asked(question: str, *about: Any) -> Any:
        answers = [getattr(engine, question)(*about) for engine in both]
        ours, theirs = (answer and orjson.loads(answer) for answer in answers)
        assert ours == theirs
        return ours

    for arrival in arrivals(choices, EVENTS, KEYS):
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
    for arrival in arrivals(choices, EVENTS, KEYS):
        old.decide(arrival)
    new = Pair(compile_all(_others(choices, seed, before)).compiled)
    saved = old.native.snapshot()
    new.native.restore(saved)
    new.state = snapshot.restore(new.compiled, saved)
    new.compare_states()
    for arrival in arrivals(choices, EVENTS, KEYS):
        new.decide(arrival)
    new.compare_states()
