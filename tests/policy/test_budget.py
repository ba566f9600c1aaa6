"""The budget of a decision: where it ends, what still holds there, and what is answered."""

from __future__ import annotations

import functools
import random
from typing import Any

import attrs
import orjson
import pytest
from benchmarks.worst_decision import KINDS, NOW, engine_of, many_patterns
from building import ADDRESS, BLOCK, PUZZLE, START, WATCH, document, event, policy
from tests.generators import budgets

from tidegate.engine import Engine
from tidegate.evaluation.native import NativeEngine
from tidegate.limits import DEFAULT
from tidegate.policy.decide import decide
from tidegate.policy.definitions.bundle import bundle
from tidegate.policy.definitions.compiled import CompiledDefinitions
from tidegate.policy.document import read_document
from tidegate.policy.explain.explain import PAST_BUDGET
from tidegate.policy.state.state import State

WORST_SEEDS = (0,)
SCALE = 2
GENERATED = 90
run = functools.cache(budgets.run)
MOST = DEFAULT.decision_work
OVER_BY = DEFAULT.cost + 300_000
"""The most that the last expression, and the run of the largest pattern, may add past a budget."""

HEAVY = 'request.path.lowerAscii() != "x" && request.path.upperAscii() != "x"'
"""Some 15 units and two for each 16 bytes of the path, never an error, always true."""
LONG = event("/" + "a" * 4_000)


def compiled(work: int, **sections: Any) -> CompiledDefinitions:
    """Definitions with so little budget."""
    made = read_document(document(**sections)).compiled
    return attrs.evolve(made, limits=attrs.evolve(made.limits, decision_work=work))


def native(work: int, **sections: Any) -> NativeEngine:
    return NativeEngine(bundle(compiled(work, **sections)))


def record(engine: NativeEngine, asked: dict[str, Any]) -> dict[str, Any]:
    """The record of a decision."""
    made: dict[str, Any] = orjson.loads(engine.decide_record(orjson.dumps(asked), START))
    return made


def policies(count: int, **members: Any) -> list[dict[str, Any]]:
    """Policies of one dear clause each, no two alike."""
    return [
        policy({"name": "c", "expression": f'{HEAVY} && request.host != "{at}"', **members},
               name=f"P{at}")
        for at in range(count)
    ]  # fmt: skip


def test_a_decision_within_its_budget_has_no_trace_of_it() -> None:
    """The record is what it was before there were budgets."""
    made = record(native(MOST, policies=policies(3)), LONG)
    assert "budget_ended_at" not in made
    assert made["reason"] == "no-match"


def test_the_end_is_a_place_and_nothing_behind_it_fires() -> None:
    """Everything before the end is decided in full, and nothing behind it fires."""
    made = record(native(3_000, policies=policies(9)), LONG)
    fired = [each["policy"] for each in made["fired"]]
    assert made["reason"] == "budget-exceeded"
    assert fired == [f"p{at}" for at in range(len(fired))]
    assert 0 < len(fired) < 9
    assert made["budget_ended_at"] == [f"policies.p{len(fired)}.clauses[0].expression"]


@pytest.mark.parametrize(
    ("expression", "units"), [('request.method != "x"', 6), ("int(request.path) == 1", 4)]
)
def test_what_is_recorded_has_a_budget(expression: str, units: int) -> None:
    """Clauses that fire and errors end a budget of their own, a quarter of the whole."""
    many = [policy({"name": "c", "expression": expression}, name=f"P{at}") for at in range(60)]
    made = compiled(480, policies=many)
    found = record(NativeEngine(bundle(made)), event("/a"))
    recorded = 120 // units + 1
    assert len(found["fired"]) + len(found["errors"]) == recorded
    assert found["budget_ended_at"] == [f"policies.p{recorded}.clauses[0].expression"]
    again = decide(made, State(10), event("/a"), START, ended_at=found["budget_ended_at"])
    assert again.decision.to_record() == found


def test_what_has_fired_before_the_end_answers() -> None:
    """The first Challenge or Block, with the reason it always has."""
    blocking = policy({"name": "b", "mitigation": "refuse"}, name="First")
    engine = native(300, mitigations=[BLOCK], policies=[blocking, *policies(9)])
    made = record(engine, LONG)
    assert (made["reason"], made["policy"]) == ("policy", "first")
    assert made["budget_ended_at"]


@pytest.mark.parametrize(
    ("setting", "action"),
    [
        ("allow", {"type": "allow"}),
        ("block", {"type": "block", "block": {"status_code": 403, "body": "", "headers": {}}}),
        (
            "challenge",
            {
                "type": "challenge",
                "challenge": {"provider": "pow", "difficulty": 4, "return_url": "https://a.test/"},
            },
        ),
    ],
)
def test_the_tenants_setting_answers_else(setting: str, action: dict[str, Any]) -> None:
    """The tenant's setting answers when only Monitor clauses fired before the end."""
    made = compiled(
        3_000,
        settings={"on_budget_exceeded": setting},
        mitigations=[WATCH],
        policies=policies(9, mitigation="watch"),
    )
    asked = {**LONG, "return_url": "https://a.test/"}
    found = record(NativeEngine(bundle(made)), asked)
    assert found["fired"]
    assert (found["action"], found["reason"]) == (action, "budget-exceeded")
    again = decide(made, State(10), asked, START, ended_at=found["budget_ended_at"])
    assert again.decision.to_record() == found


def test_who_is_blocked_stays_blocked_past_the_budget() -> None:
    """A heavy event isn't a way around an active mitigation, nor around its entity."""
    sections = {
        "actions": [
            {"name": f"A{at}", "expression": f'{HEAVY} && request.host != "{at}"'}
            for at in range(9)
        ],
        "entities": [ADDRESS],
        "mitigations": [BLOCK, WATCH],
        "policies": [
            *policies(9, mitigation="watch"),
            policy(
                {"name": "b", "expression": 'request.method == "PUT"', "entity": "address",
                 "mitigation": "refuse"},
                name="Last",
            ),
        ],
        "settings": {"on_budget_exceeded": "allow"},
    }  # fmt: skip
    engine = native(2_000, **sections)
    put = event("/")
    put["request"]["method"] = "PUT"
    assert record(engine, put)["reason"] == "policy"
    made = record(engine, LONG)
    assert made["budget_ended_at"][0].startswith("actions.")
    assert made["entities"]
    assert (made["reason"], made["policy"]) == ("active-mitigation", "last")


def test_entities_have_a_reserve_of_their_own_that_ends_too() -> None:
    """The record names both places; what was found before is known."""
    dear = {"name": "Dear", "slug": "dear", "key_fields": [
        "request.path.lowerAscii()", "request.path.upperAscii()",
    ]}  # fmt: skip
    engine = native(
        2_000,
        actions=[{"name": "A", "expression": " && ".join([f"({HEAVY})"] * 4)}],
        entities=[ADDRESS, dear, {**ADDRESS, "name": "Behind", "slug": "behind"}],
        policies=[policy({"name": "c"})],
    )
    made = record(engine, LONG)
    assert made["budget_ended_at"] == ["actions.a.expression", "entities.dear.key_fields[0]"]
    assert [each["definition"] for each in made["entities"]] == ["address"]
    assert made["fired"] == []


def test_a_final_clause_ends_the_walk_before_the_budget_does() -> None:
    """A final clause before the place ends the walk, and the budget did not end."""
    last = policy({"name": "f", "final": True, "mitigation": "puzzle"}, name="Last")
    engine = native(300, mitigations=[PUZZLE], policies=[last, *policies(9)])
    made = record(engine, LONG)
    assert made["reason"] == "policy"
    assert "budget_ended_at" not in made


def test_places_that_are_none_are_refused() -> None:
    """Both evaluators refuse an end that isn't a place of the definitions."""
    made = compiled(MOST, policies=policies(1))
    for place in ("policies.q.expression", "policies.p0.clauses[1].expression", "actions.a", ""):
        with pytest.raises(ValueError, match="places"):
            NativeEngine(bundle(made)).peek(LONG, START, [place])
        with pytest.raises(ValueError, match="places"):
            decide(made, State(10), LONG, START, ended_at=[place])


def test_an_explanation_tells_where_the_budget_ended() -> None:
    """An explanation says where the budget ended, and repeats the decision from there."""
    texts = [f'request.path.contains("{at}") || {HEAVY}' for at in range(9)]
    sections = {"policies": [policy({"name": "c", "expression": each}, name=f"P{at}")
                             for at, each in enumerate(texts)]}  # fmt: skip
    engine = Engine(document(**sections), clock=lambda: START)
    places = ("policies.p3.clauses[0].expression",)
    explained = engine.explain(LONG, ended_at=places)
    assert explained.decision == engine.decide(LONG, ended_at=places)
    assert explained.decision.budget_ended_at == places
    because = [each.clauses[0].because for each in explained.policies]
    assert because[2] == "everything it asks for holds"
    assert because[3:] == [PAST_BUDGET] * 6
    assert "the budget of the decision ended at policies.p3" in str(explained)


def test_a_warning_names_the_dearest_when_definitions_may_end_their_budget() -> None:
    """Definitions that may end their budget get a warning with the dearest expressions; others get
    none."""
    crowded = [f"[ab]*a[ab]{{900}}c{'x' * at}" for at in range(90)]
    texts = [f'request.path.matches("{pattern}")' for pattern in crowded]
    many = ", ".join(f'"{each}z"' for each in crowded[:9])
    texts.append(f"request.path.matchesAny([{many}])")
    dear = [policy({"name": "c", "expression": each}, name=f"P{at}")
            for at, each in enumerate(texts)]  # fmt: skip
    found = read_document(document(policies=dear)).findings
    only = next(each for each in found if each.code == "budget-may-end")
    assert only.severity == "warning"
    assert "the dearest: `policies.p90.clauses[0].expression` (8 %), `" in only.message
    quiet = read_document(document(policies=policies(50))).findings
    assert not [each for each in quiet if each.code == "budget-may-end"]


@pytest.mark.parametrize("seed", range(0, GENERATED, 15))
def test_decisions_past_their_budget_are_repeated_from_its_end(seed: int) -> None:
    """The reference, another native engine and explanations repeat such a decision from its end."""
    for number in range(seed, seed + 15):
        _, differences = run(number)
        assert not differences, "\n".join(map(str, differences))


def test_generated_budgets_end_everywhere() -> None:
    """Generated budgets end in actions, entities, scopes, conditions and windows, or not at all."""
    ended = set().union(*(run(seed)[0].ended for seed in range(GENERATED)))
    assert len(ended) >= 6


@pytest.mark.parametrize("seed", WORST_SEEDS)
@pytest.mark.parametrize("make", KINDS)
def test_the_dearest_decisions_do_no_more_work_than_they_may(make: Any, seed: int) -> None:
    """Found by ``benchmarks.worst_decision``; the work is counted, so that no clock is asked."""
    # These reach the budget sooner than they are compiled.
    case = make(random.Random(seed), 1 if make is many_patterns else SCALE)
    search, entities, walk = engine_of(case).work_of(case.event, NOW)
    assert search <= MOST // 4 + OVER_BY
    assert entities <= MOST // 4 + OVER_BY
    assert walk <= MOST + OVER_BY
