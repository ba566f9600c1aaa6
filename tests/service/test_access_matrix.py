"""Every operation of the interface, every caller, and own, foreign and missing objects.

The expected status is worked out from the table of roles and from what the route declares;
nothing here knows a route by its name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, get_args
from uuid import UUID

import attrs
import pytest
from access_rows import BODIES, DECIDED, OBJECTS
from access_world import API_KEY_HEADER, NAMES, Caller, Reply, Tenant, World, bearer, world

from tidegate_server.http.ids import new_id
from tidegate_server.operators.permissions import PERMISSIONS
from tidegate_server.routing.openapi import document
from tidegate_server.routing.route import Credential, Method, Route
from tidegate_server.routing.routes import ROUTES
from tidegate_server.wire import events as wire_events

MISSING = str(new_id())
"""An id of now: its age says that a challenge is over, whether there was one or not."""
SOME = ("nobody", "malformed", "expired token", "Viewer", "Owner")
"""Callers of what looks at no credential; a login takes a while, and is meant to."""
NO_IDS = ("x", "1", "%00", "%27%20OR%201=1", "..%2f..", MISSING + "0", MISSING.replace("-", ""))
METHODS = {*get_args(Method), "OPTIONS", "TRACE", "PROPFIND"}
DECLARED = {(route.method, path): route for route in ROUTES for path in route.paths}
OPERATIONS = {
    (method.upper(), path): operation
    for path, methods in document()["paths"].items()
    for method, operation in methods.items()
}


MADE = ("tenant_id", "user_id", "session_id", "challenge_id", "pass_id")
"""Ids that the world makes in ways of their own."""


def name_of(operation: tuple[str, str]) -> str:
    return " ".join(operation)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[World]:
    """Two tenants on a whole service."""
    with world(tmp_path_factory.mktemp("access")) as made:
        yield made


@attrs.frozen
class Target:
    """The target of a call: the ids in its path, the tenant in its body."""

    name: str
    ids: Mapping[str, str]
    tenant: Tenant | None
    """The owner of everything in it; None where something is missing or of somebody else."""
    named_in_body: str | None = None


def targets(route: Route, made: World) -> Iterator[Target]:
    """Own, foreign and missing tenants and objects; one target where there is nothing to name."""
    own, other = made.own, made.other
    if route.credential is Credential.API_KEY and route.body is not None:
        yield Target("own tenant", own.ids, own, own.ids["tenant_id"])
        yield Target("other tenant", other.ids, other, other.ids["tenant_id"])
        yield Target("missing tenant", own.ids, None, MISSING)
        return
    yield Target("own", own.ids, own)
    if "tenant_id" in route.parameters:
        yield Target("other tenant", other.ids, other)
        yield Target("missing tenant", {**own.ids, "tenant_id": MISSING}, None)
    for name in route.parameters:
        if name in NAMES:
            # Of the same length, since a refusal repeats the path.
            missing = "x" * len(NAMES[name])
            yield Target(f"missing {name}", {**own.ids, name: missing}, None)
        elif name != "tenant_id":
            if route.credential is not Credential.NONE:
                yield Target(f"other {name}", {**own.ids, name: other.ids[name]}, None)
            yield Target(f"missing {name}", {**own.ids, name: MISSING}, None)


def expected(route: Route, caller: Caller, target: Target, made: World) -> int:
    """The status that the declarations ask for."""
    match route.credential:
        case Credential.NONE:
            return 404 if target.tenant is None else route.status
        case Credential.OPTIONAL_API_KEY:
            is_refused = API_KEY_HEADER in caller.headers and caller.key_of is None
            return 401 if is_refused else route.status
        case Credential.METRICS:
            return 401 if "authorization" in caller.headers else route.status
        case Credential.API_KEY:
            if caller.key_of is None:
                return 401
            # A call that names no tenant is about the key's tenant.
            is_own = route.body is None or target.tenant is caller.key_of
            return route.status if is_own else 404
        case Credential.SYNC_KEY:
            if caller.key_of is None:
                return 401
            return route.status if caller.can_sync else 403
    if caller.person is None:
        return 401
    if "tenant_id" not in route.parameters:
        is_other = caller.name == "other Owner" and target.name == "other session_id"
        return route.status if target.tenant or is_other else 404
    if target.ids["tenant_id"] == made.own.ids["tenant_id"] and caller.role is not None:
        if route.permission is None or route.permission in PERMISSIONS[caller.role]:
            return route.status if target.tenant is made.own else 404
        return 403
    return route.status if target.tenant is made.other and caller.name == "other Owner" else 404


def ends_something(route: Route) -> bool:
    """Whether a call that succeeds cannot be made again."""
    return route.method == "DELETE"


def call(made: World, route: Route, path: str, caller: Caller, target: Target) -> Reply:
    """One cell of the matrix; what it ends when it succeeds is made for it."""
    succeeds = expected(route, caller, target, made) == route.status
    headers, ids = caller.headers, target.ids
    body = made.body(route, target.tenant or made.own)
    if succeeds and ends_something(route):
        if route.name == "end-session" and caller.person is not None:
            ids = {**ids, "session_id": made.session_of(caller.person)}
        elif target.tenant is not None and route.parameters:
            ids = made.fresh_ids(route, target.tenant)
        elif caller.person is not None:
            headers = caller.person.bearer()
    if target.named_in_body is not None:
        events = [body] if isinstance(body, dict) else body
        for event in events:
            event["tenant_id"] = target.named_in_body
    return outcome(route, made.call(route, path, headers, ids, body))


def outcome(route: Route, answer: Reply) -> Reply:
    """The answer; for a batch, the answer to its one event.

    A wrong solution reached the challenge, and nobody is asked for a credential there. A wrong code
    reached the second factor. A step of a pack that cannot be taken twice reached the definitions,
    and a refresh that the settings turn off reached the list.
    """
    codes = {"refresh-list": "refresh-off"}
    if answer.status == 409 and (route.name in codes or route.name.endswith("-pack")):
        assert answer.json()["code"] == codes.get(route.name, "conflict")
        return attrs.evolve(answer, status=route.status)
    is_confirming = route.name == "confirm-second-factor"
    if is_confirming and (answer.status == 409 or b"the code is wrong" in answer.content):
        return attrs.evolve(answer, status=route.status)
    if route.name == "solve-challenge" and answer.status != 404:
        assert answer.json()["code"] in ("challenge-failed", "rate-limited")
        return attrs.evolve(answer, status=route.status)
    if answer.status == 200 and route.answer == list[wire_events.BatchItem]:
        [item] = answer.json()
        if "problem" in item:
            return attrs.evolve(answer, status=item["status"])
    return answer


def refusal(route: Route, answer: Reply) -> Any:
    """The text of a refusal, without the parts that differ from request to request."""
    body = answer.json()
    problem = body[0]["problem"] if isinstance(body, list) else body
    names = sorted(answer.headers)
    return {**problem, "instance": "", "request_id": ""}, len(answer.content), names


def test_every_operation_has_a_row(service: World) -> None:
    """The served document lists the table's routes, and each of them is in the matrix."""
    served = service.connection.send("GET", "/openapi.json", {}).json()
    assert served["paths"] == document()["paths"]
    assert set(OPERATIONS) == set(DECLARED)
    assert {route.name for route in ROUTES} == set(BODIES)
    named = {name for route in ROUTES for name in route.parameters}
    assert named <= OBJECTS.keys() | DECIDED.keys() | NAMES.keys() | {*MADE}


@pytest.mark.parametrize("key", OPERATIONS, ids=name_of)
def test_an_operation_answers_every_caller_as_the_tables_say(
    service: World, key: tuple[str, str]
) -> None:
    """Each cell has its status, is documented, and refusals tell nothing of what is there."""
    route, operation, path = DECLARED[key], OPERATIONS[key], key[1]
    cells = [
        (caller, target)
        for caller in service.callers
        if route.credential is not Credential.NONE or caller.name in SOME
        for target in targets(route, service)
    ]
    # Refusals first: they must leave everything as it is.
    cells.sort(key=lambda cell: expected(route, *cell, service) == route.status)
    before = [service.last_change(tenant) for tenant in (service.own, service.other)]
    refusals: dict[int, list[tuple[str, Any]]] = {}
    wrong = []
    for caller, target in cells:
        status = expected(route, caller, target, service)
        if status == route.status and before:
            assert before == [service.last_change(each) for each in (service.own, service.other)]
            before = []
        answer = call(service, route, path, caller, target)
        cell = f"{caller.name}, {target.name}"
        if answer.status != status:
            wrong.append(f"{cell}: {answer.status} for {status}: {answer.content[:200]!r}")
        elif status >= 400:
            refusals.setdefault(status, []).append((cell, refusal(route, answer)))
        if str(answer.sent) not in operation["responses"]:
            wrong.append(f"{cell}: {answer.sent} is not documented")
        if (
            status < 400
            and caller.role is not None
            and service.other.ids["tenant_id"].encode() in answer.content
        ):
            wrong.append(f"{cell}: the other tenant shows")
    assert not wrong, "\n".join(wrong)
    for status in {401, 404} & refusals.keys():
        assert all(said == refusals[status][0][1] for _, said in refusals[status]), refusals[status]


@pytest.mark.parametrize(
    "key", [key for key, route in DECLARED.items() if route.parameters], ids=name_of
)
def test_what_is_no_id_leads_nowhere(service: World, key: tuple[str, str]) -> None:
    """Text that isn't an id is as an id of nothing: the same problem, and no other route."""
    route, path = DECLARED[key], key[1]
    headers = service.own.owner.bearer()
    body = service.body(route, service.own)
    for name in route.parameters:
        for text in NO_IDS:
            ids = {**service.own.ids, name: text}
            answer = service.call(route, path, headers, ids, body)
            assert (answer.status, answer.json()["code"]) == (404, "not-found"), (name, text)


@pytest.mark.parametrize(
    "path", sorted({path for (_, path), route in DECLARED.items() if not route.any_method})
)
def test_other_methods_are_refused(service: World, path: str) -> None:
    """No method is there that the document does not have."""
    known = {method for method, at in OPERATIONS if at == path}
    for method in METHODS - known:
        answer = service.connection.send(
            method, path.format_map(service.own.ids), service.own.owner.bearer()
        )
        assert answer.status == 405, method
        assert answer.json()["code"] == "method-not-allowed"
        assert set(answer.headers["allow"].split(", ")) - {"HEAD"} == known


def test_a_foreign_object_in_a_body_is_as_a_missing_one(service: World) -> None:
    """A policy that names another tenant's objects is refused as one that names nothing."""

    def refused(member: str, value: str) -> Any:
        clause = {"name": "one", member: [value] if member.endswith("s") else value}
        body = {"name": "names others", "clauses": [clause]}
        path = f"/api/v1/tenants/{service.own.ids['tenant_id']}/policies"
        answer = service.connection.send("POST", path, service.own.owner.bearer(), body)
        assert 400 <= answer.status < 500
        text = answer.content.decode().replace(value, "")
        return answer.status, {**json.loads(text), "request_id": ""}

    for member, name in (
        ("mitigation_id", "mitigation_id"),
        ("entity_definition_id", "entity_definition_id"),
        ("action_ids", "action_id"),
    ):
        assert refused(member, service.other.ids[name]) == refused(member, MISSING)


def test_a_cursor_of_another_tenant_is_refused(service: World) -> None:
    """A cursor counts for the list that gave it out, and for no other."""
    for tenant in (service.own, service.other):
        for _ in range(2):
            service.made(tenant, "action_id")
    path = "/api/v1/tenants/{tenant_id}/actions"
    there = path.format_map(service.other.ids)
    page = service.connection.send("GET", f"{there}?limit=1", service.other.owner.bearer())
    after = page.headers["link"].partition("?")[2].partition(">")[0]
    again = service.connection.send("GET", f"{there}?{after}", service.other.owner.bearer())
    assert again.status == 200
    here = path.format_map(service.own.ids)
    answer = service.connection.send("GET", f"{here}?{after}", service.own.owner.bearer())
    assert (answer.status, answer.json()["code"]) == (422, "invalid-request")


def test_a_role_that_is_taken_away_is_gone_at_once(service: World) -> None:
    """Membership is looked up for every request; the token stays what it was."""
    spare = service.people["spare"]
    token = bearer(spare.token())
    where = f"/api/v1/tenants/{service.own.ids['tenant_id']}"
    member = {"user_id": str(spare.operator_id), "role": "Admin"}
    for role, status in (("Admin", 200), ("Viewer", 403)):
        service.owner_call(service.own, "POST", "/memberships", {**member, "role": role})
        assert service.connection.send("GET", f"{where}/api-keys", token).status == status
    service.owner_call(service.own, "DELETE", f"/memberships/{spare.operator_id}")
    assert service.connection.send("GET", where, token).status == 404
    assert UUID(service.made(service.own, "user_id")) == spare.operator_id
