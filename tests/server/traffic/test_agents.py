"""Agents over recorded events: who came, how it was proven, and the answers."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.deciding import DEFINITIONS, Deciding, Service

GOOGLE = "66.249.66.1"
CHALLENGED: dict[str, Any] = {
    **DEFINITIONS,
    "policies": [
        {
            "name": "Imitators",
            "expression": 'agent.proof == "name" && agent.is_provable',
            "clauses": [{"name": "any", "mitigation": "prove"}],
        }
    ],
}


def agents_of(shop: Deciding, **query: int) -> dict[str, Any]:
    found: dict[str, Any] = shop.get("agents", role="Analyst", **query)
    return found


@pytest.fixture(scope="module")
def visited(service: Service) -> Deciding:
    """A shop with a browser, a proven Googlebot, an imitator of it, and others."""
    shop = service.tenant(CHALLENGED)
    shop.decide(request={"user_agent": "Mozilla/5.0"})
    for _ in range(3):
        shop.decide(address=GOOGLE, request={"user_agent": "Googlebot/2.1"})
    for _ in range(2):
        shop.decide(request={"user_agent": "Googlebot/2.1"})
    shop.decide(request={"user_agent": "ClaudeBot/1.0"})
    signed = {"proof": "signature", "product": "Shopper", "operator": "agent.example"}
    shop.decide(agent=signed | {"purpose": "user"})
    shop.decide(agent={"signature_problem": "expired"})
    return shop


def test_imitators_come_first_and_then_the_busiest(visited: Deciding) -> None:
    """Events are counted by agent and proof, with the answers to them."""
    found = agents_of(visited)
    assert (found["looked_at"], found["matched"], found["complete"]) == (9, 8, True)
    assert (found["distinct"], found["failed"]) == (5, 0)
    shown = [
        (each["claims"], each["product"], each["purpose"], each["proof"], each["events"])
        for each in found["agents"]
    ]
    assert shown == [
        ("Googlebot", "Googlebot", "search", "name", 2),
        ("Googlebot", "Googlebot", "search", "range", 3),
        ("", "", "", "none", 1),
        ("", "Shopper", "user", "signature", 1),
        ("ClaudeBot", "ClaudeBot", "training", "name", 1),
    ]
    assert [each["imitates"] for each in found["agents"]] == [True, False, False, False, False]
    assert [each["challenge"] for each in found["agents"]] == [2, 0, 0, 0, 0]
    assert [each["invalid_signatures"] for each in found["agents"]] == [0, 0, 1, 0, 0]


def test_the_expression_of_an_agent_matches_its_events(visited: Deciding) -> None:
    """Each expression finds as many events as were counted for the agent."""
    for each in agents_of(visited)["agents"]:
        answer = visited.by("Analyst").post(
            f"{visited.path}/traffic/match", {"expression": each["expression"]}
        )
        assert answer.json()["matched"] == each["events"], each["expression"]


def test_no_more_agents_are_answered_than_were_asked_for(visited: Deciding) -> None:
    """The number of all agents is answered, too."""
    found = agents_of(visited, limit=1)
    assert (len(found["agents"]), found["distinct"]) == (1, 5)


def test_a_long_name_is_cut_and_has_no_expression(service: Service) -> None:
    """A name in a finding may have any length, and quotes."""
    shop = service.tenant()
    for name in ("x" * 201, 'a "b" \\ c'):
        shop.decide(agent={"claims": name})
    first, second = agents_of(shop)["agents"]
    assert first["claims"] == 'a "b" \\ c'
    assert first["expression"] == (
        r"""agent.claims == r'a "b" \ c' && agent.proof == "name" && !agent.is_provable"""
    )
    assert (second["claims"], second["expression"]) == ("x" * 200, None)


def test_an_agent_that_cannot_be_read_is_counted(service: Service) -> None:
    """No expression of the tenant reads the agent, so the event was accepted."""
    shop = service.tenant()
    shop.decide(agent={"proof": "oath", "product": "Shopper"})
    found = agents_of(shop)
    assert (found["looked_at"], found["failed"], found["agents"]) == (1, 1, [])
