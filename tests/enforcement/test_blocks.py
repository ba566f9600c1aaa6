"""Which addresses are blocked, by the mitigations of a tenant."""

from __future__ import annotations

from typing import Any

import orjson

from tidegate_server.enforcement.blocks import Blocks

SECOND = 1_000_000_000
DOCUMENT: dict[str, Any] = {
    "entities": [
        {"slug": "address", "key_fields": ["request.client_ip"]},
        {"slug": "network", "key_fields": ["derived.client_network"]},
        {"slug": "both", "key_fields": ["request.client_ip", "request.user_agent"]},
    ],
    "mitigations": [{"slug": "refuse", "mode": "Block"}, {"slug": "prove", "mode": "Challenge"}],
    "policies": [
        {
            "slug": "p",
            "clauses": [
                {"name": "out", "mitigation": "refuse"},
                {"name": "also", "mitigation": "refuse"},
                {"name": "check", "mitigation": "prove"},
            ],
        }
    ],
}


def mitigate(address: str, clause: str, until: int, entity: str = "address") -> list[Any]:
    return ["mitigate", entity, [address], "0", [["p", clause, str(until)]]]


def changes(blocks: Blocks, *effects: list[Any], now: int = 0) -> list[tuple[str, int | None]]:
    found = blocks.apply(orjson.dumps(effects), now)
    return [(str(each.address), each.until) for each in found]


def test_only_a_block_of_an_address_alone_blocks_it() -> None:
    """Challenges, and entities of more than the address, are counted and left alone."""
    blocks = Blocks(DOCUMENT)
    assert changes(blocks, mitigate("192.0.2.7", "out", SECOND)) == [("192.0.2.7", SECOND)]
    assert changes(blocks, mitigate("192.0.2.8", "check", SECOND)) == []
    assert changes(blocks, mitigate("192.0.2.8", "out", SECOND, "both")) == []
    assert blocks.other == 2


def test_a_block_of_the_network_of_a_client_blocks_it() -> None:
    """Of IPv4 the network is one address; another network than that of one client is left alone."""
    blocks = Blocks(DOCUMENT)
    for network, blocked in [
        ("192.0.2.7/32", "192.0.2.7"),
        ("2001:db8:1:2::/64", "2001:db8:1:2::/64"),
    ]:
        effect = mitigate(network, "out", SECOND, "network")
        assert changes(blocks, effect) == [(blocked, SECOND)]
    for other in ("192.0.2.0/24", "2001:db8::/48", "0.0.0.0/0", ""):
        assert changes(blocks, mitigate(other, "out", SECOND, "network")) == []


def test_an_address_is_blocked_until_the_last_of_its_mitigations_ends() -> None:
    """A lift of one leaves the other, and a lift of both lets it in."""
    blocks = Blocks(DOCUMENT)
    changes(blocks, mitigate("192.0.2.7", "out", 5 * SECOND))
    assert changes(blocks, mitigate("192.0.2.7", "also", 9 * SECOND)) == [("192.0.2.7", 9 * SECOND)]
    lift = ["lift", "address", ["192.0.2.7"], "1", [["p", "also"]]]
    assert changes(blocks, lift, now=1) == [("192.0.2.7", 5 * SECOND)]
    lift[-1] = [["p", "out"]]
    assert changes(blocks, lift, now=2) == [("192.0.2.7", None)]


def test_an_address_with_a_zone_is_passed_over() -> None:
    """No packet has one, and its text, which could be anything, reaches no firewall."""
    blocks = Blocks(DOCUMENT)
    hostile = "fe80::1%eth0 }; flush ruleset; #"
    found = changes(blocks, mitigate(hostile, "out", SECOND), mitigate("fe80::2", "out", SECOND))
    assert found == [("fe80::2", SECOND)]


def test_what_has_ended_is_not_active() -> None:
    """A snapshot replaces everything, and lists only what goes on."""
    blocks = Blocks(DOCUMENT)
    changes(blocks, mitigate("192.0.2.7", "out", SECOND))
    effects = orjson.dumps([mitigate("2001:db8::1", "out", 5 * SECOND)])
    found = {str(each.address): each.until for each in blocks.replace(effects, 0)}
    assert found == {"192.0.2.7": None, "2001:db8::1": 5 * SECOND}
    assert [str(each.address) for each in blocks.active(0)] == ["2001:db8::1"]
    assert list(blocks.active(6 * SECOND)) == []
