"""Every route against every caller, and against own, foreign and missing objects."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID, uuid4

import attrs
import httpx2
import pytest
from tests.server.access_rows import DECIDED, OBJECTS, ROWS
from tests.server.serving import Caller, Served

from tidegate.operators.permissions import PERMISSIONS, Role
from tidegate.server.route import Credential, Route
from tidegate.server.routes import ROUTES
from tidegate.stores import memberships, operators

MISSING = "0190f1c4-5b7e-7c3a-9d2e-1f4a6b8c0d2e"
HANDLED = [route for route in ROUTES if route.handler is not None]
OPERATED = [route for route in HANDLED if route.credential is Credential.OPERATOR]
OF_TENANTS = [route for route in OPERATED if "tenant_id" in route.parameters]


def named(route: Route) -> str:
    return route.name


@attrs.frozen
class World:
    """A tenant with an object of every kind."""

    owner: Caller
    ids: dict[str, str]

    def request(self, caller: Caller, route: Route, **ids: str) -> httpx2.Response:
        known = {**self.ids, **ids}
        path = route.paths[0].format_map(known)
        body = _filled(ROWS[route.name][0], self.ids)
        content = {} if body is None else {"json": body}
        return caller.request(route.method, path, **content)


def _filled(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _filled(each, ids) for name, each in value.items()}
    if isinstance(value, str) and value.startswith("{"):
        return {**ids, "unique": f"Made {uuid4()}"}[value.strip("{}")]
    return value


def world(served: Served, route: Route) -> World:
    """A new tenant with the objects that the path of a route names."""
    owner, tenant_id = served.owner()
    ids = {"tenant_id": tenant_id}
    ids["user_id"] = str(served.member(tenant_id, "Viewer").operator_id)
    for name in set(route.parameters) & OBJECTS.keys():
        where, body = OBJECTS[name]
        answer = owner.post(f"tenants/{tenant_id}/{where}", body)
        assert answer.status_code == 201, answer.text
        ids[name] = answer.json()[name]
    if set(route.parameters) & set(DECIDED):
        ids |= zip(DECIDED, decided(served, owner, tenant_id), strict=True)
    return World(owner, ids)


def decided(served: Served, owner: Caller, tenant_id: str) -> tuple[str, str]:
    """The ids of a decision that put a mitigation on an entity, and of the entity."""
    path = f"tenants/{tenant_id}"
    block = owner.post(f"{path}/mitigations", {"name": "Refuse", "mode": "Block"}).json()
    entities = owner.get(f"{path}/entity-definitions").json()
    entity = next(each for each in entities if each["slug"] == "ip-user-agent")
    clause = {
        "name": "all",
        "entity_definition_id": entity["entity_definition_id"],
        "mitigation_id": block["mitigation_id"],
    }
    answer = owner.post(f"{path}/policies", {"name": "Refuse all", "clauses": [clause]})
    assert answer.status_code == 201, answer.text
    return served.engines.decide(UUID(tenant_id))


def without_names(answer: httpx2.Response) -> Any:
    """A body without what differs from request to request."""
    return {**answer.json(), "instance": "", "request_id": ""}


def test_every_route_has_a_row() -> None:
    """A new route is taken through all callers, or this fails."""
    assert {route.name for route in HANDLED} == set(ROWS)
    unknown = {name for route in HANDLED for name in route.parameters}
    assert unknown <= OBJECTS.keys() | {"tenant_id", "user_id", *DECIDED}


@pytest.mark.parametrize("route", OPERATED, ids=named)
def test_nobody_gets_in_without_a_good_token(served: Served, route: Route) -> None:
    """No token, a broken one, an API key, an expired one, a revoked one, a disabled operator's."""
    made = world(served, route)
    owner = made.owner
    tokens = served.application.tokens
    now = int(time.time())
    key = owner.post(f"tenants/{made.ids['tenant_id']}/api-keys", {"name": "a key"}).json()["key"]
    revoked = attrs.evolve(owner, token=tokens.issue(owner.operator_id, now))
    assert revoked.delete("auth/token").status_code == 204
    disabled = served.member(made.ids["tenant_id"], "Owner")
    served.application.store.write(
        lambda c: operators.change(c, disabled.operator_id, time.time_ns(), disabled=True)
    ).result()
    bad = {
        "broken": owner.token[:-2],
        "API key": key,
        "expired": tokens.issue(owner.operator_id, now - 100_000, lifetime=60),
        "revoked": revoked.token,
        "disabled": disabled.token,
        "of nobody": tokens.issue(UUID(MISSING), now),
    }
    bodies = []
    for who, token in bad.items():
        answer = made.request(attrs.evolve(owner, token=token), route)
        assert answer.status_code == 401, who
        bodies.append(without_names(answer))
    assert all(body == bodies[0] for body in bodies)
    path = route.paths[0].format_map(made.ids)
    for headers in ({}, {"x-service-api-key": key}):
        assert served.http.request(route.method, path, headers=headers).status_code == 401
    # All those refusals left everything as it was.
    assert owner.get(f"tenants/{made.ids['tenant_id']}").status_code == 200


@pytest.mark.parametrize("route", OF_TENANTS, ids=named)
def test_another_tenant_is_as_if_it_were_not_there(served: Served, route: Route) -> None:
    """An Owner elsewhere, a stranger and a removed member see the same as for a missing tenant."""
    made = world(served, route)
    elsewhere, _ = served.owner()
    stranger = served.operator()
    removed = served.member(made.ids["tenant_id"], "Owner")
    served.application.store.write(
        lambda c: memberships.delete(c, UUID(made.ids["tenant_id"]), removed.operator_id)
    ).result()
    missing = made.request(elsewhere, route, tenant_id=MISSING)
    assert missing.status_code == 404
    for caller in (elsewhere, stranger, removed):
        answer = made.request(caller, route)
        assert answer.status_code == 404
        assert without_names(answer) == without_names(missing)
        assert answer.headers.keys() == missing.headers.keys()


@pytest.mark.parametrize("route", OF_TENANTS, ids=named)
def test_roles_may_do_what_the_table_says(served: Served, route: Route) -> None:
    """Those without the permission get 403 and change nothing; the others succeed."""
    assert route.permission is not None
    made = world(served, route)
    for role in Role:
        if route.permission not in PERMISSIONS[role]:
            caller = served.member(made.ids["tenant_id"], role.value)
            answer = made.request(caller, route)
            assert answer.status_code == 403, role
            assert answer.json()["code"] == "forbidden"
    for role in Role:
        if route.permission in PERMISSIONS[role]:
            fresh = world(served, route) if route.method == "DELETE" else made
            caller = served.member(fresh.ids["tenant_id"], role.value)
            answer = fresh.request(caller, route)
            assert answer.status_code == ROWS[route.name][1], (role, answer.text)


@pytest.mark.parametrize(
    "route", [each for each in OF_TENANTS if len(each.parameters) > 1], ids=named
)
def test_a_foreign_object_is_as_a_missing_one(served: Served, route: Route) -> None:
    """An id of another tenant under the own tenant's path leads nowhere."""
    made, other = world(served, route), world(served, route)
    name = route.parameters[-1]
    missing = made.request(made.owner, route, **{name: MISSING})
    foreign = made.request(made.owner, route, **{name: other.ids[name]})
    assert missing.status_code == foreign.status_code == 404
    assert without_names(missing) == without_names(foreign)
    for nonsense in ("x", "1", "%00", "' OR 1=1", MISSING + "0", MISSING.replace("-", "")):
        answer = made.request(made.owner, route, **{name: nonsense.replace(" ", "%20")})
        assert answer.status_code in (404, 405)
    assert other.request(other.owner, route).status_code == ROWS[route.name][1]


@pytest.mark.parametrize(
    "route", [each for each in HANDLED if each.credential is Credential.NONE], ids=named
)
def test_open_routes_answer_anybody(served: Served, route: Route) -> None:
    """They look at no credential, good or bad."""
    made = world(served, route)
    nobody = attrs.evolve(made.owner, token="nonsense")
    for caller in (made.owner, nobody):
        assert made.request(caller, route).status_code == ROWS[route.name][1]


@pytest.mark.parametrize("route", OPERATED, ids=named)
def test_operators_of_no_tenant_can_call_what_belongs_to_none(served: Served, route: Route) -> None:
    """The rest is not there for them."""
    made = world(served, route)
    expected = 404 if "tenant_id" in route.parameters else ROWS[route.name][1]
    assert made.request(served.operator(), route).status_code == expected
