"""Packs in the definitions of a tenant, over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
from tests.server.deciding import Deciding, made
from tests.server.serving import Caller, Served

from tidegate.packs import BUNDLED, Pack, bundled_pack
from tidegate_server.definitions import packs as handlers

LOGIN = 'request.path == "/account/login"'
SHOWN = "?dry_run=true"


@attrs.frozen
class Tenant:
    """A tenant, and its packs as its owner calls them."""

    owner: Caller
    tenant_id: str

    def path(self, rest: str) -> str:
        return f"tenants/{self.tenant_id}/{rest}"

    def get(self, rest: str) -> Any:
        return made(self.owner.get(self.path(rest)))

    def step(self, rest: str, slots: dict[str, str] | None = None, **headers: str) -> Any:
        """The answer to a step of a pack, which must succeed."""
        return made(self.ask(rest, slots, **headers))

    def ask(self, rest: str, slots: dict[str, str] | None = None, **headers: str) -> Any:
        body = {"slots": slots or {}} if rest.partition("/")[2].startswith("add") else None
        return self.owner.post(self.path(f"packs/{rest}"), body, headers=headers)

    def definitions(self) -> Any:
        return self.get("definitions")

    def versions(self) -> dict[str, str]:
        found = self.get("packs")
        return {
            each["name"]: each["installed_version"] for each in found if each["installed_version"]
        }


@pytest.fixture
def tenant(served: Served) -> Tenant:
    """A tenant without definitions of its own, but for those that every tenant begins with."""
    return Tenant(*served.owner())


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Pack:
    """The service has a newer version of a pack from now on, with other thresholds."""
    before = bundled_pack("scraping")
    (policy,) = before.definitions["policies"]
    clauses = [
        {**each, "window": {**each["window"], "threshold": each["window"]["threshold"] + 1}}
        for each in policy["clauses"]
    ]
    definitions = {**before.definitions, "policies": [{**policy, "clauses": clauses}]}
    (tmp_path / "earlier").mkdir()
    text = (before.folder / "definitions.yaml").read_text()
    (tmp_path / "earlier" / f"{before.version}.yaml").write_text(text)
    newer = attrs.evolve(before, version="1.1.0", definitions=definitions, folder=tmp_path)
    monkeypatch.setattr(
        handlers,
        "bundled_pack",
        lambda name: newer if name == newer.name else bundled_pack(name),
    )
    monkeypatch.setattr(handlers, "bundled_packs", lambda: [newer])
    return newer


def test_every_pack_is_listed_and_shown_with_its_notes(tenant: Tenant) -> None:
    """The list has the order in which packs decide, and a pack has the guesses of its slots."""
    found = tenant.get("packs")
    assert [each["name"] for each in found] == list(BUNDLED)
    assert not any(each["installed_version"] or each["update_available"] for each in found)
    pack = bundled_pack("credential-stuffing")
    shown = tenant.get("packs/credential-stuffing")
    assert shown["misses"] == list(pack.misses)
    assert shown["hurts"] == list(pack.hurts)
    assert [each["slug"] for each in shown["slots"]] == list(pack.slots)
    assert all(each["guess"] and each["expression"] is None for each in shown["slots"])
    assert tenant.owner.get(tenant.path("packs/none-such")).status_code == 404


def test_a_pack_is_shown_before_it_is_added(tenant: Tenant) -> None:
    """The preview has every object, and changes nothing."""
    before = tenant.definitions()
    shown = tenant.step(f"credential-stuffing/add{SHOWN}", {"login_attempt": LOGIN})
    assert tenant.definitions() == before
    assert shown["dry_run"]
    assert (shown["from_version"], shown["to_version"]) == (None, "1.0.0")
    places = [each["place"] for each in shown["changes"]]
    assert "actions.login_attempt" in places
    assert "policies.credential-stuffing-logins" in places
    done = tenant.step(
        "credential-stuffing/add",
        {"login_attempt": LOGIN},
        **{"if-match": f'"{shown["revision"]}"'},
    )
    assert done["changes"] == shown["changes"]
    assert done["revision"] == shown["revision"] + 1 == tenant.definitions()["revision"]
    assert tenant.versions() == {"credential-stuffing": "1.0.0"}


@pytest.mark.parametrize("name", BUNDLED)
def test_an_added_pack_only_monitors_and_is_removed_without_a_trace(
    tenant: Tenant, name: str
) -> None:
    """Its objects have its labels, none of them answers, and only the slots stay behind."""
    before = tenant.definitions()
    assert tenant.step(f"{name}/add")["warnings"] == []
    after = tenant.definitions()
    labels = {"pack": name, "pack_version": bundled_pack(name).version}
    for section in ("entities", "mitigations", "policies"):
        for each in after[section][len(before[section]) :]:
            assert each["labels"] == labels
            if section == "mitigations":
                assert each["enabled"] is False
            if section == "policies" and any("final" in clause for clause in each["clauses"]):
                assert each["status"] == "draft"
    shown = tenant.step(f"{name}/update{SHOWN}")
    assert (shown["changes"], shown["yours"], shown["conflicts"]) == ([], [], [])
    assert tenant.step(f"{name}/remove")["yours"] == []
    slots = bundled_pack(name).slots
    left = tenant.definitions()
    left["actions"] = [each for each in left["actions"] if each["slug"] not in slots]
    assert {**left, "revision": 0} == {**before, "revision": 0}
    assert tenant.versions() == {}


def test_an_update_keeps_what_the_tenant_changed(tenant: Tenant, newer: Pack) -> None:
    """The change of the tenant stays as a conflict, and the others are made."""
    with pytest.MonkeyPatch.context() as earlier:
        earlier.setattr(handlers, "bundled_pack", bundled_pack)
        tenant.step("scraping/add")
    (listed,) = tenant.get("packs")
    assert (listed["installed_version"], listed["version"]) == ("1.0.0", "1.1.0")
    assert listed["update_available"]
    document = tenant.definitions()
    clauses = document["policies"][-1]["clauses"]
    clauses[0]["window"]["threshold"] = 500
    made(tenant.owner.request("PUT", tenant.path("definitions"), json=document))
    shown = tenant.step(f"scraping/update{SHOWN}")
    place = "policies.scraping-pages.clauses.many pages.window.threshold"
    assert shown["conflicts"] == [{"place": place, "yours": 500, "pack": 61}]
    assert [each["after"] for each in shown["yours"]] == [500]
    assert len(shown["changes"]) == len(clauses) - 1
    done = tenant.step("scraping/update")
    assert (done["from_version"], done["to_version"]) == ("1.0.0", "1.1.0")
    policy = tenant.definitions()["policies"][-1]
    assert policy["policy_id"] == document["policies"][-1]["policy_id"]
    assert policy["clauses"][0]["window"]["threshold"] == 500
    assert policy["labels"]["pack_version"] == newer.version
    again = tenant.step("scraping/update")
    assert (again["changes"], again["revision"]) == ([], done["revision"])


def test_the_audit_says_which_pack_changed_the_objects(tenant: Tenant) -> None:
    """One entry for the pack, and one for each of its objects."""
    tenant.step("scraping/add", {"product_page": LOGIN})
    tenant.step("scraping/remove")
    removed, added = tenant.get("audit?kind=pack")
    assert (added["action"], added["object_id"], added["before"]) == ("add", "scraping", None)
    assert added["after"]["version"] == removed["before"]["version"] == "1.0.0"
    assert added["after"]["slots"] == {"product_page": LOGIN}
    assert (removed["action"], removed["after"]) == ("remove", None)
    same_call = [each for each in tenant.get("audit") if each["request_id"] == added["request_id"]]
    assert len(same_call) > 2


def test_a_step_that_cannot_be_taken_is_refused(tenant: Tenant) -> None:
    """The problem has a code, and leads to the slot that is wrong."""
    for rest, slots, status, code, pointer in (
        ("scraping/update", None, 409, "conflict", None),
        ("scraping/remove", None, 409, "conflict", None),
        ("scraping/add", {"page": "true"}, 422, "invalid-request", "/slots/page"),
        ("scraping/add", {"product_page": "request.pth"}, 422, "invalid-definitions", None),
    ):
        answer = tenant.ask(rest, slots)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        if pointer is not None:
            assert answer.json()["errors"][0]["pointer"] == pointer
    wrong = tenant.ask("scraping/add", {"product_page": "request.pth"}).json()["errors"]
    assert [(each["pointer"], each["line"]) for each in wrong] == [("/slots/product_page", 1)]
    tenant.step("scraping/add")
    assert tenant.ask("scraping/add").json()["code"] == "conflict"
    stale = tenant.ask("scraping/remove", None, **{"if-match": '"1"'})
    assert stale.json()["code"] == "stale-revision"
    mitigation = next(
        each["mitigation_id"]
        for each in tenant.get("mitigations")
        if each["labels"].get("pack") == "scraping"
    )
    clause = {"name": "own", "mitigation_id": mitigation}
    made(tenant.owner.post(tenant.path("policies"), {"name": "Own", "clauses": [clause]}))
    used = tenant.ask("scraping/remove").json()
    assert used["code"] == "invalid-definitions"
    assert used["errors"][0]["code"] == "missing-reference"


def test_a_viewer_sees_packs_and_changes_none(tenant: Tenant, served: Served) -> None:
    """Steps need the permission to write definitions, also to be shown."""
    viewer = Tenant(served.member(tenant.tenant_id, "Viewer"), tenant.tenant_id)
    assert len(viewer.get("packs")) == len(BUNDLED)
    assert viewer.ask(f"scraping/add{SHOWN}").status_code == 403
    assert viewer.ask("scraping/add").status_code == 403


def test_a_pack_decides_once_its_mitigation_is_enabled(shop: Deciding) -> None:
    """Added, it only says what it would have done."""
    admin = Tenant(shop.by("Admin"), shop.tenant_id)

    def answers() -> set[str]:
        found = [shop.decide("/.env", address="192.0.2.77") for _ in range(5)]
        return {each["action"]["type"] for each in found}

    assert admin.step("vulnerability-probing/add")["active"]
    assert answers() == {"allow"}
    for each in admin.get("mitigations"):
        if each["labels"].get("pack") == "vulnerability-probing":
            place = admin.path(f"mitigations/{each['mitigation_id']}")
            assert admin.owner.patch(place, {"enabled": True}).status_code == 200
    assert answers() - {"allow"}
