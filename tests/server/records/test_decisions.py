"""Recorded decisions: found, in full, explained as of then."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.server.deciding import DEFINITIONS, Deciding, Service, deciding, made
from tests.waiting import wait_until

ADDRESS = "192.0.2.7"


@pytest.fixture
def busy(shop: Deciding) -> list[dict[str, Any]]:
    """Seven decisions, in order: three logins, of which the third is blocked, and others."""
    return [
        shop.decide("/login"),
        shop.decide("/login", source="edge"),
        shop.decide("/login", fields={"password": "hunter2", "account": "ann"}),
        shop.decide("/shop?q=1"),
        shop.decide("/shop/cart", "192.0.2.8"),
        shop.decide("/watched", "192.0.2.8"),
        shop.decide("/", "192.0.2.9", fields={"count": "no number"}),
    ]


def found(shop: Deciding, **query: Any) -> list[str]:
    return [each["decision_id"] for each in shop.get("decisions", **query)]


def ids(decisions: list[dict[str, Any]], *numbers: int) -> list[str]:
    """The ids of some decisions, the newest first."""
    return [decisions[number]["decision_id"] for number in reversed(numbers)]


def test_decisions_are_found_by_what_is_known_of_them(
    shop: Deciding, busy: list[dict[str, Any]]
) -> None:
    """Decisions are found by action, reason, policy, path, key, time and entity, newest first."""
    policies = shop.ids("policies")
    assert found(shop) == ids(busy, *range(7))
    assert found(shop, action="block") == ids(busy, 2, 3)
    assert found(shop, reason="active-mitigation") == ids(busy, 3)
    assert found(shop, policy_id=policies["watch"]) == ids(busy, 5)
    assert found(shop, path="/login") == ids(busy, 0, 1, 2)
    assert found(shop, path="/shop*") == ids(busy, 3, 4)
    assert found(shop, api_key_id=shop.api_key_id) == ids(busy, *range(7))
    assert found(shop, api_key_id=str(uuid4())) == []
    third = shop.get(f"decisions/{busy[2]['decision_id']}")
    later = shop.get("decisions", since=third["received_at"])
    assert {each["decision_id"] for each in later} >= set(ids(busy, *range(2, 7)))
    assert min(each["received_at"] for each in later) == third["received_at"]
    assert found(shop, until=third["received_at"]) == found(shop)[len(later) :]
    assert found(shop, until="2020-01-01T00:00:00Z") == []
    entity = next(each for each in third["entities"] if each["definition"] == "address")
    assert found(shop, entity_id=entity["entity_id"]) == ids(busy, 0, 1, 2, 3)


def test_pages_of_a_search_join(shop: Deciding, busy: list[dict[str, Any]]) -> None:
    """Each page leads to the next, under the same conditions."""
    seen: list[str] = []
    path = f"/api/v1/{shop.path}/decisions?path=/login&limit=2"
    while path:
        answer = shop.by("Analyst").get(path)
        seen += [each["decision_id"] for each in made(answer)]
        path = answer.links["next"]["url"] if "next" in answer.links else ""
    assert seen == ids(busy, 0, 1, 2)


def test_a_decision_is_shown_in_full(shop: Deciding, busy: list[dict[str, Any]]) -> None:
    """A decision is shown with ids next to slugs, the reached window, and the event without its
    secrets."""
    decision = shop.get(f"decisions/{busy[2]['decision_id']}", role="Analyst")
    policies, mitigations = shop.ids("policies"), shop.ids("mitigations")
    assert decision["action"]["type"] == "block"
    assert decision["answer"] == busy[2]
    assert (decision["policy_id"], decision["clause"]) == (policies["stuffing"], "three")
    assert decision["mitigation_id"] == mitigations["refuse"]
    assert decision["matched_actions"] == ["login"]
    (fired,) = decision["fired_clauses"]
    assert fired["window"] == {"value": 3, "threshold": 3}
    assert (fired["policy_id"], fired["mode"]) == (policies["stuffing"], "Block")
    entities = {each["definition"]: each for each in decision["entities"]}
    assert entities["address"]["key"] == [ADDRESS]
    assert entities["account"]["entity_definition_id"] == shop.ids("entity-definitions")["account"]
    assert decision["event"]["fields"]["password"].startswith("hmac:")
    assert decision["event"]["request"]["client_ip"] == ADDRESS
    assert decision["revision"] == shop.get("")["definition_revision"]
    assert decision["endpoint"] == "runtime"
    failed = shop.get(f"decisions/{busy[6]['decision_id']}")
    assert [each["place"] for each in failed["errors"]] == ["actions.many.expression"]
    assert shop.get(f"decisions/{busy[1]['decision_id']}")["source"] == "edge"


def explained(shop: Deciding, decision: dict[str, Any]) -> dict[str, Any]:
    return dict(shop.get(f"decisions/{decision['decision_id']}/explain", role="Analyst"))


def test_every_decision_is_made_again_as_it_was(shop: Deciding, busy: list[dict[str, Any]]) -> None:
    """An explanation repeats windows, mitigations and answer, with the value of every node."""
    explanations = [explained(shop, each) for each in busy]
    assert [each["reproduced"] for each in explanations] == [True] * 7
    assert [each["because"] for each in explanations] == [[]] * 7
    for explanation in explanations:
        assert explanation["decision"] == explanation["recorded"]
    assert [each["earlier_decisions"] for each in explanations] == [0, 1, 2, 3, 0, 1, 0]
    third = explanations[2]["trace"]
    clause = third["policies"][0]["clauses"][0]
    assert (clause["window"]["value"], clause["fired"]) == (3, True)
    login = next(each for each in third["actions"] if each["slug"] == "login")
    assert {each["text"]: each["value"] for each in login["expression"]["steps"]} == {
        'request.path == "/login"': "true",
        "request.path": '"/login"',
        '"/login"': '"/login"',
    }
    assert explanations[3]["trace"]["policies"][0]["clauses"][0]["active"]
    assert "three" in explanations[2]["text"]


def test_a_decision_is_explained_by_the_definitions_of_its_time(shop: Deciding) -> None:
    """Later changes of definitions do not change what was decided, nor why."""
    first = [shop.decide("/login") for _ in range(3)][-1]
    policy = shop.ids("policies")["stuffing"]
    clause = made(shop.by("Owner").get(f"{shop.path}/policies/{policy}"))["clauses"][0]
    changed = {"clauses": [{**clause, "window": {"duration_seconds": 60, "threshold": 5}}]}
    made(shop.by("Owner").patch(f"{shop.path}/policies/{policy}", changed))
    second = shop.decide("/login", "192.0.2.99")
    before, after = explained(shop, first), explained(shop, second)
    assert (before["reproduced"], after["reproduced"]) == (True, True)
    assert before["revision"] < after["revision"]
    windows = [each["trace"]["policies"][0]["clauses"][0]["window"] for each in (before, after)]
    assert [each["threshold"] for each in windows] == [3, 5]


def test_a_lift_is_part_of_the_past(shop: Deciding) -> None:
    """A decision after a lift is explained with the lift."""
    for _ in range(3):
        shop.decide("/login")
    blocked = shop.decide("/")
    (active,) = shop.get("active-mitigations")
    made(shop.by("Admin").delete(f"{shop.path}/active-mitigations/{active['entity_id']}"))
    allowed = shop.decide("/")
    assert (blocked["action"]["type"], allowed["action"]["type"]) == ("block", "allow")
    assert [explained(shop, each)["reproduced"] for each in (blocked, allowed)] == [True, True]


def test_what_depended_on_a_secret_is_not_pretended_to_be_repeated(service: Service) -> None:
    """The hash of a value is another value: the answer says that, and of which member."""
    definitions = {
        **DEFINITIONS,
        "policies": [
            {
                "name": "Known",
                "expression": 'fields["password"] == "hunter2"',
                "clauses": [{"name": "any", "mitigation": "refuse"}],
            }
        ],
    }
    shop = service.tenant(definitions)
    decision = shop.decide("/login", fields={"password": "hunter2"})
    explanation = explained(shop, decision)
    assert explanation["recorded"]["action"]["type"] == "block"
    assert not explanation["reproduced"]
    assert explanation["decision"]["action"]["type"] == "allow"
    assert explanation["because"] == [
        "secrets of the event are kept as hashes only: `fields.password`"
    ]


@pytest.mark.parametrize("path", ["decisions/{id}", "decisions/{id}/explain"])
def test_another_tenants_decision_is_none(service: Service, shop: Deciding, path: str) -> None:
    """Another tenant's decision gets the answer of one that never was."""
    decision = shop.decide("/login")
    other = service.tenant()
    foreign, missing = (
        other.by("Owner").get(f"{other.path}/{path.format(id=each)}")
        for each in (decision["decision_id"], str(uuid4()))
    )
    assert foreign.status_code == missing.status_code == 404
    assert foreign.json()["detail"] == missing.json()["detail"]


@pytest.mark.parametrize(
    "query",
    [
        {"action": "refuse"},
        {"since": "yesterday"},
        {"since": "2026-01-01T00:00:00"},
        {"policy_id": "1"},
        {"limit": 501},
        {"cursor": "AAAA"},
        {"unknown": "x"},
    ],
    ids=lambda query: next(iter(query)),
)
def test_a_wrong_query_is_refused(shop: Deciding, query: dict[str, Any]) -> None:
    """A wrong query is a 422 that names the parameter."""
    answer = shop.by("Owner").get(f"{shop.path}/decisions", params=query)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["parameter"] == next(iter(query))


def test_viewers_read_no_decisions(shop: Deciding) -> None:
    """Events hold what is personal: Analysts and above."""
    assert shop.by("Viewer").get(f"{shop.path}/decisions").status_code == 403
    assert shop.by("Analyst").get(f"{shop.path}/decisions").status_code == 200
    assert shop.by("Stranger").get(f"{shop.path}/decisions").status_code == 404


def test_a_decision_after_a_snapshot_is_explained_from_it(tmp_path: Path, process: None) -> None:
    """The state of a snapshot is the past of what follows: windows go on, whatever the key."""
    others = [{"request": {"path": "/", "client_ip": "192.0.2.99"}}] * 1_000
    with deciding(tmp_path, store_snapshot_every="1000") as service:
        shop = service.tenant()
        for _ in range(2):
            shop.decide("/login")
        headers = {"x-service-api-key": shop.key}
        made(service.http.post("/api/v1/beacon/events", json=others, headers=headers))
        wait_until(lambda: shop.get("status")["last_snapshot_at"] is not None)
        third = shop.decide("/login")
        explanation = explained(shop, third)
    assert explanation["reproduced"], explanation["because"]
    assert explanation["earlier_decisions"] == 0
    assert explanation["trace"]["policies"][0]["clauses"][0]["window"]["value"] == 3
