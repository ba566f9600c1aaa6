"""Actions, entity definitions, mitigations, policies and lists over HTTP."""

from __future__ import annotations

import threading
from typing import Any
from uuid import UUID

import pytest
from tests.server.serving import Caller, Served
from tests.shared_data import shared_lines

from tidegate.policy.document import tree
from tidegate.policy.lint.unused import NEVER_USED

ACTION = {"name": "Failed login", "expression": 'request.path == "/login"'}
ENTITY = {"name": "Account", "key_fields": ["fields.account_id"]}
MITIGATION = {"name": "Refuse", "mode": "Block", "block": {"status_code": 404}}
LIST = {"name": "Office", "kind": "ip", "entries": ["198.51.100.0/24"]}
POLICY = {"name": "Guessing", "clauses": [{"name": "one"}]}
KINDS = {
    "actions": ("action_id", ACTION, {"enabled": False}),
    "entity-definitions": ("entity_definition_id", ENTITY, {"priority": 5}),
    "mitigations": ("mitigation_id", MITIGATION, {"ttl_seconds": 0}),
    "policies": ("policy_id", POLICY, {"status": "draft"}),
    "lists": ("list_id", LIST, {"description": "Ours"}),
}
each_kind = pytest.mark.parametrize("noun", KINDS)


def made(owner: Caller, tenant: str, noun: str, body: Any) -> Any:
    answer = owner.post(f"{tenant}/{noun}", body)
    assert answer.status_code == 201, answer.text
    return answer.json()


@pytest.fixture
def policy(owner: Caller, tenant: str) -> Any:
    """A policy that refers to one object of each kind."""
    action = made(owner, tenant, "actions", ACTION)
    entity = made(owner, tenant, "entity-definitions", ENTITY)
    mitigation = made(owner, tenant, "mitigations", MITIGATION)
    made(owner, tenant, "lists", LIST)
    clause = {
        "name": "many",
        "expression": '!request.client_ip.inList("office")',
        "action_ids": [action["action_id"]],
        "entity_definition_id": entity["entity_definition_id"],
        "mitigation_id": mitigation["mitigation_id"],
        "window": {"duration_seconds": 60, "threshold": 5},
        "final": True,
    }
    return made(owner, tenant, "policies", {**POLICY, "clauses": [clause]})


@each_kind
def test_an_object_is_made_read_changed_and_deleted(
    served: Served, owner: Caller, tenant: str, noun: str
) -> None:
    """The whole life of one object of each kind; the service is notified of every change."""
    identifier, body, change = KINDS[noun]
    answer = owner.post(f"{tenant}/{noun}", body)
    assert answer.status_code == 201
    created = answer.json()
    path = f"{tenant}/{noun}/{created[identifier]}"
    assert answer.headers["location"] == f"/api/v1/{path}"
    assert answer.headers["etag"] == '"1"'
    assert UUID(created[identifier]).version == 7
    assert created["tenant_id"] == tenant.partition("/")[2]
    nested = ("block", "clauses")  # they come back with their defaults filled in
    plain = {name: value for name, value in body.items() if name not in nested}
    assert {**created, **plain} == created
    assert owner.get(path).json() == created

    changed = owner.patch(path, change)
    assert changed.status_code == 200
    assert changed.json() == {
        **created, **change, "revision": 2, "updated_at": changed.json()["updated_at"],
    }  # fmt: skip
    shown = owner.get(f"{tenant}/{noun}").json()
    shown = [each for each in shown if each[identifier] == created[identifier]]
    entries = changed.json().pop("entries", None)
    assert shown == [{key: v for key, v in changed.json().items() if key != "entries"}]
    assert entries is None or created["entry_count"] == len(entries)

    assert owner.delete(path).status_code == 204
    for answer in (owner.get(path), owner.patch(path, change), owner.delete(path)):
        assert answer.status_code == 404
    changed = [each for each in served.changed if str(each) == created["tenant_id"]]
    assert len(changed) == 4  # the tenant, the object, its change, its end


@each_kind
def test_a_change_without_an_effect_is_none(owner: Caller, tenant: str, noun: str) -> None:
    """A change to the same members keeps the revision."""
    identifier, body, _ = KINDS[noun]
    created = made(owner, tenant, noun, body)
    path = f"{tenant}/{noun}/{created[identifier]}"
    assert owner.patch(path, {}).json() == created
    assert owner.patch(path, {"name": created["name"]}).json() == created


@each_kind
def test_names_are_unique_in_a_tenant(
    served: Served, owner: Caller, tenant: str, noun: str
) -> None:
    """Names, and names with the same slug, are unique within a tenant."""
    _, body, _ = KINDS[noun]
    made(owner, tenant, noun, body)
    answer = owner.post(f"{tenant}/{noun}", body)
    assert answer.status_code == 409
    assert answer.json()["code"] == "conflict"
    alike = {**body, "name": str(body["name"]).upper()}
    assert owner.post(f"{tenant}/{noun}", alike).json()["errors"][0]["code"] == "duplicate-slug"
    made(owner, tenant, noun, {**alike, "slug": "another"})
    other, tenant_id = served.owner()
    made(other, f"tenants/{tenant_id}", noun, body)


@each_kind
def test_a_new_name_leaves_the_slug(owner: Caller, tenant: str, noun: str) -> None:
    """Expressions and documents go on working."""
    identifier, body, _ = KINDS[noun]
    created = made(owner, tenant, noun, body)
    path = f"{tenant}/{noun}/{created[identifier]}"
    renamed = owner.patch(path, {"name": "Something else"}).json()
    assert (renamed["name"], renamed["slug"]) == ("Something else", created["slug"])
    assert owner.patch(path, {"slug": "other"}).status_code == 422


@each_kind
def test_every_member_is_checked_again_in_a_change(owner: Caller, tenant: str, noun: str) -> None:
    """A change is checked for wrong nulls, unknown members and empty names."""
    identifier, body, _ = KINDS[noun]
    path = f"{tenant}/{noun}/{made(owner, tenant, noun, body)[identifier]}"
    for change in ({"name": None}, {"name": ""}, {"nmae": "x"}, {"slug": "z"}, []):
        assert owner.patch(path, change).status_code == 422, change
    assert owner.get(path).json()["revision"] == 1


def test_a_wrong_expression_is_refused_with_its_place(owner: Caller, tenant: str) -> None:
    """Line and column count within the text of the expression."""
    body = {**ACTION, "expression": 'request.method == "GET" &&\n  request.pth == 1'}
    answer = owner.post(f"{tenant}/actions", body)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert (error["pointer"], error["line"], error["column"]) == ("/expression", 2, 3)
    assert error["code"] == "unknown-field"
    assert error["hint"] == "did you mean `request.path`?"


def test_a_wrong_key_field_is_named(owner: Caller, tenant: str) -> None:
    """A wrong key field is named by its place in the list and in its text."""
    body = {"name": "Account", "key_fields": ["fields.account_id", "request.\npth"]}
    answer = owner.post(f"{tenant}/entity-definitions", body)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert (error["pointer"], error["line"]) == ("/key_fields/1", 1)


def test_all_findings_of_a_policy_come_at_once(owner: Caller, tenant: str) -> None:
    """Pointers are those of the body that was sent."""
    clauses = [
        {"expression": "1 +", "window": {"duration_seconds": 1, "threshold": 1}},
        {"expression": "request.path", "window": None},
    ]
    answer = owner.post(f"{tenant}/policies", {**POLICY, "expression": "nope", "clauses": clauses})
    assert answer.status_code == 422
    pointers = {each["pointer"] for each in answer.json()["errors"]}
    assert pointers == {
        "/expression", "/clauses/0/expression", "/clauses/0/window", "/clauses/1/expression",
    }  # fmt: skip


def test_two_clauses_of_a_name_are_no_conflict_with_others(owner: Caller, tenant: str) -> None:
    """Two clauses of one name are refused with the place in the body."""
    body = {**POLICY, "clauses": [{"name": "one"}, {"name": "one"}]}
    answer = owner.post(f"{tenant}/policies", body)
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert (error["code"], error["pointer"]) == ("duplicate-name", "/clauses/1/name")


def test_a_policy_refers_by_id(owner: Caller, tenant: str, policy: Any) -> None:
    """A policy comes back as it was sent, with defaults filled in."""
    clause = policy["clauses"][0]
    assert clause["window"] == {
        "duration_seconds": 60, "threshold": 5, "measure": "count", "field": None,
    }  # fmt: skip
    action = owner.get(f"{tenant}/actions/{clause['action_ids'][0]}").json()
    assert action["slug"] == "failed_login"
    assert owner.get(f"{tenant}/policies/{policy['policy_id']}").json() == policy
    assert owner.get(f"{tenant}/policies").json() == [policy]


@pytest.mark.parametrize("member", ["action_ids", "entity_definition_id", "mitigation_id"])
def test_a_policy_cannot_name_what_is_not_there(
    served: Served, owner: Caller, tenant: str, member: str
) -> None:
    """A policy cannot name an unknown id, nor an id of another tenant."""
    other, other_id = served.owner()
    foreign = {
        "action_ids": made(other, f"tenants/{other_id}", "actions", ACTION)["action_id"],
        "entity_definition_id": made(other, f"tenants/{other_id}", "entity-definitions", ENTITY)[
            "entity_definition_id"
        ],
        "mitigation_id": made(other, f"tenants/{other_id}", "mitigations", MITIGATION)[
            "mitigation_id"
        ],
    }[member]
    details = []
    for value in (foreign, "0190f1c4-5b7e-7c3a-9d2e-1f4a6b8c0d2e"):
        named = [value] if member == "action_ids" else value
        answer = owner.post(f"{tenant}/policies", {**POLICY, "clauses": [{member: named}]})
        assert answer.status_code == 422
        (error,) = answer.json()["errors"]
        assert error["pointer"].startswith(f"/clauses/0/{member}")
        details.append(error["detail"].replace(value, ""))
    assert details[0] == details[1]


@pytest.mark.parametrize("noun", ["actions", "entity-definitions", "mitigations", "lists"])
def test_what_is_referred_to_cannot_be_deleted(
    owner: Caller, tenant: str, policy: Any, noun: str
) -> None:
    """409 names the referrers, by clause or in an expression; without them it can."""
    identifier, body, _ = KINDS[noun]
    found = owner.get(f"{tenant}/{noun}").json()
    (target,) = [each for each in found if each["name"] == body["name"]]
    path = f"{tenant}/{noun}/{target[identifier]}"
    refused = owner.delete(path)
    assert refused.status_code == 409
    assert refused.json()["code"] == "in-use"
    assert refused.json()["referrers"] == [
        {"kind": "policy", "id": policy["policy_id"], "name": policy["name"]}
    ]
    assert owner.delete(f"{tenant}/policies/{policy['policy_id']}").status_code == 204
    assert owner.delete(path).status_code == 204


def test_an_action_in_an_expression_is_referred_to(owner: Caller, tenant: str) -> None:
    """``actions.SLUG`` counts as a reference, also of a disabled policy."""
    action = made(owner, tenant, "actions", ACTION)
    body = {**POLICY, "enabled": False, "expression": "actions.failed_login"}
    made(owner, tenant, "policies", body)
    assert owner.delete(f"{tenant}/actions/{action['action_id']}").status_code == 409


def test_a_change_that_breaks_others_is_refused(owner: Caller, tenant: str, policy: Any) -> None:
    """A list of addresses that a policy reads cannot become one of strings."""
    (found,) = owner.get(f"{tenant}/lists").json()
    answer = owner.patch(f"{tenant}/lists/{found['list_id']}", {"kind": "string"})
    if answer.status_code == 200:
        assert owner.get(f"{tenant}/lists").json()[0]["kind"] == "string"
    else:
        assert answer.status_code == 422
        assert policy["name"] in answer.json()["errors"][0]["detail"]


def test_every_save_of_a_policy_is_a_version(owner: Caller, tenant: str, policy: Any) -> None:
    """The newest first, for good, and each can be saved again."""
    path = f"{tenant}/policies/{policy['policy_id']}"
    owner.patch(path, {"priority": 1, "clauses": [{"name": "other"}]})
    versions = owner.get(f"{path}/versions").json()
    assert [each["version"] for each in versions] == [2, 1]
    assert versions[0]["policy"]["priority"] == 1
    of_object = {"created_at", "updated_at", "revision"}
    for version, saved in zip(versions, (owner.get(path).json(), policy), strict=True):
        assert version["policy"] == {k: v for k, v in saved.items() if k not in of_object}
        assert version["missing_references"] == []
        assert (version["tenant_id"], version["policy_id"]) == (
            policy["tenant_id"],
            policy["policy_id"],
        )
    # A version can be written as it was answered.
    assert owner.patch(path, versions[0]["policy"]).json()["revision"] == 2
    assert versions[1]["created_by"] == str(owner.operator_id)
    assert len(owner.get(f"{path}/versions?limit=1").json()) == 1

    restored = owner.post(f"{path}/restore", {"version": 1})
    assert restored.status_code == 200
    assert restored.json()["clauses"] == policy["clauses"]
    assert restored.json()["revision"] == 3
    assert [each["version"] for each in owner.get(f"{path}/versions").json()] == [3, 2, 1]
    assert owner.post(f"{path}/restore", {"version": 99}).status_code == 404
    # No database has a number as large.
    assert owner.post(f"{path}/restore", {"version": 10**30}).status_code == 422
    stale = owner.post(f"{path}/restore", {"version": 1}, headers={"if-match": '"1"'})
    assert stale.status_code == 412


def test_a_version_that_no_longer_holds_is_not_restored(
    owner: Caller, tenant: str, policy: Any
) -> None:
    """A version that names deleted objects cannot be restored."""
    path = f"{tenant}/policies/{policy['policy_id']}"
    owner.patch(path, {"clauses": [{"name": "plain"}]})
    action_id = policy["clauses"][0]["action_ids"][0]
    assert owner.delete(f"{tenant}/actions/{action_id}").status_code == 204
    answer = owner.post(f"{path}/restore", {"version": 1})
    assert answer.status_code == 422
    assert {each["pointer"] for each in answer.json()["errors"]} == {"/clauses/0/action_ids/0"}


def test_entries_are_put_in_and_taken_out(owner: Caller, tenant: str) -> None:
    """Each entry is in the list once, in order; the answer counts the changes."""
    path = f"{tenant}/lists/{made(owner, tenant, 'lists', LIST)['list_id']}"
    answer = owner.post(f"{path}/entries", {"add": ["192.0.2.1", "198.51.100.0/24", "192.0.2.1"]})
    assert answer.json()["entry_count"] == 2
    assert "entries" not in answer.json()
    owner.post(f"{path}/entries", {"add": ["192.0.2.2"], "remove": ["192.0.2.1", "unknown"]})
    assert owner.get(path).json()["entries"] == ["198.51.100.0/24", "192.0.2.2"]
    refused = owner.post(f"{path}/entries", {"add": ["192.0.2.3", "no address"]})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/add/1"
    stale = owner.post(f"{path}/entries", {"add": []}, headers={"if-match": '"1"'})
    assert stale.status_code == 412


def test_a_list_has_a_bound(owner: Caller, tenant: str) -> None:
    """A list may have entries up to its bound, and not one more."""
    entries = [f"v{number}" for number in range(100_000)]
    body = {"name": "Many", "kind": "string", "entries": entries}
    path = f"{tenant}/lists/{made(owner, tenant, 'lists', body)['list_id']}"
    assert owner.post(f"{path}/entries", {"add": ["one more"]}).status_code == 422
    assert owner.post(f"{path}/entries", {"add": ["v0"], "remove": ["v1"]}).status_code == 200
    assert owner.get(path).json()["entry_count"] == 99_999
    document = owner.get(f"{tenant}/definitions").json()
    document["lists"][0]["entries"] = [*entries, "one more"]
    refused = owner.request("PUT", f"{tenant}/definitions", json=document)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/lists/0/entries"


def test_all_entries_of_all_lists_count_however_they_came(
    owner: Caller, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries past the bound are refused however they are added, since the set could not be
    compiled."""
    monkeypatch.setattr(tree, "MAX_NODES", 340)
    paths = [
        f"{tenant}/lists/{made(owner, tenant, 'lists', {**LIST, 'name': name})['list_id']}"
        for name in ("One", "Two")
    ]
    add = {"add": [f"192.0.2.{number}" for number in range(150)]}
    assert owner.post(f"{paths[0]}/entries", add).status_code == 200
    for part in (slice(75), slice(75, 150)):
        last = owner.post(f"{paths[1]}/entries", {"add": add["add"][part]})
    assert last.status_code == 422
    assert last.json()["errors"][0]["code"] == "document-too-large"
    assert owner.get(paths[1]).json()["entry_count"] == 76
    assert owner.patch(paths[0], {"entries": []}).status_code == 200
    assert owner.post(f"{paths[1]}/entries", add).status_code == 200


def test_a_document_may_give_the_slug_of_one_object_to_another(owner: Caller, tenant: str) -> None:
    """The id that it writes says which is which; the other is a new one."""
    old = made(owner, tenant, "entity-definitions", ENTITY)
    document = owner.get(f"{tenant}/definitions").json()
    renamed = next(each for each in document["entities"] if each["slug"] == "account")
    renamed |= {"name": "Former account", "slug": "former-account"}
    document["entities"].append(ENTITY)
    answer = owner.request("PUT", f"{tenant}/definitions", json=document)
    assert answer.status_code == 200, answer.text
    found = {each["slug"]: each for each in owner.get(f"{tenant}/entity-definitions").json()}
    assert found["former-account"]["entity_definition_id"] == old["entity_definition_id"]
    assert found["account"]["entity_definition_id"] != old["entity_definition_id"]


def test_changes_at_the_same_time_are_all_kept(owner: Caller, tenant: str) -> None:
    """Simultaneous changes are all kept, each checked against the set it changes."""
    path = f"{tenant}/lists/{made(owner, tenant, 'lists', {**LIST, 'entries': []})['list_id']}"
    answers: list[int] = []

    def add(number: int) -> None:
        entry = {"add": [f"192.0.2.{number}"]}
        status = 429
        while status == 429:  # one operator has only a few places at a time
            status = owner.post(f"{path}/entries", entry).status_code
        answers.append(status)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 24
    assert owner.get(path).json()["entry_count"] == 24


def test_writes_are_in_the_audit_trail(owner: Caller, tenant: str) -> None:
    """Who, what, from what to what, and the request."""
    created = made(owner, tenant, "actions", ACTION)
    path = f"{tenant}/actions/{created['action_id']}"
    owner.patch(path, {"enabled": False}, headers={"x-request-id": "the-change"})
    owner.patch(path, {"nmae": "refused"})
    owner.delete(path)
    entries = owner.get(f"{tenant}/audit?object_id={created['action_id']}").json()
    assert [each["action"] for each in entries] == ["delete", "update", "create"]
    assert {each["actor"] for each in entries} == {str(owner.operator_id)}
    update = entries[1]
    assert update["request_id"] == "the-change"
    assert update["before"] == created
    assert update["after"]["enabled"] is False


def test_a_version_says_which_references_are_gone(owner: Caller, tenant: str, policy: Any) -> None:
    """A mitigation that was deleted is null in the old version, and listed by its slug."""
    path = f"{tenant}/policies/{policy['policy_id']}"
    assert owner.patch(path, {"clauses": [{"name": "other"}]}).status_code == 200
    (clause,) = policy["clauses"]
    assert owner.delete(f"{tenant}/mitigations/{clause['mitigation_id']}").status_code == 204
    first = owner.get(f"{path}/versions").json()[-1]
    assert first["policy"]["clauses"] == [{**clause, "mitigation_id": None}]
    assert first["missing_references"] == [
        {"pointer": "/clauses/0/mitigation_id", "kind": "mitigation", "slug": "refuse"}
    ]


DOUBTFUL_KEYS = {
    "request.path": "broad-key",
    "request.raw_path": "broad-key",
    "request.referer": "often-blank-key",
    'request.headers["x-request-id"]': "per-request-key",
}


@pytest.mark.parametrize(("key", "code"), DOUBTFUL_KEYS.items())
def test_a_doubtful_key_is_warned_about_at_every_door(
    owner: Caller, tenant: str, key: str, code: str
) -> None:
    """POST, PATCH, the whole document and the check of one expression say the same."""
    entity = made(owner, tenant, "entity-definitions", {**ENTITY, "key_fields": [key]})
    place = f"{tenant}/entity-definitions/{entity['entity_definition_id']}"
    changed = owner.patch(place, {"priority": 7}).json()
    for answer in (entity, changed):
        (warning,) = answer["warnings"]
        assert (warning["code"], warning["pointer"]) == (code, "/key_fields/0")
        assert (warning["line"], warning["column"]) == (1, 1)
    assert "warnings" not in owner.get(place).json()
    document = owner.get(f"{tenant}/definitions").json()
    applied = owner.request("PUT", f"{tenant}/definitions?dry_run=true", json=document).json()
    codes = [each["code"] for each in applied["warnings"]]
    assert [each for each in codes if each != NEVER_USED] == [code]
    body = {"expression": key, "purpose": "key-field"}
    report = owner.post(f"{tenant}/expressions/check", body).json()
    assert [each["code"] for each in report["diagnostics"]] == [code]


def test_a_good_key_has_no_warnings(owner: Caller, tenant: str) -> None:
    """The answer then has no such member."""
    assert "warnings" not in made(owner, tenant, "entity-definitions", ENTITY)


# --- expressions/check -------------------------------------------------------------------------


def test_an_expression_is_described(owner: Caller, tenant: str, policy: Any) -> None:
    """Type, fields, lists, cost and layout, as the tenant's names are known."""
    text = 'request.client_ip.inList("office")&&actions.failed_login'
    report = owner.post(f"{tenant}/expressions/check", {"expression": text}).json()
    assert report["ok"]
    assert report["type"] == "bool"
    assert report["fields"] == ["actions.failed_login", "request.client_ip"]
    assert report["lists"] == ["office"]
    assert report["cost_estimate"] > 0
    assert report["formatted"] == 'request.client_ip.inList("office") && actions.failed_login'


@pytest.mark.parametrize(
    ("text", "purpose", "entity", "ok"),
    [
        ("request.path", "key-field", False, True),
        ("request.path", "condition", False, False),
        ("request.path", "window-field", False, True),
        ("true", "scope", False, True),
        ("actions.failed_login", "scope", False, True),
        ("actions.failed_login", "action", False, False),
        ("entity.event_count > 1u", "condition", True, True),
        ("entity.event_count > 1u", "condition", False, False),
        ("entity.event_count", "window-field", True, False),
        ("", "condition", False, False),
        ("1 +", "condition", False, False),
    ],
)
def test_what_an_expression_may_be_depends_on_its_purpose(
    owner: Caller, tenant: str, text: str, purpose: str, entity: bool, ok: bool
) -> None:
    """Names and type; an error is an answer with its place."""
    made(owner, tenant, "actions", ACTION)
    body = {"expression": text, "purpose": purpose, "entity": entity}
    answer = owner.post(f"{tenant}/expressions/check", body)
    assert answer.status_code == 200
    report = answer.json()
    if ok and not report["ok"]:
        raise AssertionError(report)
    assert report["ok"] == ok
    assert ok or report["diagnostics"][0]["line"] == 1


def test_hostile_text_in_every_free_field_is_only_text(owner: Caller, tenant: str) -> None:
    """Injection strings are kept as they are, or refused; nothing else happens."""
    lines = shared_lines("data/adversarial/payloads/sql_nosql_cmd_template.jsonl")
    texts = [next(value for value in each.values() if isinstance(value, str)) for each in lines]
    path = f"{tenant}/actions/{made(owner, tenant, 'actions', ACTION)['action_id']}"
    kept = 0
    for text in texts[::40]:
        answer = owner.patch(path, {"description": text})
        assert answer.status_code in (200, 422)
        kept += answer.status_code == 200
        if answer.status_code == 200:
            assert owner.get(path).json()["description"] == text
        assert owner.get(f"{tenant}/audit", params={"kind": text}).json() == []
        assert owner.get(f"{tenant}/actions", params={"cursor": text}).status_code == 422
    assert kept
