"""First logins, invited addresses, and what ends a token."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from tests.server.login.browsing import Browser, me
from tests.server.login.conftest import provider
from tests.server.login.issuer import Issuer, issuing
from tests.server.serving import PASSWORD, Caller, Served, serving

from tidegate_server.login.logins import Logins
from tidegate_server.stores.objects import operators


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    """The issuer."""
    with issuing() as made:
        yield made


@pytest.fixture(scope="module")
def served(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that lets in who is invited."""
    logins = Logins([provider(issuer, "company")])
    logins.prepare()
    with serving(tmp_path_factory.mktemp("invited"), logins) as made:
        yield made


def log_in(served: Served, issuer: Issuer, name: str, **claims: Any) -> dict[str, str]:
    """A login of a person whose address has the name."""
    issuer.claims = {"sub": name, "email": f"{name}@example.test", "name": name.title(), **claims}
    return Browser(served).log_in(issuer)


def test_who_is_not_invited_stays_out(served: Served, issuer: Issuer) -> None:
    """A provider's word alone makes no operator, and the page says whom to ask."""
    assert log_in(served, issuer, "mallory") == {"error": "not-invited"}


def test_an_invited_address_has_its_role_at_the_first_login(
    served: Served, issuer: Issuer, owned: tuple[Caller, str]
) -> None:
    """The membership waits, then belongs to the operator, and is audited as theirs."""
    owner, tenant_id = owned
    path = f"tenants/{tenant_id}/memberships"
    made = owner.post(path, {"email": "Eve@Example.test", "role": "Analyst"}).json()
    assert (made["pending"], made["email"], made["name"]) == (True, "eve@example.test", None)
    token = log_in(served, issuer, "eve")["access_token"]
    said = me(served, token).json()
    assert [(each["tenant_id"], each["role"]) for each in said["memberships"]] == [
        (tenant_id, "Analyst")
    ]
    (found,) = [each for each in owner.get(path).json() if each["role"] == "Analyst"]
    assert (found["user_id"], found["pending"], found["name"]) == (said["user_id"], False, "Eve")
    entry = owner.get(f"tenants/{tenant_id}/audit?kind=membership&limit=1").json()[0]
    assert (entry["action"], entry["actor"]) == ("accept", said["user_id"])
    assert entry["before"]["user_id"] == made["user_id"]


def test_a_password_counts_for_an_invitation_too(served: Served, owned: tuple[Caller, str]) -> None:
    """A login by password accepts an invitation: the operator's creator vouches for the address."""
    owner, tenant_id = owned
    caller = served.operator("Bob")
    owner.post(f"tenants/{tenant_id}/memberships", {"email": caller.email, "role": "Viewer"})
    body = {"email": caller.email, "password": PASSWORD}
    token = served.http.post("/api/v1/auth/local/token", json=body).json()["access_token"]
    assert [each["role"] for each in me(served, token).json()["memberships"]] == ["Viewer"]


def test_an_address_is_invited_alike_whether_it_is_known_or_not(
    served: Served, owned: tuple[Caller, str]
) -> None:
    """Answers, also to a second invitation, say nothing of who has an account."""
    owner, tenant_id = owned
    path = f"tenants/{tenant_id}/memberships"

    def answers(email: str) -> list[Any]:
        said = [owner.post(path, {"email": email, "role": role}) for role in ("Viewer", "Admin")]
        assert [each.status_code for each in said] == [200, 200]
        first, second = (each.json() for each in said)
        assert first["user_id"] == second["user_id"]
        changing = ("user_id", "email", "created_at", "updated_at")
        return [
            {name: value for name, value in each.items() if name not in changing}
            for each in (first, second)
        ]

    assert answers(served.operator().email) == answers("nobody.knows@example.test")


def test_an_invitation_is_taken_back(
    served: Served, issuer: Issuer, owned: tuple[Caller, str]
) -> None:
    """A membership that was deleted before the first login lets nobody in."""
    owner, tenant_id = owned
    path = f"tenants/{tenant_id}/memberships"
    made = owner.post(path, {"email": "frank@example.test", "role": "Viewer"}).json()
    assert owner.delete(f"{path}/{made['user_id']}").status_code == 204
    assert log_in(served, issuer, "frank") == {"error": "not-invited"}


def test_a_member_is_found_by_address(served: Served, owned: tuple[Caller, str]) -> None:
    """The role of somebody who uses the tenant is changed by id or by address."""
    owner, tenant_id = owned
    member = served.member(tenant_id, "Viewer")
    path = f"tenants/{tenant_id}/memberships"
    said = owner.post(path, {"email": member.email, "role": "Admin"}).json()
    assert (said["user_id"], said["role"]) == (str(member.operator_id), "Admin")
    again = {"user_id": said["user_id"], "email": said["email"], "role": "Viewer"}
    assert owner.post(path, again).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"role": "Viewer"},
        {"user_id": None, "email": None, "role": "Viewer"},
        {"email": "no address", "role": "Viewer"},
        {"email": "a@b@c", "role": "Viewer"},
        {"user_id": "0190f1c4-5b7e-7c3a-9d2e-1f4a6b8c0d2e", "email": "a@b.test", "role": "Viewer"},
    ],
)
def test_a_membership_names_one(owned: tuple[Caller, str], body: Any) -> None:
    """Nobody, no address, and an id with another's address are refused."""
    owner, tenant_id = owned
    answer = owner.post(f"tenants/{tenant_id}/memberships", body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")


def test_an_admin_invites_no_owner(served: Served, owned: tuple[Caller, str]) -> None:
    """The roles say who may give which, to an address as to an operator."""
    admin = served.member(owned[1], "Admin")
    path = f"tenants/{owned[1]}/memberships"
    assert admin.post(path, {"email": "x@example.test", "role": "Owner"}).status_code == 403
    assert admin.post(path, {"email": "x@example.test", "role": "Admin"}).status_code == 200


def test_a_verified_address_joins_a_known_operator(served: Served, issuer: Issuer) -> None:
    """The operator keeps the name, and has two ways to log in."""
    known = served.operator("Known")
    found = log_in(served, issuer, "known", email=known.email.upper())
    said = me(served, found["access_token"]).json()
    assert (said["user_id"], said["name"]) == (str(known.operator_id), "Known")


def test_a_disabled_operator_stays_out(served: Served, issuer: Issuer) -> None:
    """The provider's word does not bring an operator back."""
    caller = served.operator()
    assert "access_token" in log_in(served, issuer, "gone", email=caller.email)
    change = partial(
        operators.change, operator_id=caller.operator_id, now_ns=time.time_ns(), disabled=True
    )
    served.application.store.write(change).result()
    assert log_in(served, issuer, "gone", email=caller.email) == {"error": "refused"}


def test_a_token_ends_at_once(served: Served, issuer: Issuer, owned: tuple[Caller, str]) -> None:
    """Sign-out ends the token, and the loss of a membership its reach."""
    owner, tenant_id = owned
    path = f"tenants/{tenant_id}/memberships"
    owner.post(path, {"email": "gina@example.test", "role": "Viewer"})
    token = log_in(served, issuer, "gina")["access_token"]
    headers = {"authorization": f"Bearer {token}"}
    where = f"/api/v1/tenants/{tenant_id}"
    assert served.http.get(where, headers=headers).status_code == 200
    user_id = me(served, token).json()["user_id"]
    assert owner.delete(f"{path}/{user_id}").status_code == 204
    assert served.http.get(where, headers=headers).status_code == 404
    assert served.http.delete("/api/v1/auth/token", headers=headers).status_code == 204
    assert me(served, token).status_code == 401
