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
from tidegate.packs.adding import added, removed, updated
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
    """With `enforce`, the objects of the pack are as the pack has them."""
    pack = bundled_pack(name)
    document = added(pack, {"apiVersion": "tidegate/v1"}, {}, enforce=True)
    for section in SECTIONS:
        for slug, each in by_slug(pack.definitions, section).items():
            made = dict(by_slug(document, section)[slug])
            assert made.pop("slug") == slug
            description = str(made.pop("description", ""))
            assert description.removesuffix(f"[{name} {pack.version}]").strip() == each.get(
                "description", ""
            )
            kept = ("description", "slug")
            assert made == {key: value for key, value in each.items() if key not in kept}


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
    """Disabled mitigations, slots and thresholds stay; the description has the version."""
    pack = bundled_pack("credential-stuffing")
    document = added(pack, SITE, {"login_failure": 'fields["status"] == "418"'})
    policy = document["policies"][-1]
    clauses = [dict(each) for each in policy["clauses"]]
    clauses[0] = {**clauses[0], "window": {**clauses[0]["window"], "threshold": 99}}
    document["policies"][-1] = {**policy, "clauses": clauses}
    merged = updated(pack.definitions, next_version(pack, priority=45), document)
    made = merged.document["policies"][-1]
    assert made["priority"] == 45
    assert made["description"] == "[credential-stuffing 1.1.0]"
    assert made["clauses"] == clauses
    assert merged.document["actions"] == document["actions"]
    assert merged.document["mitigations"] == document["mitigations"]
    assert [each.place for each in merged.changes] == [
        "policies.credential-stuffing-logins.priority"
    ]
    assert merged.conflicts == ()


def test_a_description_of_the_site_stays() -> None:
    """A policy that lost the version in its description doesn't get it back."""
    pack = bundled_pack("scraping")
    document = added(pack, SITE, {})
    document["policies"][-1] = {**document["policies"][-1], "description": "Ours."}
    merged = updated(pack.definitions, next_version(pack, priority=45), document)
    assert merged.document["policies"][-1]["description"] == "Ours."
    assert merged.document["policies"][-1]["priority"] == 45


def test_a_changed_guess_of_a_slot_changes_nothing() -> None:
    """A slot is the site's, even where its expression still is the pack's guess."""
    pack = bundled_pack("scraping")
    document = added(pack, SITE, {})
    first, *others = pack.definitions["actions"]
    definitions = {**pack.definitions, "actions": [{**first, "expression": "true"}, *others]}
    merged = updated(pack.definitions, attrs.evolve(pack, definitions=definitions), document)
    assert merged.document == document
    assert merged.conflicts == ()
