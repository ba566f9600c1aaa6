"""Decisions past their budget, as the service answers, records, counts and explains them."""

from __future__ import annotations

from typing import Any

from tests.server.deciding import DEFINITIONS, Deciding, Service, made

HEAVY = "/" + "ab" * 7_500
"""A path that each of the clauses below takes some 20,000 units of work for."""


def dear(service: Service, **settings: Any) -> Deciding:
    """A tenant of 60 dear policies behind the usual ones."""
    swap = 'request.path.replace("a", "c").replace("b", "a").replace("c", "b")'
    policies = [
        {"name": f"Dear {at}", "clauses": [{"name": "c", "expression": f'{swap} == "{at}"'}]}
        for at in range(60)
    ]
    definitions = {**DEFINITIONS, "policies": [*DEFINITIONS["policies"], *policies]}
    return service.tenant({**definitions, "settings": settings})


def metric(service: Service) -> float:
    """How many decisions went past their budget."""
    lines = service.http.get("/metrics").text.splitlines()
    found = [line for line in lines if line.startswith("tidegate_budget_exceeded_total")]
    return float(found[0].split()[-1])


def test_a_heavy_event_is_answered_recorded_counted_and_explained(service: Service) -> None:
    """A decision past its budget is found by its reason, and explained from its end."""
    shop, before = dear(service), metric(service)
    assert shop.decide("/")["reason"] == "no-match"
    answer = shop.decide(HEAVY)
    assert answer["reason"] == "budget-exceeded"
    assert answer["action"] == {
        "type": "block",
        "block": {"status_code": 403, "body": "", "headers": {}},
    }
    assert metric(service) == before + 1
    found = shop.get("decisions", reason="budget-exceeded")
    assert [each["decision_id"] for each in found] == [answer["decision_id"]]
    decision = shop.get(f"decisions/{answer['decision_id']}")
    (place,) = decision["budget_ended_at"]
    assert place.startswith("policies.dear-")
    explained = shop.get(f"decisions/{answer['decision_id']}/explain")
    assert explained["reproduced"], explained["because"]
    assert explained["decision"]["budget_ended_at"] == [place]
    assert f"the budget of the decision ended at {place}" in explained["text"]


def test_the_setting_of_the_tenant_answers_and_can_be_changed(service: Service) -> None:
    """The setting can be changed by document or by the tenant's own resource."""
    shop = dear(service, on_budget_exceeded="allow")
    assert shop.decide(HEAVY)["action"] == {"type": "allow"}
    changed = {"settings": {"on_budget_exceeded": "challenge"}}
    settings = made(shop.by("Owner").patch(shop.path, changed))["settings"]
    assert settings["on_budget_exceeded"] == "challenge"
    answer = shop.decide(HEAVY)
    assert (answer["action"]["type"], answer["reason"]) == ("challenge", "budget-exceeded")


def test_who_is_blocked_stays_blocked_by_a_heavy_event(service: Service) -> None:
    """A blocked address stays blocked on a heavy path, whatever the setting."""
    shop = dear(service, on_budget_exceeded="allow")
    for _ in range(3):
        last = shop.decide("/login")
    assert last["action"]["type"] == "block"
    assert shop.decide(HEAVY)["reason"] == "active-mitigation"
