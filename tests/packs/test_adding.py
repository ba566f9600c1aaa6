"""Packs in documents: adding changes no answer, and updating keeps the changes of the site."""

from __future__ import annotations

from typing import Any

import attrs
import orjson
import pytest
from tests.shared_data import some_lines

from tidegate.definitions import load_definitions
from tidegate.engine import Engine
from tidegate.packs import BUNDLED, Pack, PackError, bundled_pack
from tidegate.packs.adding import added, as_added, removed, updated
from tidegate.packs.labels import version_in
from tidegate.packs.objects import SECTIONS, by_slug

SITE = {
    "apiVersion": "tidegate/v1",
    "actions": [{"name": "Login attempt", "expression": 'request.path == "/login"'}],
    "entities": [{"name": "Address", "key_fields": ["derived.client_network"]}],
    "mitigations": [{"name": "Refuse", "mode": "Block", "ttl_seconds": 60}],
    "policies": [
        {
            "name": "Own",
            "clauses": [
                {
                    "name": "many",
                    "entity": "address",
                    "mitigation": "refuse",
                    "window": {"duration_seconds": 10, "threshold": 4},
                }
            ],
        }
    ],
}


def next_version(pack: Pack, **changes: Any) -> Pack:
    """A new version of a pack with other members in its first policy."""
    first, *others = pack.definitions["policies"]
    definitions = {**pack.definitions, "policies": [{**first, **changes}, *others]}
    return attrs.evolve(pack, version="1.1.0", definitions=definitions)


def by_prefix(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The objects of a document that a pack added."""
    return [each for each in objects if "pack" in each.get("labels", {})]


def test_added_packs_change_no_answer() -> None:
    """With all packs added, each event gets the answer that it got before."""
    document: dict[str, Any] = SITE
    for name in BUNDLED:
        document = added(bundled_pack(name), document, {})
    before, after = Engine(load_definitions(SITE)), Engine(load_definitions(document))
    fired = 0
    for event in some_lines("data/traffic/events.jsonl.gz", 4_000):
        line = orjson.dumps(event)
        one, other = before.decide(line), after.decide(line)
        assert (one.action, one.policy) == (other.action, other.policy)
        fired += len(other.fired) - len(one.fired)
    assert fired > 10


@pytest.mark.parametrize("name", BUNDLED)
def test_an_enforcing_pack_decides_as_it_says(name: str) -> None:
    """With `enforce`, the objects of the pack are as the pack has them, with its labels."""
    pack = bundled_pack(name)
    document = added(pack, {"apiVersion": "tidegate/v1"}, {}, enforce=True)
    labels = {"pack": name, "pack_version": pack.version}
    for section in SECTIONS:
        for slug, each in by_slug(pack.definitions, section).items():
            expected = {"slug": slug, **each}
            if not pack.is_slot(section, slug):
                expected["labels"] = labels
            assert by_slug(document, section)[slug] == expected
    load_definitions(document)


def test_slots_are_the_sites() -> None:
    """An action of the site fills a slot, a given expression replaces the guess."""
    pack = bundled_pack("credential-stuffing")
    document = added(pack, SITE, {"login_failure": 'fields["status"] == "418"'})
    actions = by_slug(document, "actions")
    assert actions["login_attempt"] == SITE["actions"][0]
    assert actions["login_failure"]["expression"] == 'fields["status"] == "418"'
    assert "login_success" in actions
    with pytest.raises(PackError, match="has no slot `log_in`"):
        added(pack, SITE, {"log_in": "true"})
    with pytest.raises(PackError, match="which fills the slot"):
        added(pack, SITE, {"login_attempt": "true"})


def test_a_slug_of_the_site_is_not_taken() -> None:
    """An object of the site with a slug of the pack is never overwritten."""
    site = {"apiVersion": "tidegate/v1", "mitigations": [{"name": "Scraping challenge"}]}
    with pytest.raises(PackError, match="has `scraping-challenge` in `mitigations` already"):
        added(bundled_pack("scraping"), site, {})


@pytest.mark.parametrize("name", BUNDLED)
def test_remove_ends_what_add_began(name: str) -> None:
    """Only the actions of slots stay."""
    pack = bundled_pack(name)
    after = removed(pack, pack.definitions, added(pack, SITE, {}))
    for section in SECTIONS:
        slots = set(pack.slots) if section == "actions" else set()
        assert by_slug(after, section).keys() - slots == by_slug(SITE, section).keys() - slots


def test_an_update_keeps_the_site_and_changes_the_version() -> None:
    """Disabled mitigations, slots and thresholds stay; the labels have the version."""
    pack = bundled_pack("credential-stuffing")
    document = added(pack, SITE, {"login_failure": 'fields["status"] == "418"'})
    policy = document["policies"][-1]
    clauses = [dict(each) for each in policy["clauses"]]
    clauses[0] = {**clauses[0], "window": {**clauses[0]["window"], "threshold": 99}}
    document["policies"][-1] = {**policy, "clauses": clauses}
    merged = updated(pack.definitions, next_version(pack, priority=45), document)
    made = merged.document["policies"][-1]
    assert made["priority"] == 45
    assert made["labels"] == {"pack": "credential-stuffing", "pack_version": "1.1.0"}
    assert made["clauses"] == clauses
    assert merged.document["actions"] == document["actions"]
    assert not any(each["enabled"] for each in by_prefix(merged.document["mitigations"]))
    assert version_in(next_version(pack), merged.document) == "1.1.0"
    assert [each.place for each in merged.changes] == [
        "policies.credential-stuffing-logins.priority"
    ]
    assert merged.conflicts == ()


def test_objects_that_an_update_brings_change_no_answer() -> None:
    """The new budget of proven agents only counts until the site enables it."""
    pack = bundled_pack("verified-bots")
    old = pack.definitions_of("1.1.0")
    before = {"apiVersion": "tidegate/v1", **as_added(old)}
    merged = updated(old, pack, before)
    assert merged.conflicts == ()
    mitigations = by_slug(merged.document, "mitigations")
    assert {slug: each["enabled"] for slug, each in mitigations.items()} == {
        "verified-bots-slow-down": False,
        "verified-bots-challenge": False,
    }
    policies = by_slug(merged.document, "policies")
    assert policies["verified-bots-budget"].get("status") is None
    assert policies["verified-bots-pass"]["status"] == "draft"


def test_labels_of_the_site_stay() -> None:
    """Own labels are kept, and an object that lost those of the pack doesn't get them back."""
    pack = bundled_pack("scraping")
    document = added(pack, SITE, {})
    own = {**document["policies"][-1], "labels": {"team": "shop"}}
    document["policies"][-1] = own
    entity = document["entities"][-1]
    document["entities"][-1] = {**entity, "labels": {**entity["labels"], "team": "shop"}}
    merged = updated(pack.definitions, next_version(pack, priority=45), document)
    assert merged.document["policies"][-1] == {**own, "priority": 45}
    assert merged.document["entities"][-1]["labels"] == {
        "team": "shop",
        "pack": "scraping",
        "pack_version": "1.1.0",
    }
    assert merged.conflicts == ()


def test_a_changed_guess_of_a_slot_changes_nothing() -> None:
    """A slot is the site's, even where its expression still is the pack's guess."""
    pack = bundled_pack("scraping")
    document = added(pack, SITE, {})
    first, *others = pack.definitions["actions"]
    definitions = {**pack.definitions, "actions": [{**first, "expression": "true"}, *others]}
    merged = updated(pack.definitions, attrs.evolve(pack, definitions=definitions), document)
    assert merged.document == document
    assert merged.conflicts == ()
