"""Six hundred user agents of real traffic: who is an agent of the registry, and who isn't."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidegate.evaluation.agents.registry import KNOWN_AGENTS
from tidegate.evaluation.encoder import encode
from tidegate.language.tree.schema import FIELD_MODEL
from tidegate.program import compile as compile_program

DATA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "user_agents.json").read_text()
)
FIELDS = ("agent.claims", "agent.product", "agent.operator", "agent.purpose", "agent.proof")
FORMS = [
    (user_agent, (name, name, of["operator"], of["purpose"], "name"))
    for name, of in DATA["agents"].items()
    for user_agent in of["forms"]
]
OTHERS = [*DATA["robots"], *DATA["browsers"]]


def found_by_reference(user_agent: str) -> tuple[Any, ...]:
    """The fields of an agent in the reference."""
    record = encode({"request": {"user_agent": user_agent}}, FIELDS, variables=FIELD_MODEL)
    return tuple(record[name] for name in FIELDS)


def test_there_are_six_hundred() -> None:
    """There are 600 different user agents, 300 of them of browsers and phones."""
    texts = {user_agent for user_agent, _ in FORMS} | set(OTHERS)
    assert (len(texts), len(set(DATA["browsers"]))) == (600, 300)


def test_every_agent_of_the_registry_has_a_form() -> None:
    """Each agent of the registry is there, with its operator and purpose."""
    expected = {each.family: (each.operator, each.purpose) for each in KNOWN_AGENTS}
    assert {
        name: (of["operator"], of["purpose"]) for name, of in DATA["agents"].items() if of["forms"]
    } == expected


def test_every_published_form_has_the_name_and_purpose_of_its_agent() -> None:
    """Each published form of an agent has its name, operator and purpose, without a proof."""
    wrong = [(text, seen) for text, who in FORMS if (seen := found_by_reference(text)) != who]
    assert not wrong


def test_no_other_is_an_agent_of_the_registry() -> None:
    """A browser, a phone or another robot isn't an agent, whatever parts of names it has."""
    wrong = [(text, seen) for text in OTHERS if (seen := found_by_reference(text))[0] != ""]
    assert not wrong


def test_a_robot_that_is_like_an_agent_is_not_its_imitator() -> None:
    """A feed reader that says it is like an agent doesn't claim to be that agent."""
    assert [found_by_reference(text)[0] for text in DATA["likenesses"]] == [""] * 4


@pytest.mark.parametrize("name", FIELDS)
def test_both_evaluators_find_the_same(name: str) -> None:
    """The native evaluator finds what the reference finds, in all of them."""
    native = compile_program(name, evaluator="native")
    reference = compile_program(name, evaluator="reference")
    for text in [*(text for text, _ in FORMS), *OTHERS, *DATA["likenesses"]]:
        event = {"request": {"user_agent": text}}
        assert native.evaluate(event) == reference.evaluate(event), text
