"""An engine whose policies change one by one, against engines that are compiled anew."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import orjson
import pytest
from tests.generators import scenarios

from tidegate.engine import Engine
from tidegate.errors import CanonicalFormError, EventError
from tidegate.policy.definitions import bundle
from tidegate.policy.definitions.compile import Compilation, compile_all
from tidegate.policy.definitions.model import Clause, Definitions, Policy, Settings, Tenant
from tidegate.testing.choices import RandomChoices, happens, pick
from tidegate_server.engines.serving import BundledEngine

if TYPE_CHECKING:
    from tests.generators.scenarios import Arrival

    from tidegate.testing.choices import Choices

EDITS = 8
EVENTS = 12
SCRIPTS = 40


@pytest.mark.parametrize("seed", range(SCRIPTS))
def test_a_changed_engine_decides_as_one_that_is_compiled_anew(seed: int) -> None:
    """After each edit of a random script all evaluators have equal records and equal state."""
    choices = RandomChoices(random.Random(seed))
    first = scenarios.definitions(choices)
    compilation = compile_all(first)
    changed = BundledEngine(bundle.bundle(compilation.compiled))
    anew = BundledEngine(bundle.bundle(compilation.compiled))
    reference = Engine(first, "reference")
    arrivals = scenarios.arrivals(choices, EDITS * EVENTS)
    present = first
    for _ in range(EDITS):
        present = edited(choices, present, first)
        compilation, before = compile_all(present, before=compilation), compilation
        changed = with_change(changed, before, compilation)
        anew = anew.with_bundle(bundle.bundle(compile_all(present).compiled))
        reference = reference.with_definitions(present)
        if happens(choices, 25):
            changed.rebuild()
            assert changed.layered == 0
        for _ in range(EVENTS):
            arrival = next(arrivals)
            record = outcome(changed, arrival)
            assert record == outcome(anew, arrival) == outcome(reference, arrival)
        state = orjson.loads(changed.snapshot())
        assert state == orjson.loads(anew.snapshot()) == orjson.loads(reference.snapshot())


def test_the_scripts_layer_and_rebuild() -> None:
    """Most edits leave a layer, so the comparison is of layered engines."""
    layered = 0
    for seed in range(SCRIPTS):
        choices = RandomChoices(random.Random(seed))
        first = scenarios.definitions(choices)
        second = edited(choices, first, first)
        before = compile_all(first)
        engine = BundledEngine(bundle.bundle(before.compiled))
        layered += with_change(engine, before, compile_all(second, before=before)).layered > 0
    assert layered > SCRIPTS // 4


def test_what_did_not_change_is_not_checked_again() -> None:
    """A policy that is the same object is compiled to the same object."""
    before = compile_all(definitions(["/a", "/b"]))
    policies = (*before.compiled.source.policies[1:], policy("/c"))
    after = compile_all(
        attrs.evolve(before.compiled.source, policies=policies, revision=1), before=before
    )
    assert after.compiled.policies[0] is before.compiled.policies[1]
    change = orjson.loads(bundle.change(before.compiled, after.compiled) or b"")
    assert [each["kept"] for each in change["policies"]] == [[0, 0], [1, 1]]
    assert [each["slug"] for each in change["policies"][1]["new"]] == ["c"]


def test_a_warning_keeps_to_its_policy_when_that_moves() -> None:
    """The pointer of a warning moves with its policy."""
    never = policy("/a", expression="request.path == request.path")
    first = attrs.evolve(definitions([]), policies=(never,))
    before = compile_all(first)
    after = compile_all(attrs.evolve(first, policies=(policy("/b"), never)), before=before)
    anew = compile_all(attrs.evolve(first, policies=(policy("/b"), never)))
    assert after.findings == anew.findings
    assert [each.pointer[:11] for each in before.findings] == ["/policies/0"]
    assert [each.pointer[:11] for each in after.findings] == ["/policies/1"]


def test_what_is_more_than_policies_is_no_change() -> None:
    """Settings and everything that policies name: the engine is made anew."""
    first = definitions(["/a"])
    before = compile_all(first)
    for other in (
        attrs.evolve(first, settings=Settings(max_keys=7)),
        attrs.evolve(first, tenant=attrs.evolve(first.tenant, tenant_id=str(UUID(int=1)))),
        attrs.evolve(scenarios.definitions(RandomChoices(random.Random(1))), tenant=first.tenant),
    ):
        assert bundle.change(before.compiled, compile_all(other, before=before).compiled) is None


def test_a_change_of_other_definitions_is_refused() -> None:
    """A change is refused by definitions other than those it was made for."""
    before = compile_all(definitions(["/a"]))
    after = compile_all(definitions(["/b"], revision=2), before=before)
    change = bundle.change(before.compiled, after.compiled)
    engine = BundledEngine(bundle.bundle(after.compiled))
    with pytest.raises(CanonicalFormError, match="one of other definitions"):
        engine.with_change(change or b"")
    with pytest.raises(CanonicalFormError):
        engine.with_change(b"{}")


def test_an_engine_that_has_changed_much_is_made_anew() -> None:
    """The memory that changes leave behind is bounded."""
    present = compile_all(definitions(["/a"]))
    engine: BundledEngine | None = BundledEngine(bundle.bundle(present.compiled))
    for number in range(200):
        assert engine is not None
        paths = [f"/{number}/{each}" for each in range(10)]
        present, before = compile_all(definitions(paths, number + 1), before=present), present
        engine = engine.with_change(bundle.change(before.compiled, present.compiled) or b"")
        if engine is None:
            break
    assert engine is None


def edited(choices: Choices, present: Definitions, first: Definitions) -> Definitions:
    """Some policies changed, some gone, some back, some moved."""
    after = scenarios.changed(choices, present)
    known = {each.slug: each for each in present.policies}
    # A policy that stayed as it was stays the same object, as it does where it was read once.
    policies = [
        known[each.slug] if each == known[each.slug] else _named_apart(each)
        for each in after.policies
        if each.clauses
    ]
    here = {each.slug for each in policies}
    policies += [each for each in first.policies if each.slug not in here and happens(choices, 50)]
    if happens(choices, 30) and policies:
        moved = pick(choices, policies)
        policies.remove(moved)
        policies.insert(choices.below(len(policies) + 1), moved)
    return attrs.evolve(after, policies=tuple(policies), revision=present.revision + 1)


def _named_apart(policy: Policy) -> Policy:
    """A policy whose clauses have a name each, the first of those that share one."""
    clauses = {each.name: each for each in reversed(policy.clauses)}
    return attrs.evolve(policy, clauses=tuple(clauses.values()))


def with_change(engine: BundledEngine, before: Compilation, after: Compilation) -> BundledEngine:
    """The engine by changed definitions, which differ in policies alone."""
    change = bundle.change(before.compiled, after.compiled)
    assert change is not None
    changed = engine.with_change(change)
    assert changed is not None
    return changed


def outcome(engine: BundledEngine | Engine, arrival: Arrival) -> Any:
    """The record of an event, or why it is refused."""
    try:
        return engine.decide(arrival.body, arrival.received_at).to_record()
    except EventError as error:
        return type(error), str(error)


def definitions(paths: list[str], revision: int = 0) -> Definitions:
    """A policy for each path."""
    tenant = Tenant(tenant_id=str(scenarios.TENANT), name="Changed", slug="changed")
    return Definitions(tenant=tenant, revision=revision, policies=tuple(map(policy, paths)))


def policy(path: str, expression: str | None = None) -> Policy:
    """A policy that holds on a path."""
    slug = path.strip("/").replace("/", "-")
    text = expression or f'request.path.startsWith("{path}")'
    clause = Clause(name="c", expression=text)
    return Policy(policy_id=slug, name=slug, slug=slug, clauses=(clause,))
