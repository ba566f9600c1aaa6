"""The audit trail over HTTP: objects as they are answered, and who acted."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

import pytest
from tests.server.serving import Caller, Served

from tidegate_server.http.ids import new_id
from tidegate_server.stores.objects import audit

NEVER_THERE = {"key", "secret_hash", "previous_secret_hash", "password_hash", "email", "name"}
POLICY = {"name": "Guessing", "clauses": [{"name": "one"}]}
OBJECTS = {
    "actions": {"name": "Login", "expression": 'request.path == "/login"'},
    "entity-definitions": {"name": "Account", "key_fields": ["fields.account_id"]},
    "mitigations": {"name": "Refuse", "mode": "Block", "block": {"status_code": 404}},
    "lists": {"name": "Office", "kind": "ip", "entries": ["198.51.100.0/24"]},
}


def trail(owner: Caller, tenant: str, **query: str) -> list[Any]:
    """The entries of a tenant, the newest first."""
    found: list[Any] = owner.get(f"{tenant}/audit", params=query).json()
    assert {each["tenant_id"] for each in found} <= {tenant.partition("/")[2]}
    return found


def made(owner: Caller, tenant: str, noun: str, body: Any) -> Any:
    """The answer for a new object."""
    answer = owner.post(f"{tenant}/{noun}", body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_definitions_are_held_as_they_are_answered(owner: Caller, tenant: str) -> None:
    """The audit holds one object of each kind, with a policy that refers to the others by id."""
    known = {noun: made(owner, tenant, noun, body) for noun, body in OBJECTS.items()}
    clause = {
        "name": "one",
        "action_ids": [known["actions"]["action_id"]],
        "entity_definition_id": known["entity-definitions"]["entity_definition_id"],
        "mitigation_id": known["mitigations"]["mitigation_id"],
    }
    known["policies"] = made(owner, tenant, "policies", {**POLICY, "clauses": [clause]})
    for noun in ("policies", *OBJECTS):
        present = known[noun]
        present.pop("warnings", None)
        id_member = next(iter(present.keys() & {
            "action_id", "entity_definition_id", "mitigation_id", "list_id", "policy_id",
        }))  # fmt: skip
        assert owner.delete(f"{tenant}/{noun}/{present[id_member]}").status_code == 204
        deleted, created = trail(owner, tenant, object_id=present[id_member])
        assert (created["before"], created["after"]) == (None, present)
        assert (deleted["before"], deleted["after"]) == (present, None)


def test_changed_entries_are_held_beside_their_list(owner: Caller, tenant: str) -> None:
    """The list is there without its entries, with what was put in and taken out."""
    found = made(owner, tenant, "lists", OBJECTS["lists"])
    before = owner.get(f"{tenant}/lists").json()[0]
    change = {"add": ["192.0.2.1"], "remove": []}
    answer = owner.post(f"{tenant}/lists/{found['list_id']}/entries", change)
    assert answer.status_code == 200, answer.text
    newest = trail(owner, tenant, object_id=found["list_id"])[0]
    assert newest["before"] == before
    assert newest["after"] == {**answer.json(), **change, "add_count": 1, "remove_count": 0}


def test_a_tenant_is_held_as_it_is_answered(owner: Caller, tenant: str) -> None:
    """Settings have their defaults, whether they came alone or with a document."""
    first = owner.get(tenant).json()
    second = owner.patch(tenant, {"settings": {"retention_days": 3}}).json()
    document = owner.get(f"{tenant}/definitions").json()
    document["settings"]["retention_days"] = 4
    answer = owner.request("PUT", f"{tenant}/definitions", json=document)
    assert answer.status_code == 200, answer.text
    third = owner.get(tenant).json()
    for each in (first, second, third):
        del each["definition_revision"]
    found = [(each["before"], each["after"]) for each in trail(owner, tenant, kind="tenant")]
    assert found == [(second, third), (first, second), (None, first)]


def test_keys_and_memberships_are_held_without_secrets(
    served: Served, owner: Caller, tenant: str
) -> None:
    """A key has no secret and no last use; a membership has no name and no address."""
    key = made(owner, tenant, "api-keys", {"name": "edge"})
    owner.post(f"{tenant}/api-keys/{key['api_key_id']}/rotate", {})
    present = owner.get(f"{tenant}/api-keys/{key['api_key_id']}").json()
    rotated, created = trail(owner, tenant, kind="api-key")
    del present["last_used_at"], key["last_used_at"], key["key"]
    assert (created["before"], created["after"]) == (None, key)
    assert (rotated["before"], rotated["after"]) == (key, present)

    other = served.operator("Other")
    write = {"user_id": str(other.operator_id), "role": "Viewer"}
    member = owner.post(f"{tenant}/memberships", write).json()
    owner.delete(f"{tenant}/memberships/{other.operator_id}")
    ended, begun = trail(owner, tenant, kind="membership")
    del member["name"], member["email"], member["pending"]
    assert (begun["after"], ended["before"]) == (member, member)
    assert not NEVER_THERE & begun["after"].keys()


def test_whoever_acted_has_a_name(served: Served, owner: Caller, tenant: str) -> None:
    """An operator keeps the name after the membership ends; a machine has none."""
    tenant_id = UUID(tenant.partition("/")[2])
    admin = served.member(str(tenant_id), "Admin")
    made(admin, tenant, "actions", OBJECTS["actions"])
    owner.delete(f"{tenant}/memberships/{admin.operator_id}")
    entry = audit.AuditEntry(
        audit_id=new_id(),
        tenant_id=tenant_id,
        at_ns=time.time_ns(),
        actor="service",
        action="gap",
        kind="decision-log",
        object_id=str(tenant_id),
        after={"decisions": 3},
    )
    served.application.store.write(lambda c: audit.add(c, entry)).result()
    gap, ended, created = trail(owner, tenant)[:3]
    assert (gap["actor"], gap["actor_name"], gap["after"]) == ("service", None, {"decisions": 3})
    assert (ended["actor"], ended["actor_name"]) == (str(owner.operator_id), "Owner")
    assert (created["actor"], created["actor_name"]) == (str(admin.operator_id), "Admin")
    assert "@" not in str([gap, ended, created])


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_pages_of_the_trail_join(owner: Caller, tenant: str, limit: int) -> None:
    """Each entry is on one page."""
    made(owner, tenant, "actions", OBJECTS["actions"])
    made(owner, tenant, "policies", POLICY)
    whole = trail(owner, tenant)
    seen: list[Any] = []
    path = f"/api/v1/{tenant}/audit?limit={limit}"
    while path:
        answer = owner.get(path)
        seen += answer.json()
        path = answer.links["next"]["url"] if "next" in answer.links else ""
    assert seen == whole
