"""Tenants, memberships, API keys and tokens over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.server.serving import PASSWORD, Caller, Served
from tests.shared_data import shared_lines

from tidegate_server.operators.key_ring import hash_key
from tidegate_server.operators.permissions import Role
from tidegate_server.stores.objects import api_keys


def test_a_new_tenant_has_an_owner_and_entity_definitions(owner: Caller, tenant: str) -> None:
    """The creator, and those by which traffic is grouped from the first event on."""
    (mine,) = owner.get("me").json()["memberships"]
    assert mine["role"] == "Owner"
    found = owner.get(f"{tenant}/entity-definitions").json()
    assert [each["name"] for each in found] == ["bot-crawlers", "ip-user-agent", "ip", "account-id"]
    assert found[1]["key_fields"] == ["derived.client_network", "request.user_agent"]
    assert found[0]["priority"] < found[1]["priority"] < found[2]["priority"]


def test_settings_have_their_defaults_and_are_changed_one_by_one(
    owner: Caller, tenant: str
) -> None:
    """A setting that is left out stays as it is."""
    before = owner.get(tenant).json()["settings"]
    assert before["retention_days"] == 30
    assert before["redact"] == []
    changed = owner.patch(tenant, {"settings": {"retention_days": 7}}).json()
    assert changed["settings"] == {**before, "retention_days": 7}
    changed = owner.patch(tenant, {"settings": {"fail_mode": "open"}}).json()
    assert changed["settings"] == {**before, "retention_days": 7, "fail_mode": "open"}
    assert changed["revision"] == 3


@pytest.mark.parametrize(
    "settings",
    [
        {"retention_days": 0},
        {"return_url_origins": ["javascript:alert(1)"]},
        {"return_url_origins": ["https://shop.example/path"]},
        {"trusted_proxies": ["nonsense"]},
        {"redact": ["x", "x"]},
        {"fail_mode": "sometimes"},
        {"unknown": 1},
    ],
)
def test_wrong_settings_are_refused(owner: Caller, tenant: str, settings: Any) -> None:
    """Settings follow the rules of definitions documents, and faults have a pointer."""
    answer = owner.patch(tenant, {"settings": settings})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith("/settings/")


def test_names_of_tenants_are_unique(served: Served, owner: Caller, tenant: str) -> None:
    """A second one of a name is a conflict; an Owner may use another."""
    name = owner.get(tenant).json()["name"]
    other = served.operator()
    assert other.post("tenants", {"name": name}).status_code == 409
    assert other.post("tenants", {"name": "!!!"}).status_code == 422


def test_a_deleted_tenant_is_gone(served: Served, owner: Caller, tenant: str) -> None:
    """A deleted tenant and everything in it is gone for everybody, and the service is notified."""
    assert owner.delete(tenant, headers={"if-match": '"7"'}).status_code == 412
    assert owner.delete(tenant).status_code == 204
    assert owner.get(tenant).status_code == 404
    assert owner.get("me").json()["memberships"] == []
    assert str(served.changed[-1]) == tenant.partition("/")[2]


# --- memberships -------------------------------------------------------------------------------


def test_a_membership_is_made_changed_and_ended(served: Served, owner: Caller, tenant: str) -> None:
    """A membership counts from the next request after it is made, changed or ended."""
    other = served.operator("Other")
    assert other.get(tenant).status_code == 404
    write = {"user_id": str(other.operator_id), "role": "Viewer"}
    answer = owner.post(f"{tenant}/memberships", write)
    assert answer.status_code == 200
    assert {**answer.json(), **write} == answer.json()
    assert other.get(tenant).status_code == 200
    assert other.post(f"{tenant}/actions", {}).status_code == 403
    owner.post(f"{tenant}/memberships", {**write, "role": "Admin"})
    assert other.post(f"{tenant}/actions", {}).status_code == 422
    assert [each["role"] for each in owner.get(f"{tenant}/memberships").json()] in (
        ["Owner", "Admin"],
        ["Admin", "Owner"],
    )
    assert owner.delete(f"{tenant}/memberships/{other.operator_id}").status_code == 204
    assert other.get(tenant).status_code == 404
    assert owner.delete(f"{tenant}/memberships/{other.operator_id}").status_code == 404


def test_a_membership_is_not_changed_by_who_does_not_know_it(
    served: Served, owner: Caller, tenant: str
) -> None:
    """A change of a membership needs its revision when `If-Match` is sent."""
    other = served.operator("Other")
    path, write = f"{tenant}/memberships", {"user_id": str(other.operator_id), "role": "Viewer"}
    known = {"if-match": '"1"'}
    assert owner.post(path, write, headers=known).status_code == 412
    assert owner.post(path, write).headers["etag"] == '"1"'
    assert owner.post(path, {**write, "role": "Admin"}, headers=known).headers["etag"] == '"2"'
    for answer in (
        owner.post(path, write, headers=known),
        owner.delete(f"{path}/{other.operator_id}", headers=known),
    ):
        assert (answer.status_code, answer.json()["code"]) == (412, "stale-revision")
    gone = owner.delete(f"{path}/{other.operator_id}", headers={"if-match": '"2"'})
    assert gone.status_code == 204


def test_an_admin_cannot_touch_owners(served: Served, owned: tuple[Caller, str]) -> None:
    """An Admin can neither make, demote nor remove an Owner."""
    owner, tenant_id = owned
    admin = served.member(tenant_id, "Admin")
    viewer = served.member(tenant_id, "Viewer")
    path = f"tenants/{tenant_id}/memberships"
    for user, role in (
        (admin.operator_id, "Owner"),
        (viewer.operator_id, "Owner"),
        (owner.operator_id, "Viewer"),
    ):
        answer = admin.post(path, {"user_id": str(user), "role": role})
        assert answer.status_code == 403
        assert answer.json()["code"] == "forbidden"
    assert admin.delete(f"{path}/{owner.operator_id}").status_code == 403
    assert admin.post(path, {"user_id": str(viewer.operator_id), "role": "Admin"}).is_success
    assert admin.delete(f"{path}/{viewer.operator_id}").status_code == 204


def test_the_last_owner_stays(served: Served, owned: tuple[Caller, str]) -> None:
    """The last Owner stays until there is another."""
    owner, tenant_id = owned
    path = f"tenants/{tenant_id}/memberships"
    demotion = {"user_id": str(owner.operator_id), "role": "Admin"}
    for answer in (owner.post(path, demotion), owner.delete(f"{path}/{owner.operator_id}")):
        assert answer.status_code == 409
        assert answer.json()["code"] == "last-owner"
    second = served.member(tenant_id, "Owner")
    assert owner.post(path, demotion).status_code == 200
    assert second.delete(f"{path}/{owner.operator_id}").status_code == 204
    assert second.delete(f"{path}/{second.operator_id}").status_code == 409


def test_a_stranger_is_not_found_out_by_a_membership(
    served: Served, owner: Caller, tenant: str
) -> None:
    """Name and address of an operator are shown once the membership was used."""
    stranger = served.operator("Stranger")
    path = f"{tenant}/memberships"

    def shown(user_id: str) -> tuple[int, Any, Any]:
        answer = owner.post(path, {"user_id": user_id, "role": "Viewer"})
        shown = answer.json()
        listed = [each for each in owner.get(path).json() if each["user_id"] == user_id]
        assert listed == [shown]
        hidden = {"tenant_id", "user_id", "created_at", "updated_at", "revision"}
        return answer.status_code, {k: v for k, v in shown.items() if k not in hidden}, {*shown}

    of_stranger = shown(str(stranger.operator_id))
    assert (of_stranger[1]["name"], of_stranger[1]["email"]) == (None, None)
    assert of_stranger[1]["pending"] is True
    assert stranger.get("me").status_code == 200
    assert shown(str(stranger.operator_id)) == of_stranger
    assert stranger.get(tenant).status_code == 200
    known = shown(str(stranger.operator_id))[1]
    assert (known["name"], known["email"], known["pending"]) == ("Stranger", stranger.email, False)


@pytest.mark.parametrize(
    "user_id", ["f81d4fae-7dec-41d0-a765-00a0c91e6bf6", "ada@example.test", "ada", ""]
)
def test_an_id_that_nobody_has_is_refused_with_the_way_to_an_address(
    owner: Caller, tenant: str, user_id: str
) -> None:
    """Nobody could ever use such a membership; the answer points to ``email``."""
    path = f"{tenant}/memberships"
    before = owner.get(path).json()
    refused = owner.post(path, {"user_id": user_id, "role": "Viewer"})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid-request")
    (error,) = refused.json()["errors"]
    assert error["pointer"] == "/user_id"
    assert "`email`" in error["hint"]
    assert owner.get(path).json() == before


def test_a_caller_who_may_not_give_a_role_learns_nothing_of_ids(
    served: Served, owned: tuple[Caller, str]
) -> None:
    """The role of the caller is looked at before the id."""
    _, tenant_id = owned
    viewer, admin = served.member(tenant_id, "Viewer"), served.member(tenant_id, "Admin")
    path = f"tenants/{tenant_id}/memberships"
    for caller, role in ((viewer, "Viewer"), (admin, "Owner")):
        refused = caller.post(path, {"user_id": str(uuid4()), "role": role})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


def test_a_membership_has_a_role_that_there_is(owner: Caller, tenant: str) -> None:
    """A membership with an unknown role is refused."""
    for role in ("viewer", "Root", "", None):
        wrong = {"user_id": str(owner.operator_id), "role": role}
        assert owner.post(f"{tenant}/memberships", wrong).status_code == 422


# --- API keys ----------------------------------------------------------------------------------


def kept(served: Served, tenant: str, answer: Any) -> api_keys.ApiKey:
    with served.application.store.read() as connection:
        return api_keys.find(connection, UUID(tenant.partition("/")[2]), UUID(answer["api_key_id"]))


def test_the_text_of_a_key_is_shown_once(served: Served, owner: Caller, tenant: str) -> None:
    """256 bits behind a public prefix; kept as a keyed hash and nowhere else."""
    answer = owner.post(f"{tenant}/api-keys", {"name": "edge"})
    assert answer.status_code == 201
    made = answer.json()
    prefix, public, secret = made["key"].split("_")
    assert (prefix, public, len(secret)) == ("tg", made["prefix"], 52)
    stored = kept(served, tenant, made)
    pepper = served.application.keys.pepper
    assert stored.secret_hash == hash_key(made["key"].encode(), pepper)
    path = f"{tenant}/api-keys/{made['api_key_id']}"
    for other in (owner.get(path), owner.get(f"{tenant}/api-keys"), owner.get(f"{tenant}/audit")):
        assert secret not in other.text
        assert stored.secret_hash.hex() not in other.text
    assert made["rate_limit_per_minute"] == 6_000
    assert made["trust_level"] == "External"
    assert str(served.keys_changed[-1]) == tenant.partition("/")[2]


def test_a_rotated_key_has_two_secrets_for_a_while(
    served: Served, owner: Caller, tenant: str
) -> None:
    """The old one counts until the end of the overlap."""
    made = owner.post(f"{tenant}/api-keys", {"name": "edge"}).json()
    path = f"{tenant}/api-keys/{made['api_key_id']}"
    answer = owner.post(f"{path}/rotate", {"overlap_seconds": 60})
    assert answer.status_code == 200
    rotated = answer.json()
    assert rotated["key"] != made["key"]
    assert rotated["prefix"] == made["prefix"]
    stored = kept(served, tenant, made)
    pepper = served.application.keys.pepper
    assert stored.secret_hash == hash_key(rotated["key"].encode(), pepper)
    assert stored.previous_secret_hash == hash_key(made["key"].encode(), pepper)
    until = datetime.fromisoformat(rotated["previous_secret_expires_at"])
    assert timedelta(0) < until - datetime.now(UTC) <= timedelta(seconds=60)
    assert owner.post(f"{path}/rotate", {"overlap_seconds": -1}).status_code == 422


def test_a_revoked_key_stays_revoked(served: Served, owner: Caller, tenant: str) -> None:
    """A revoked key is listed, cannot be rotated, and cannot be revoked anew."""
    made = owner.post(f"{tenant}/api-keys", {"name": "edge"}).json()
    path = f"{tenant}/api-keys/{made['api_key_id']}"
    assert owner.delete(path, headers={"if-match": '"9"'}).status_code == 412
    assert owner.delete(path).status_code == 204
    revoked = owner.get(path).json()
    assert revoked["revoked_at"] is not None
    assert owner.post(f"{path}/rotate", {}).status_code == 409
    assert owner.delete(path).status_code == 204
    assert owner.get(path).json() == revoked
    assert owner.get(f"{tenant}/api-keys").json() == [revoked]


def test_a_key_is_changed(owner: Caller, tenant: str) -> None:
    """Name, source, trust, limit and expiry; null takes an expiry away."""
    made = owner.post(f"{tenant}/api-keys", {"name": "edge"}).json()
    path = f"{tenant}/api-keys/{made['api_key_id']}"
    later = (datetime.now(UTC) + timedelta(days=1)).replace(microsecond=0)
    change = {
        "name": "edge 2",
        "source_id": "eu",
        "trust_level": "Trusted",
        "rate_limit_per_minute": 60,
        "expires_at": later.isoformat(),
    }
    changed = owner.patch(path, change).json()
    assert datetime.fromisoformat(changed["expires_at"]) == later
    assert {**changed, **change, "expires_at": changed["expires_at"]} == changed
    assert owner.patch(path, {"expires_at": None}).json()["expires_at"] is None
    assert owner.patch(path, {"rate_limit_per_minute": None}).json()[
        "rate_limit_per_minute"
    ] == 6_000  # fmt: skip
    for expiry in ("2020-01-01T00:00:00Z", "9999-01-01T00:00:00Z", "2027-01-01T00:00:00", "soon"):
        assert owner.patch(path, {"expires_at": expiry}).status_code == 422, expiry
    owner.post(f"{tenant}/api-keys", {"name": "other"})
    assert owner.patch(path, {"name": "other"}).status_code == 409


def test_a_key_has_no_more_than_the_settings_allow(owner: Caller, tenant: str) -> None:
    """A key's limit past the setting is refused when it is made and when it is changed."""
    made = owner.post(f"{tenant}/api-keys", {"name": "edge", "rate_limit_per_minute": 600_000})
    assert made.status_code == 201, made.text
    path = f"{tenant}/api-keys/{made.json()['api_key_id']}"
    for answer in (
        owner.post(f"{tenant}/api-keys", {"name": "more", "rate_limit_per_minute": 600_001}),
        owner.patch(path, {"rate_limit_per_minute": 100_000_000}),
    ):
        assert answer.status_code == 422
        problem = answer.json()
        assert problem["code"] == "invalid-request"
        assert "`server.max_api_key_rate_limit_per_minute`" in problem["detail"]
        [error] = problem["errors"]
        assert (error["pointer"], error["code"]) == ("/rate_limit_per_minute", "out-of-range")
    assert owner.get(path).json()["rate_limit_per_minute"] == 600_000


# --- tokens ------------------------------------------------------------------------------------


def login(served: Served, email: str, password: str = PASSWORD) -> Any:
    return served.http.post("/api/v1/auth/local/token", json={"email": email, "password": password})


def test_a_password_gives_a_token(served: Served) -> None:
    """Eight hours of it; however the address is written."""
    someone = served.operator()
    answer = login(served, someone.email.upper())
    assert answer.status_code == 200
    made = answer.json()
    assert (made["token_type"], made["expires_in"]) == ("Bearer", 8 * 3_600)
    someone.token = made["access_token"]
    me = someone.get("me").json()
    assert me["user_id"] == str(someone.operator_id)
    assert me["token_expires_at"] == made["expires_at"]


def test_wrong_and_unknown_look_the_same(served: Served) -> None:
    """A wrong password and an unknown operator get the same answer."""
    someone = served.operator()
    wrong = login(served, someone.email, "wrong password")
    unknown = login(served, "nobody-" + someone.email)
    assert wrong.status_code == unknown.status_code == 401
    assert wrong.headers["www-authenticate"] == unknown.headers["www-authenticate"]
    same = [{**each.json(), "request_id": ""} for each in (wrong, unknown)]
    assert same[0] == same[1]


def test_a_revoked_token_ends_alone(served: Served) -> None:
    """A revoked token ends at once; others of the same operator go on."""
    someone = served.operator()
    first, second = (login(served, someone.email).json()["access_token"] for _ in range(2))
    someone.token = first
    assert someone.delete("auth/token").status_code == 204
    assert someone.get("me").status_code == 401
    someone.token = second
    assert someone.get("me").status_code == 200


def test_all_tokens_of_an_operator_end_together(served: Served) -> None:
    """Ending all tokens ends those made before; the next login counts at once."""
    someone = served.operator()
    first = login(served, someone.email).json()["access_token"]
    assert someone.delete("auth/token?all=true").status_code == 204
    for token in (first, someone.token):
        someone.token = token
        assert someone.get("me").status_code == 401
    someone.token = login(served, someone.email).json()["access_token"]
    assert someone.get("me").status_code == 200


def test_recorded_attacks_after_the_fact(served: Served, owned: tuple[Caller, str]) -> None:
    """After each recorded attack with several tokens, access ends at once."""
    groups = {each["group"] for each in shared_lines("data/adversarial/jwt/attack_recipes.jsonl")}
    assert "revoked" in groups
    owner, tenant_id = owned
    viewer = served.member(tenant_id, Role.VIEWER.value)
    assert viewer.get(f"tenants/{tenant_id}").status_code == 200
    owner.delete(f"tenants/{tenant_id}/memberships/{viewer.operator_id}")
    # The recipe says 403; the answer does not show a non-member that there is a tenant.
    assert viewer.get(f"tenants/{tenant_id}").status_code == 404
    viewer.delete("auth/token")
    assert viewer.get("me").status_code == 401
