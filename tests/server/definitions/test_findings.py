"""Findings about saved definitions: their parts that are most likely not meant."""

from __future__ import annotations

from tests.server.deciding import Deciding, made
from tests.waiting import wait_until

NEVER = 'request.method == "get"'


def test_saved_definitions_have_the_warnings_of_their_writes(shop: Deciding) -> None:
    """An object has the warnings that its write answered; one without any is left out."""
    admin = shop.by("Admin")
    before = {each["id"] for each in shop.get("definitions/findings", role="Viewer")}
    wanted = {"name": "Never", "clauses": [{"expression": NEVER, "final": True}]}
    saved = made(admin.post(f"{shop.path}/policies", wanted))
    assert saved["warnings"]
    found = shop.get("definitions/findings", role="Viewer")
    (about,) = (each for each in found if each["id"] not in before)
    assert (about["kind"], about["id"], about["name"]) == ("policy", saved["policy_id"], "Never")
    assert about["warnings"] == saved["warnings"]
    changed = {"clauses": [{"expression": "request.path.contains('x')", "final": True}]}
    place = f"{shop.path}/policies/{saved['policy_id']}"
    assert admin.patch(place, changed).status_code == 200
    again = shop.get("definitions/findings")
    assert {each["id"] for each in again} == before


def test_a_save_says_what_its_object_cannot_do(shop: Deciding) -> None:
    """The findings of `tidegate lint` about an object come with its write, and with the list."""
    admin = shop.by("Admin")
    wanted = {
        "name": "Contradicts itself",
        "expression": 'request.path.startsWith("/admin/")',
        "clauses": [
            {"name": "never", "expression": 'request.path == "/login"'},
            {"name": "all", "final": True},
            {"name": "later", "expression": 'request.method == "GET"'},
        ],
    }
    saved = made(admin.post(f"{shop.path}/policies", wanted))
    told = {(each["code"], each["pointer"]) for each in saved["warnings"]}
    assert told == {
        ("contradiction", "/clauses/0/expression"),
        ("unreachable-clause", "/clauses/2"),
    }
    (about,) = (
        each
        for each in shop.get("definitions/findings", role="Viewer")
        if each["id"] == saved["policy_id"]
    )
    assert about["warnings"] == saved["warnings"]
    mended = {"clauses": [{"name": "all", "final": True}]}
    answer = admin.patch(f"{shop.path}/policies/{saved['policy_id']}", mended)
    assert "warnings" not in answer.json()


def test_an_unused_object_is_a_finding_of_all_definitions(shop: Deciding) -> None:
    """An object is saved before anything can use it, so its save doesn't warn."""
    admin = shop.by("Admin")
    wanted = {"name": "Unused", "expression": 'request.path == "/unused"'}
    saved = made(admin.post(f"{shop.path}/actions", wanted))
    assert "warnings" not in saved
    found = {each["id"]: each["warnings"] for each in shop.get("definitions/findings")}
    assert [each["code"] for each in found[saved["action_id"]]] == ["never-used"]
    changed = admin.patch(f"{shop.path}/actions/{saved['action_id']}", {"description": "later"})
    assert "warnings" not in changed.json()


def test_a_condition_on_a_field_that_is_always_empty_is_told(shop: Deciding) -> None:
    """The service has no address database: writes, the list and the field catalog say so."""
    admin = shop.by("Admin")
    wanted = {
        "name": "By country",
        "clauses": [
            {"expression": 'derived.country in ["NL", "BE"] || derived.asn == 64496', "final": True}
        ],
    }
    saved = made(admin.post(f"{shop.path}/policies", wanted))
    told = [(each["code"], each["pointer"]) for each in saved["warnings"]]
    assert told == [("field-always-empty", "/clauses/0/expression")] * 2
    assert "no address database" in saved["warnings"][0]["detail"]
    found = shop.get("definitions/findings", role="Viewer")
    assert saved["warnings"] in [each["warnings"] for each in found]
    document = shop.get("definitions", role="Viewer")
    dry = admin.request("PUT", f"{shop.path}/definitions?dry_run=true", json=document)
    assert [each["code"] for each in dry.json()["warnings"]].count("field-always-empty") == 2
    fields = {each["name"]: each for each in shop.get("field-catalog", limit=100)}
    assert "no address database is configured" in fields["derived.asn"]["description"]


def test_the_catalog_gives_no_share_of_fields_that_are_never_looked_up(shop: Deciding) -> None:
    """Without a database the share is unknown, and not 0 %, until a source states the place."""

    def shares() -> list[float | None]:
        fields = {
            each["name"]: each for each in shop.get("field-catalog", limit=100, values="true")
        }
        return [fields[name]["fill_rate"] for name in ("derived.country", "derived.asn")]

    shop.decide(address="192.0.2.7")
    assert shares() == [None, None]
    shop.decide(address="192.0.2.7", geo={"country": "NL", "asn": 64_496})
    assert wait_until(lambda: shares()[0]) == 0.5
