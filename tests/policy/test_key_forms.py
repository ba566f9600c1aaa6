"""Entities looked up by the parts of their key."""

from __future__ import annotations

import pytest

from tidegate.definitions import load_compiled
from tidegate.engine import Engine
from tidegate.policy.key_forms import KeyForms

DOCUMENT = {
    "apiVersion": "tidegate/v1",
    "entities": [
        {"name": "Client", "key_fields": ["derived.client_network", "request.method"]},
        {"name": "Address", "key_fields": ["request.client_ip"]},
    ],
}


@pytest.mark.parametrize(
    ("given", "network"),
    [
        ("192.0.2.7", "192.0.2.7/32"),
        ("192.0.2.7/32", "192.0.2.7/32"),
        ("2001:DB8:1:2::7", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::/64", "2001:db8:1:2::/64"),
        ("192.0.2.0/24", "192.0.2.0/24"),
        ("unknown", "unknown"),
    ],
)
def test_an_address_stands_for_the_network_of_its_client(given: str, network: str) -> None:
    """A search for a client by an address finds the entity of its network."""
    forms = KeyForms.of(load_compiled(DOCUMENT).compiled)
    found = forms.named("client", [given, "GET"], None)
    assert found is not None
    assert found[1] == (network, "GET")
    kept = forms.named("address", [given], None)
    assert kept is not None
    assert kept[1] == (given,)


def test_the_entity_is_the_one_that_decisions_name() -> None:
    """The id that is found by an address is that of the decision on it."""
    decision = Engine(DOCUMENT).decide({"request": {"client_ip": "2001:db8::1", "method": "GET"}})
    found = KeyForms.of(load_compiled(DOCUMENT).compiled).named(
        "client", ["2001:db8::9", "GET"], None
    )
    assert found is not None
    assert found[0] == decision.entities[0].entity_id


@pytest.mark.parametrize(("slug", "key"), [("client", ["192.0.2.1"]), ("nothing", ["192.0.2.1"])])
def test_no_entity_has_another_definition_or_number_of_parts(slug: str, key: list[str]) -> None:
    """A key that no definition makes names no entity."""
    assert KeyForms.of(load_compiled(DOCUMENT).compiled).named(slug, key, None) is None
