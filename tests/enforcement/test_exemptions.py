"""Addresses that are let through by hand aren't dropped, and are dropped again afterwards."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any
from uuid import UUID

import pytest

from tidegate.policy.definitions.keys import EntityKey, entity_id
from tidegate_server.enforcement.blocks import Blocks, Change
from tidegate_server.enforcement.drops import Drops, Limits
from tidegate_server.enforcement.guard import Guard

TENANT = UUID("0190f1c4-5b7e-7c3a-9d2e-1f4a6b8c0d2e")
ADDRESS, NETWORK = (f"0190f1c4-0000-7000-8000-00000000000{number}" for number in (1, 2))
SECOND = 1_000_000_000
START = 1_772_409_600 * SECOND
ENTITIES = [
    {"slug": "address", "entity_definition_id": ADDRESS, "key_fields": ["request.client_ip"]},
    {"slug": "net", "entity_definition_id": NETWORK, "key_fields": ["derived.client_network"]},
]


def document(**members: Any) -> dict[str, Any]:
    """A document with one override, for an hour from the start."""
    about = {"override_id": ADDRESS, "name": "o", "slug": "o", "reason": "customer", "added": 1}
    times = {"starts_at": "2026-03-02T00:00:00Z", "ends_at": "2026-03-02T01:00:00Z"}
    one = {"kind": "allow", **about, **times, **members}
    return {"tenant": {"tenant_id": str(TENANT)}, "entities": ENTITIES, "overrides": [one]}


def identity(definition: str, key: str) -> str:
    return str(entity_id(TENANT, definition, EntityKey.of("", (key,))))


@pytest.mark.parametrize(
    ("members", "address", "is_exempt"),
    [
        ({"network": "192.0.2.0/24"}, "192.0.2.7", True),
        ({"network": "192.0.2.0/24"}, "192.0.3.7", False),
        ({"entity_id": identity(ADDRESS, "192.0.2.7")}, "192.0.2.7", True),
        ({"entity_id": identity(NETWORK, "192.0.2.7/32")}, "192.0.2.7", True),
        ({"entity_id": identity(NETWORK, "2001:db8::/64")}, "2001:db8::7", True),
        ({"entity_id": identity(ADDRESS, "192.0.2.8")}, "192.0.2.7", False),
        ({"kind": "ban", "network": "192.0.2.0/24"}, "192.0.2.7", False),
    ],
)
def test_an_exemption_is_found_by_network_and_by_entity(
    members: dict[str, Any], address: str, is_exempt: bool
) -> None:
    """An address is exempt by its network or as an entity, while the exemption lasts."""
    exemptions = Blocks(document(**members)).exemptions
    of = ip_address(address)
    assert bool(exemptions.reason(of, START)) is is_exempt
    assert exemptions.reason(of, START - 1) == ""
    assert exemptions.reason(of, START + 3_600 * SECOND) == ""


def test_a_dropped_address_is_let_in_while_it_is_exempt() -> None:
    """A drop ends with the exemption's start, and begins again after its end."""
    guard = Guard(0.2)
    guard.saw("192.0.2.7", "browser", 0.0)
    drops = Drops(Limits(86_400, 9, 9, 1.0), guard, lambda _: "")
    now = START - SECOND
    exemptions = Blocks(document(network="192.0.2.7")).exemptions
    drops.exempt_by(lambda address: exemptions.reason(address, now))
    blocked = Change(ip_address("192.0.2.7"), START + 86_400 * SECOND)
    drops.block([blocked])
    assert [each.until is None for each in drops.due(now, 0.0)] == [False]
    now = START
    assert drops.spare() == [Change(blocked.address, None)]
    assert drops.due(now, 1.0) == []
    assert drops.spared == {"192.0.2.7": "let through by hand"}
    now = START + 3_600 * SECOND
    assert [each.address for each in drops.due(now, 2.0)] == [blocked.address]
