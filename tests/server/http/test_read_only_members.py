"""Members that an answer had come back in a write: accepted as they are, refused when changed."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from tests.server.serving import Caller, Served

from tidegate_server.http.convert import read_only_types
from tidegate_server.http.read_only_members import CODE
from tidegate_server.routing.route import Route
from tidegate_server.routing.routes import ROUTES

BODIES: dict[str, Any] = {
    "tenants": {"name": "A tenant of its own"},
    "api-keys": {"name": "edge", "expires_at": "2030-01-01T00:00:00Z"},
    "actions": {"name": "Login", "expression": 'request.path == "/login"'},
    "entity-definitions": {"name": "Account", "key_fields": ["fields.account_id"]},
    "mitigations": {"name": "Refuse", "mode": "Block", "block": {"status_code": 404}},
    "policies": {"name": "Guessing", "clauses": [{"name": "one"}]},
    "lists": {"name": "Office", "kind": "ip", "entries": ["198.51.100.0/24"]},
}
UNSTABLE = {"warnings", "last_used_at", "definition_revision", "name", "email", "pending"}
each_kind = pytest.mark.parametrize("noun", BODIES)


def made(owner: Caller, tenant: str, noun: str) -> tuple[str, dict[str, Any]]:
    """The path of a new object, and the object as it is read."""
    where = noun if noun == "tenants" else f"{tenant}/{noun}"
    body = {**BODIES[noun], "name": f"{BODIES[noun]['name']} {uuid4()}"}
    answer = owner.post(where, body)
    assert answer.status_code == 201, answer.text
    path = answer.headers["location"]
    return path, owner.get(path).json()


def read_only(path: str) -> set[str]:
    """The members that only the answer for a path's object has."""
    return set(read_only_types(changing(path).body))


def changing(path: str) -> Route:
    depth = path.count("/")
    return next(
        route
        for route in ROUTES
        if route.method == "PATCH"
        and route.paths[0].count("/") == depth
        and (depth == 4 or route.paths[0].split("/")[5] == path.split("/")[5])
    )


def other(value: Any) -> Any:
    """A value of the same type that is not the present one."""
    match value:
        case None:
            return "2026-01-01T00:00:00Z"
        case int():
            return value + 1
        case str() if len(value) == 36:
            return str(uuid4())
        case str() if value.endswith("Z"):
            return "2026-01-01T00:00:00.000Z"
    return f"{value}0"


@each_kind
def test_what_was_read_can_be_written_back(owner: Caller, tenant: str, noun: str) -> None:
    """A whole object goes back as it came, and with one member changed."""
    path, shown = made(owner, tenant, noun)
    back = owner.patch(path, shown)
    assert back.status_code == 200, back.text
    assert back.json() == shown
    changed = owner.patch(path, {**shown, "name": f"Another {uuid4()}"})
    assert changed.status_code == 200, changed.text
    assert changed.json()["revision"] == shown["revision"] + 1


@each_kind
def test_a_member_that_cannot_change_is_refused_when_it_does(
    owner: Caller, tenant: str, noun: str
) -> None:
    """The problem names the member; a revision of the past is a stale one."""
    path, shown = made(owner, tenant, noun)
    fixed = (read_only(path) & shown.keys()) - UNSTABLE
    assert fixed >= {"tenant_id", "created_at", "updated_at", "revision", "slug"} & shown.keys()
    for name in fixed:
        answer = owner.patch(path, {name: other(shown[name])})
        if name == "revision":
            assert answer.json()["code"] == "stale-revision"
            continue
        assert answer.status_code == 422, (name, answer.text)
        (error,) = answer.json()["errors"]
        assert (error["code"], error["pointer"]) == (CODE, f"/{name}")
        assert f"`{name}`" in error["detail"]
    assert owner.get(path).json() == shown


@each_kind
def test_a_new_object_may_name_its_tenant(owner: Caller, tenant: str, noun: str) -> None:
    """The tenant of the path is known before the object is; its id is not."""
    if noun == "tenants":
        refused = owner.post("tenants", {**BODIES[noun], "tenant_id": str(uuid4())})
        assert refused.json()["errors"][0]["code"] == CODE
        return
    tenant_id = tenant.partition("/")[2]
    body = {**BODIES[noun], "tenant_id": tenant_id.upper()}
    assert owner.post(f"{tenant}/{noun}", body).status_code == 201
    refused = owner.post(f"{tenant}/{noun}", {**body, "tenant_id": str(uuid4())})
    assert refused.json()["errors"][0]["pointer"] == "/tenant_id"
    refused = owner.post(f"{tenant}/{noun}", {**body, "revision": 1})
    assert "set by the service" in refused.json()["errors"][0]["detail"]


def test_a_membership_is_written_back_too(served: Served, owner: Caller, tenant: str) -> None:
    """The one object that a POST changes: it is found by what the body names."""
    member = {"user_id": str(served.operator().operator_id), "role": "Viewer"}
    shown = owner.post(f"{tenant}/memberships", member).json()
    back = owner.post(f"{tenant}/memberships", {**shown, "role": "Analyst"})
    assert (back.status_code, back.json()["role"]) == (200, "Analyst")
    assert owner.post(f"{tenant}/memberships", shown).json()["code"] == "stale-revision"
    another = {**shown, "user_id": str(uuid4())}
    assert owner.post(f"{tenant}/memberships", another).json()["errors"][0]["code"] == CODE


def test_a_revision_that_comes_back_is_a_precondition(owner: Caller, tenant: str) -> None:
    """A revision counts as ``If-Match``: it prevents that another change is overwritten."""
    path, shown = made(owner, tenant, "actions")
    owner.patch(path, {"description": "from somebody else"})
    stale = owner.patch(path, {**shown, "description": "from before"})
    assert (stale.status_code, stale.json()["code"]) == (412, "stale-revision")
    assert stale.headers["etag"] == '"2"'
    both = owner.patch(path, {"revision": 2, "enabled": False}, headers={"if-match": '"1"'})
    assert both.status_code == 412


def test_other_ways_to_write_the_same_are_the_same(owner: Caller, tenant: str) -> None:
    """Times with another offset and precision, ids in capitals."""
    path, shown = made(owner, tenant, "actions")
    shown["created_at"] = shown["created_at"].replace("Z", "000+00:00")
    shown["action_id"] = shown["action_id"].upper()
    assert owner.patch(path, shown).status_code == 200


def test_what_a_write_answered_can_be_written_back(owner: Caller, tenant: str) -> None:
    """Warnings belong to the answer of the write and are passed over when they come back."""
    body = {**BODIES["entity-definitions"], "key_fields": ["request.path"]}
    shown = owner.post(f"{tenant}/entity-definitions", body).json()
    assert shown["warnings"]
    path = f"{tenant}/entity-definitions/{shown['entity_definition_id']}"
    assert owner.patch(path, shown).status_code == 200


def test_a_value_of_the_wrong_type_is_one(owner: Caller, tenant: str) -> None:
    """A member that only answers have is held to its type as any other."""
    path, _ = made(owner, tenant, "actions")
    errors = owner.patch(path, {"created_at": 5, "tenant_id": "x", "nmae": ""}).json()["errors"]
    assert {each["pointer"]: each["code"] for each in errors} == {
        "/created_at": "invalid-value",
        "/tenant_id": "invalid-value",
        "/nmae": "unknown-member",
    }


def test_a_draft_of_a_policy_may_be_a_whole_policy(owner: Caller, tenant: str) -> None:
    """A policy that was read can be tried with a change; another policy's id is refused."""
    path, shown = made(owner, tenant, "policies")
    body = {"event": {"request": {"path": "/"}}, "policy": {**shown, "description": "a draft"}}
    tried = owner.post(f"{path}/simulate", body)
    assert tried.status_code == 200, tried.text
    body["policy"] = {**shown, "policy_id": str(uuid4())}
    refused = owner.post(f"{path}/simulate", body)
    assert refused.json()["errors"][0]["pointer"] == "/policy/policy_id"
