"""Entities over recorded events: the busiest, and those that are seen with another one."""

from __future__ import annotations

import pytest
from tests.server.deciding import Deciding, Service


@pytest.fixture(scope="module")
def busy(service: Service) -> Deciding:
    """A shop where one address logs in to two accounts, and is blocked at the third login."""
    shop = service.tenant()
    for account in ("ann", "ann", "bob", "bob"):
        shop.decide("/login", fields={"account": account})
    shop.decide("/", "192.0.2.8", fields={"account": "ann"})
    return shop


def test_the_busiest_entities_come_first(busy: Deciding) -> None:
    """Entities are counted over the newest events, with what was answered."""
    definition = busy.ids("entity-definitions")["address"]
    found = busy.get("entities/top", role="Analyst", entity_definition_id=definition)
    assert (found["looked_at"], found["complete"], found["matched"]) == (5, True, 5)
    first, second = found["entities"]
    assert (first["key"], first["events"], first["block"]) == (["192.0.2.7"], 4, 2)
    assert (second["key"], second["events"], second["challenge"]) == (["192.0.2.8"], 1, 0)
    assert first["entity_definition_id"] == definition


def test_entities_of_the_same_events_are_together(busy: Deciding) -> None:
    """An address is answered with the accounts of its events, and not with itself."""
    definition = busy.ids("entity-definitions")["address"]
    top = busy.get("entities/top", entity_definition_id=definition)["entities"][0]
    found = busy.get(f"entities/{top['entity_id']}/together", role="Analyst")
    assert found["looked_at"] == 4
    steps = found["timeline"]
    assert found["step"] >= 1
    assert sum(each["total"] for each in steps) == 4
    assert [sum(each[kind] for each in steps) for kind in ("allow", "challenge", "block")] == [
        2,
        0,
        2,
    ]
    assert {(each["definition"], *each["key"], each["events"]) for each in found["entities"]} == {
        ("account", "ann", 2),
        ("account", "bob", 2),
    }


def test_an_entity_without_events_is_not_found(busy: Deciding) -> None:
    """An id that no event has is looked for to the end, and refused."""
    place = f"{busy.path}/entities/019a0000-0000-7000-8000-000000000000/together"
    assert busy.by("Analyst").get(place).status_code == 404


def test_the_number_of_entities_is_bounded(busy: Deciding) -> None:
    """At most as many entities are answered, and events looked at, as were asked for."""
    found = busy.get("entities/top", limit=1, newest=2)
    assert (found["looked_at"], len(found["entities"])) == (2, 1)
