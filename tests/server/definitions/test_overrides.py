"""Bans and exemptions over HTTP, from the call of an operator to the decision."""

from __future__ import annotations

from typing import Any

from tests.server.deciding import Deciding, made
from tests.server.serving import Caller

from tidegate.edge.addresses import TrustedProxies
from tidegate_server.definitions.overrides import contains_proxies

BAN = {"kind": "ban", "network": "203.0.113.0/24", "duration_seconds": 7_200, "reason": "scraping"}


def test_a_ban_decides_and_is_found_explained_and_ended(shop: Deciding) -> None:
    """A ban answers the next request, is named in record and explanation, and ends by a call."""
    owner = shop.by("Owner")
    ban = made(owner.post(f"{shop.path}/overrides", BAN))
    assert ban["author"] == "owner@example.test"
    answer = shop.decide(address="203.0.113.9")
    assert (answer["action"]["type"], answer["reason"]) == ("block", "banned")
    assert 7_100 < int(answer["action"]["block"]["headers"]["retry-after"]) <= 7_200
    found = shop.get("decisions", reason="banned")[0]
    decision = shop.get(f"decisions/{found['decision_id']}")
    assert (decision["override_id"], decision["policy"]) == (ban["override_id"], None)
    explained = shop.get(f"decisions/{found['decision_id']}/explain")
    assert explained["reproduced"]
    assert explained["trace"]["override"]["reason"] == "scraping"
    assert owner.delete(f"{shop.path}/overrides/{ban['override_id']}").status_code == 204
    assert shop.decide(address="203.0.113.9")["reason"] == "no-match"
    again = shop.get(f"decisions/{found['decision_id']}/explain")
    assert again["reproduced"]


def test_letting_an_entity_through_wins_over_its_active_mitigation(shop: Deciding) -> None:
    """A blocked customer is let through by the id of the entity, until that is ended."""
    for _ in range(3):
        blocked = shop.decide("/login")
    assert blocked["reason"] == "policy"
    found = shop.get("decisions", reason="policy")[0]
    allow = {"kind": "allow", "duration_seconds": 60, "reason": "customer called"}
    exempt = made(
        shop.by("Admin").post(
            f"{shop.path}/overrides", {**allow, "entity_id": found["entity_ids"][0]}
        )
    )
    assert shop.decide()["reason"] == "exempt"
    shop.by("Admin").delete(f"{shop.path}/overrides/{exempt['override_id']}")
    assert shop.decide()["reason"] == "active-mitigation"


def test_each_change_is_audited_and_ended_ones_are_removed(owner: Caller, tenant: str) -> None:
    """Making, changing and ending are audited; the next one removes, audited, what has ended."""
    path = f"{tenant}/overrides"
    first = made(owner.post(path, BAN))
    shorter = {"duration_seconds": 60, "reason": "scraping, again"}
    changed = made(owner.patch(f"{path}/{first['override_id']}", shorter))
    assert (changed["reason"], changed["starts_at"]) == ("scraping, again", first["starts_at"])
    assert changed["ends_at"] < first["ends_at"]
    document = made(owner.get(f"{tenant}/definitions"))
    past = {"starts_at": "2026-01-01T00:00:00Z", "ends_at": "2026-01-01T02:00:00Z"}
    document["overrides"][0] |= past
    made(owner.request("PUT", f"{tenant}/definitions", json=document))
    second = made(owner.post(path, BAN))
    assert [each["override_id"] for each in made(owner.get(path))] == [second["override_id"]]
    entries = made(owner.get(f"{tenant}/audit", params={"kind": "override"}))
    about_first = [each for each in entries if each["object_id"] == first["override_id"]]
    actions = [each["action"] for each in about_first]
    assert actions == ["expire", "update", "update", "create"]
    assert (about_first[0]["before"]["reason"], about_first[0]["after"]) == (
        "scraping, again",
        None,
    )


def test_a_second_ban_of_a_network_has_a_name_of_its_own(owner: Caller, tenant: str) -> None:
    """Names are made from the target, with a number where another has the name."""
    names = [made(owner.post(f"{tenant}/overrides", BAN))["name"] for _ in range(3)]
    assert names == [f"Ban 203.0.113.0/24{end}" for end in ("", " (2)", " (3)")]


def test_protected_and_wide_networks_are_refused(owner: Caller, tenant: str) -> None:
    """Loopback and wide networks, and an override for nobody, are refused with the member."""

    def codes(**members: Any) -> list[tuple[str, str]]:
        answer = owner.post(f"{tenant}/overrides", {**BAN, **members})
        assert answer.status_code == 422, answer.text
        return [(each["code"], each["pointer"]) for each in answer.json()["errors"]]

    assert codes(network="127.0.0.1") == [("protected-network", "/network")]
    assert codes(network="8.0.0.0/7") == [("wide-network", "/network")]
    assert codes(network=None) == [("missing-member", "")]
    assert made(owner.post(f"{tenant}/overrides", {**BAN, "network": "8.0.0.0/7", "wide": True}))


def test_proxies_that_the_service_trusts_are_found_in_a_network() -> None:
    """A network that contains or is part of a trusted proxy's is protected."""
    proxies = TrustedProxies.of(["10.0.0.0/24", "2001:db8::7", "unix"])
    found = [
        contains_proxies(proxies, network)
        for network in ("10.0.0.7", "10.0.0.0/16", "2001:db8::/32", "10.0.1.0/24", "::/19", None)
    ]
    assert found == [True, True, True, False, False, False]


def test_a_banned_network_cannot_become_a_trusted_proxy(owner: Caller, tenant: str) -> None:
    """Settings that no ban allows are refused, since the definitions would stop being valid."""
    ban = made(owner.post(f"{tenant}/overrides", BAN))
    settings = {"settings": {"trusted_proxies": ["203.0.113.7"]}}
    refused = owner.patch(tenant, settings)
    assert refused.status_code == 422
    assert [each["code"] for each in refused.json()["errors"]] == ["protected-network"]
    owner.delete(f"{tenant}/overrides/{ban['override_id']}")
    assert made(owner.patch(tenant, settings))["settings"]["trusted_proxies"] == ["203.0.113.7"]


def test_a_document_without_overrides_keeps_them(owner: Caller, tenant: str) -> None:
    """Definitions kept in a file don't remove bans made meanwhile; an empty section does."""
    made(owner.post(f"{tenant}/overrides", BAN))
    document = made(owner.get(f"{tenant}/definitions"))
    assert [each["network"] for each in document["overrides"]] == ["203.0.113.0/24"]
    del document["overrides"]
    assert made(owner.request("PUT", f"{tenant}/definitions", json=document))["changes"] == []
    assert len(made(owner.get(f"{tenant}/overrides"))) == 1
    document["overrides"] = []
    changes = made(owner.request("PUT", f"{tenant}/definitions", json=document))["changes"]
    assert [(each["change"], each["kind"]) for each in changes] == [("deleted", "override")]
