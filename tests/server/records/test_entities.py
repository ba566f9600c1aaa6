"""Entities as the engine knows them, the mitigations they are under, and lifting these."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from tests.server.deciding import Deciding, Service, deciding, made


def entity(shop: Deciding, definition: str = "address") -> str:
    """The id of the entity of the newest decision."""
    newest = shop.get("decisions", limit=1)[0]
    found = shop.get(f"decisions/{newest['decision_id']}")["entities"]
    return str(next(each["entity_id"] for each in found if each["definition"] == definition))


def lift(shop: Deciding, entity_id: str, role: str = "Admin", **query: str) -> int:
    """The status of lifting."""
    path = f"{shop.path}/active-mitigations/{entity_id}"
    return int(shop.by(role).delete(path, params=query).status_code)


def test_the_state_of_an_entity(shop: Deciding) -> None:
    """Counts, how full the windows are, the mitigations it is under; with ids next to slugs."""
    for _ in range(2):
        shop.decide("/login")
    found = entity(shop)
    state = shop.get(f"entities/{found}/state", role="Analyst")
    policies = shop.ids("policies")
    assert (state["event_count"], state["definition"], state["key"]) == (
        2,
        "address",
        ["192.0.2.7"],
    )
    assert state["entity_definition_id"] == shop.ids("entity-definitions")["address"]
    (window,) = state["windows"]
    falls_at = datetime.fromisoformat(window.pop("falls_at"))
    assert falls_at == datetime.fromisoformat(state["first_seen_at"]) + timedelta(seconds=60)
    assert window == {
        "policy_id": policies["stuffing"],
        "policy": "stuffing",
        "clause": "three",
        "value": 2,
        "threshold": 3,
        "duration_seconds": 60,
    }
    assert state["active_mitigations"] == []
    assert state["first_seen_at"] <= state["last_seen_at"]
    shop.decide("/login")
    state = shop.get(f"entities/{found}/state")
    (active,) = state["active_mitigations"]
    assert active["mitigation_id"] == shop.ids("mitigations")["refuse"]
    assert [active] == shop.get("active-mitigations", role="Analyst")


def test_an_unknown_entity_has_no_state(service: Service, shop: Deciding) -> None:
    """An unknown entity, or one of another tenant, has no state."""
    shop.decide("/login")
    other = service.tenant()
    for found in (entity(shop), str(uuid4())):
        assert other.by("Owner").get(f"{other.path}/entities/{found}/state").status_code == 404
        assert lift(other, found) == 404


def mitigate(shop: Deciding, count: int) -> None:
    """Put ``count`` addresses under a mitigation."""
    for number in range(count):
        for _ in range(3):
            shop.decide("/login", f"192.0.2.{number}")


def test_pages_of_active_mitigations_join(shop: Deciding) -> None:
    """Each active mitigation is on one page, even when one is lifted on the way."""
    mitigate(shop, 5)
    whole = shop.get("active-mitigations")
    assert len(whole) == 5
    seen: list[dict[str, Any]] = []
    path = f"/api/v1/{shop.path}/active-mitigations?limit=2"
    while path:
        answer = shop.by("Owner").get(path)
        seen += made(answer)
        path = answer.links["next"]["url"] if "next" in answer.links else ""
        if len(seen) == 2:
            assert lift(shop, seen[-1]["entity_id"]) == 204
    assert seen == whole
    assert len(shop.get("active-mitigations")) == 4


def test_a_lifted_mitigation_answers_no_more(shop: Deciding) -> None:
    """The next event is decided by itself; the lift is in the audit trail with what it ended."""
    mitigate(shop, 1)
    assert shop.decide("/", "192.0.2.0")["action"]["type"] == "block"
    found = entity(shop)
    (active,) = shop.get("active-mitigations")
    assert lift(shop, found) == 204
    assert shop.decide("/", "192.0.2.0")["action"]["type"] == "allow"
    assert shop.get("active-mitigations") == []
    assert lift(shop, found) == 404
    newest = shop.get("audit", limit=1)[0]
    assert (newest["action"], newest["kind"]) == ("lift", "active-mitigation")
    assert newest["object_id"] == found
    assert newest["actor"] == str(shop.by("Admin").operator_id)
    assert newest["before"] == [active]
    assert active["tenant_id"] == shop.tenant_id


def test_one_clause_can_be_lifted(shop: Deciding) -> None:
    """Lifting one clause leaves mitigations of other clauses and policies."""
    mitigate(shop, 1)
    found, policies = entity(shop), shop.ids("policies")
    assert lift(shop, found, policy_id=policies["watch"]) == 404
    assert lift(shop, found, policy_id=policies["stuffing"], clause="other") == 404
    assert len(shop.get("active-mitigations")) == 1
    assert lift(shop, found, policy_id=policies["stuffing"], clause="three") == 204


def test_one_entity_is_lifted_with_a_reason(shop: Deciding) -> None:
    """A lift of one entity may have a reason, which the audit keeps; a lift of many must."""
    mitigate(shop, 2)
    found = entity(shop)
    path = f"{shop.path}/active-mitigations/lift"
    assert shop.by("Admin").post(path, {}).json()["errors"][0]["pointer"] == "/reason"
    assert made(shop.by("Admin").post(path, {"dry_run": True})) == {"lifted": 2, "complete": True}
    wanted = {"entity_id": found, "clause": "three", "reason": "a customer called"}
    answer = made(shop.by("Admin").post(path, wanted))
    assert answer == {"lifted": 1, "complete": True}
    assert [each["entity_id"] == found for each in shop.get("active-mitigations")] == [False]
    newest = shop.get("audit", limit=1)[0]
    assert (newest["action"], newest["object_id"]) == ("lift", found)
    assert newest["after"]["reason"] == "a customer called"
    assert made(shop.by("Admin").post(path, {"entity_id": found}))["lifted"] == 0
    assert made(shop.by("Admin").post(path, {"entity_id": str(uuid4())}))["lifted"] == 0


@pytest.mark.parametrize(("role", "status"), [("Analyst", 403), ("Viewer", 403), ("Stranger", 404)])
def test_lifting_is_for_admins(shop: Deciding, role: str, status: int) -> None:
    """An Admin can lift mitigations; an Analyst can only read them."""
    mitigate(shop, 1)
    assert lift(shop, entity(shop), role) == status
    assert len(shop.get("active-mitigations")) == 1


def test_a_lift_outlives_a_restart(tmp_path_factory: pytest.TempPathFactory, process: None) -> None:
    """A lift is in the log, so a rebuilt engine has it too."""
    directory = tmp_path_factory.mktemp("lifted")
    with deciding(directory) as service:
        shop = service.tenant()
        mitigate(shop, 2)
        lifted = entity(shop)
        assert lift(shop, lifted) == 204
        service.process.kill()
    with deciding(directory) as again:
        shop.service = again
        (left,) = shop.get("active-mitigations")
        assert left["entity_id"] != lifted
        assert shop.decide("/", "192.0.2.1")["action"]["type"] == "allow"
        assert shop.decide("/", "192.0.2.0")["action"]["type"] == "block"


@pytest.mark.parametrize(
    ("part", "status"),
    [("9223372036854775808", 404), ("-9223372036854775809", 404), ('"\\ud800"', 400)],
)
def test_an_entity_cannot_be_found_by_what_no_event_has(
    shop: Deciding, part: str, status: int
) -> None:
    """No entity has a number past 64 bits, and half a surrogate pair isn't text."""
    definition = shop.ids("entity-definitions")["address"]
    body = f'{{"entity_definition_id": "{definition}", "key": [{part}]}}'
    headers = {"content-type": "application/json"}
    path = f"{shop.path}/entities/find"
    answer = shop.by("Analyst").post(path, content=body.encode(), headers=headers)
    assert answer.status_code == status, answer.text
