"""Whether a key tells actors apart, by recorded events."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.deciding import Deciding, Service, made

EVENTS = 160


@pytest.fixture(scope="module")
def shop(service: Service) -> Deciding:
    """A shop in which one address logs in to many accounts, and half of the others name none."""
    made_shop = service.tenant()
    for number in range(EVENTS):
        many = number % 2
        fields = {"account": f"a{number}"} if many or number % 4 else {}
        made_shop.decide("/", "192.0.2.7" if many else f"192.0.{number}.1", fields=fields)
    return made_shop


def health(shop: Deciding, members: dict[str, Any]) -> Any:
    body = {"name": str(members), **members}
    definition = made(shop.by("Owner").post(f"{shop.path}/entity-definitions", body))
    place = f"entity-definitions/{definition['entity_definition_id']}/health"
    return shop.get(place, role="Analyst")


def codes(found: Any) -> set[str]:
    return {each["code"] for each in found["findings"]}


def test_a_key_is_counted(shop: Deciding) -> None:
    """A key is answered with its groups, the other entities in them, and what is wrong."""
    address = shop.ids("entity-definitions")["address"]
    found = shop.get(f"entity-definitions/{address}/health", role="Analyst")
    assert (found["looked_at"], found["matched"], found["distinct"]) == (EVENTS, EVENTS, 81)
    assert found["largest"][0] == {"key": ["192.0.2.7"], "events": EVENTS // 2}
    assert found["largest_share"] == 0.5
    assert found["parts"][0]["fill_rate"] == 1
    assert {"key-too-broad", "key-shared"} <= codes(found)
    assert found["verdict"] == found["findings"][0]["detail"]
    (beside,) = [each for each in found["beside"] if each["definition"] == "account"]
    assert (beside["p99"], beside["reverse_p99"]) == (EVENTS // 2, 1)
    assert found["window_seconds"] == 60


def test_a_part_that_is_often_missing_is_found(shop: Deciding) -> None:
    """A key that events lack is named, with what leaving it out does."""
    skip = health(shop, {"key_fields": ['fields["account"]']})
    assert skip["missing"] == EVENTS // 4
    assert "evades" in skip["verdict"]
    blank = health(shop, {"key_fields": ['fields["account"]'], "on_missing_key": "blank"})
    assert blank["missing"] == 0
    assert "share one key" in blank["verdict"]


def test_a_key_that_the_client_chooses_is_found(shop: Deciding) -> None:
    """A key of headers alone is forgeable; one with the address is not."""
    agent = {"key_fields": ["request.user_agent"], "on_missing_key": "blank"}
    assert "key-forgeable" in codes(health(shop, agent))
    both = {"key_fields": ["request.user_agent", "request.client_ip"], "on_missing_key": "blank"}
    assert "key-forgeable" not in codes(health(shop, both))


def test_a_key_of_each_request_is_found(shop: Deciding) -> None:
    """A key that nearly every event has alone fills no window."""
    found = health(
        shop,
        {
            "key_fields": ['fields["account"]'],
            "match_expression": 'fields["account"] != ""',
        },
    )
    assert found["not_applicable"] == EVENTS // 4
    assert "key-per-request" in codes(found)


def test_health_of_no_definition_is_not_found(shop: Deciding) -> None:
    """An id of none of the tenant's definitions is refused."""
    place = f"{shop.path}/entity-definitions/019a0000-0000-7000-8000-000000000000/health"
    assert shop.by("Analyst").get(place).status_code == 404


def test_a_definition_is_judged_before_it_is_saved(shop: Deciding) -> None:
    """The figures are those that it has once it is saved, and nothing is written."""
    draft = {"name": "Draft", "key_fields": ['fields["account"]'], "on_missing_key": "blank"}
    before = shop.get("entity-definitions")
    path = f"{shop.path}/entity-definitions/health"
    tried = made(shop.by("Analyst").post(path, {"definition": draft}))
    assert shop.get("entity-definitions") == before
    assert tried == health(shop, draft)
    address = {"name": "Address", "key_fields": ["request.client_ip"]}
    saved = shop.get(f"entity-definitions/{shop.ids('entity-definitions')['address']}/health")
    assert made(shop.by("Analyst").post(path, {"definition": address})) == saved


def test_the_place_of_a_mistake_in_an_unsaved_definition_is_said(shop: Deciding) -> None:
    """A pointer leads into the body."""
    path = f"{shop.path}/entity-definitions/health"
    wrong = {"definition": {"name": "Draft", "key_fields": ["request.nothing"]}}
    answer = shop.by("Analyst").post(path, wrong).json()
    assert answer["code"] == "invalid-request"
    assert answer["errors"][0]["pointer"] == "/definition/key_fields/0"
