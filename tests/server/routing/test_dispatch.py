"""The behaviour that all routes of the control plane share."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from tests.server.serving import Caller, Served

from tidegate_server.http.application import HttpApplication
from tidegate_server.routing.dispatch import control_plane, nothing
from tidegate_server.routing.route import Credential, Route
from tidegate_server.routing.routes import ROUTES, TAGS

ACTION = {"name": "Login", "expression": 'request.path == "/login"'}


def test_names_of_routes_are_unique() -> None:
    """A name stands for one operation, a method and path for one route."""
    assert len({each.name for each in ROUTES}) == len(ROUTES)
    places = [(each.method, path) for each in ROUTES for path in each.paths]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_every_route_says_who_may_call_it(route: Route) -> None:
    """A route of a tenant needs a permission; nothing is open by omission."""
    assert route.tag in TAGS
    if "tenant_id" in route.parameters and route.credential is Credential.OPERATOR:
        assert route.permission is not None
    if route.credential is not Credential.NONE:
        assert all(name.endswith("_id") or name == "pack" for name in route.parameters)


@pytest.mark.parametrize("noun", ["actions", "entity-definitions", "mitigations"])
def test_paths_of_the_specification_have_no_prefix(owner: Caller, tenant: str, noun: str) -> None:
    """A path that the specification shows without the prefix works in both forms."""
    bare, prefixed = owner.get(f"/{tenant}/{noun}"), owner.get(f"{tenant}/{noun}")
    assert bare.status_code == prefixed.status_code == 200
    assert bare.json() == prefixed.json()


def test_other_paths_need_the_prefix(owner: Caller, tenant: str) -> None:
    """Any other path works only with the prefix."""
    assert owner.get(f"/{tenant}/policies").status_code == 404


@pytest.mark.parametrize("path", ["/", "/api/v1", "/api/v1/me/", "/api/v1/nothing", "//api/v1/me"])
def test_unknown_paths_are_problems(served: Served, path: str) -> None:
    """Nothing is redirected, and the body is a problem document."""
    answer = served.http.get(served.base_url + path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "not-found"


@pytest.mark.parametrize("method", ["PUT", "POST", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_unknown_methods_get_the_known_ones(served: Served, method: str) -> None:
    """405 with ``Allow``, before any credential."""
    answer = served.http.request(method, "/api/v1/me")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"
    assert answer.json()["code"] == "method-not-allowed"


def test_a_method_cannot_be_overridden(owner: Caller, tenant: str) -> None:
    """The method of the request line counts, whatever a header says."""
    owner.post(f"{tenant}/actions", ACTION)
    answer = owner.get(f"{tenant}/actions", headers={"x-http-method-override": "DELETE"})
    assert answer.status_code == 200
    assert len(answer.json()) == 1


def test_head_is_get_without_a_body(owner: Caller) -> None:
    """HEAD gives the status and headers of GET."""
    answer = owner.request("HEAD", "me")
    assert answer.status_code == 200
    assert answer.content == b""


# --- credentials -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        None, "", "Bearer", "Basic {}", "{}", "Bearer{}", "Bearer  {}", "Bearer {}x",
        "Token {}", "Bearer {}, Bearer {}", "Bearer null",
    ],
)  # fmt: skip
def test_only_the_documented_form_of_a_credential_counts(
    served: Served, owner: Caller, header: str | None
) -> None:
    """Everything else is as no credential at all."""
    headers = {} if header is None else {"authorization": header.replace("{}", owner.token)}
    answer = served.http.get("/api/v1/me", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_the_scheme_is_read_in_any_case(served: Served, owner: Caller) -> None:
    """RFC 9110 compares schemes without regard to case."""
    headers = {"authorization": f"bEARER {owner.token}"}
    assert served.http.get("/api/v1/me", headers=headers).status_code == 200


@pytest.mark.parametrize("place", ["cookie", "query", "body", "api key"])
def test_a_token_elsewhere_does_not_count(served: Served, owner: Caller, place: str) -> None:
    """A token in a cookie, a parameter, a body or as an API key does not count."""
    arguments = {
        "cookie": {"headers": {"cookie": f"service.auth_token={owner.token}"}},
        "query": {"params": {"access_token": owner.token}},
        "body": {
            "content": f"access_token={owner.token}",
            "headers": {"content-type": "application/x-www-form-urlencoded"},
        },
        "api key": {"headers": {"x-service-api-key": owner.token}},
    }[place]
    answer = served.http.request("GET", "/api/v1/me", **arguments)  # type: ignore[arg-type]
    assert answer.status_code == 401


def test_two_credentials_are_refused(served: Served, owner: Caller) -> None:
    """Two credentials are refused, since they could be read in two ways."""
    headers = [("authorization", f"Bearer {owner.token}")] * 2
    answer = served.http.get("/api/v1/me", headers=headers)
    assert answer.status_code == 400


def test_the_credential_comes_before_the_body(served: Served, tenant: str) -> None:
    """The body of a caller without a credential is not read."""
    answer = served.http.post(f"/api/v1/{tenant}/actions", content=b"no json")
    assert answer.status_code == 401


# --- bodies ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 201),
        ("application/json; charset=utf-8", 201),
        ("Application/JSON", 201),
        ("application/json; charset=latin-1", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/merge-patch+json", 415),
        ("", 415),
        (None, 415),
    ],
)
def test_a_body_must_be_json(
    owner: Caller, tenant: str, content_type: str | None, status: int
) -> None:
    """A body must be JSON in UTF-8 by its content type."""
    headers = {} if content_type is None else {"content-type": content_type}
    body = json.dumps(ACTION).encode()
    answer = owner.post(f"{tenant}/actions", content=body, headers=headers)
    assert answer.status_code == status


def test_a_compressed_body_is_refused(owner: Caller, tenant: str) -> None:
    """A compressed body is refused and not unpacked."""
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    answer = owner.post(f"{tenant}/actions", content=b"x", headers=headers)
    assert answer.status_code == 415


def test_a_body_past_the_limit_is_refused(owner: Caller, tenant: str) -> None:
    """A body past the limit is refused, whether or not its length is announced."""
    headers = {"content-type": "application/json"}
    large = b" " * (64 * 1024 + 1)
    for content in (large, iter([large])):
        answer = owner.post(f"{tenant}/actions", content=content, headers=headers)
        assert answer.status_code == 413
        assert answer.json()["code"] == "body-too-large"


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[NaN]", b'{"name":"a","name":"b"}', b"\xff", b"[" * 60_000]
)
def test_what_is_no_json_is_malformed(owner: Caller, tenant: str, content: bytes) -> None:
    """Malformed JSON is a 400 with its place."""
    headers = {"content-type": "application/json"}
    answer = owner.post(f"{tenant}/actions", content=content, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid-json"


def test_all_findings_are_in_one_answer(owner: Caller, tenant: str) -> None:
    """Unknown, missing and wrong members with their pointers."""
    answer = owner.post(f"{tenant}/actions", {"nmae": "x", "enabled": "yes"})
    assert answer.status_code == 422
    pointers = {each["pointer"] for each in answer.json()["errors"]}
    assert pointers == {"/nmae", "/enabled", ""}


@pytest.mark.parametrize("member", ["tenant_id", "action_id", "revision", "created_at"])
def test_what_the_server_sets_cannot_be_sent(owner: Caller, tenant: str, member: str) -> None:
    """A member that the server sets is refused in a body."""
    answer = owner.post(f"{tenant}/actions", {**ACTION, member: 1})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == f"/{member}"


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=501", "limit=x", "limit=1&limit=2", "unknown=1", "cursor=x", "%ff=1"],
)
def test_wrong_parameters_are_named(owner: Caller, query: str) -> None:
    """A wrong parameter is a 422 that names it."""
    answer = owner.get(f"tenants?{query}")
    assert answer.status_code == 422
    assert answer.json()["code"] == "invalid-request"


def test_a_route_without_parameters_takes_none(owner: Caller) -> None:
    """A misspelt parameter is not passed over."""
    assert owner.get("me?verbose=1").status_code == 422


# --- answers -----------------------------------------------------------------------------------


def test_answers_carry_the_headers_of_data(served: Served, owner: Caller) -> None:
    """Successes and refusals alike; transport security only where there is TLS."""
    for answer in (owner.get("me"), served.http.get("/api/v1/me"), served.http.get("/no")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "strict-transport-security" not in answer.headers
        assert "server" not in answer.headers


def test_a_request_id_is_echoed(owner: Caller) -> None:
    """A valid request id is echoed; any other is replaced."""
    answer = owner.get("me", headers={"x-request-id": "trace-1.2_3"})
    assert answer.headers["x-request-id"] == "trace-1.2_3"
    for bad in ("a b", "x" * 200, "<script>", '"'):
        made = owner.get("me", headers={"x-request-id": bad}).headers["x-request-id"]
        assert made != bad
        assert len(made) == 36


def test_a_refusal_carries_the_request_id(served: Served) -> None:
    """A refusal has the request id in its body and its header."""
    answer = served.http.get("/api/v1/me", headers={"x-request-id": "abc"})
    assert answer.json()["request_id"] == answer.headers["x-request-id"] == "abc"


def test_a_known_revision_is_not_sent_again(owner: Caller, tenant: str) -> None:
    """``If-None-Match`` with the present tag is answered with 304 and no body."""
    first = owner.get(tenant)
    again = owner.get(tenant, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert owner.get(tenant, headers={"if-none-match": '"0"'}).status_code == 200


def test_a_change_of_a_stale_object_is_refused(owner: Caller, tenant: str) -> None:
    """``If-Match`` with an old tag is 412, and nothing changes."""
    path = f"{tenant}/actions/{owner.post(f'{tenant}/actions', ACTION).json()['action_id']}"
    changed = owner.patch(path, {"description": "a"}, headers={"if-match": '"1"'})
    assert changed.headers["etag"] == '"2"'
    for request in (
        owner.patch(path, {"description": "b"}, headers={"if-match": '"1"'}),
        owner.delete(path, headers={"if-match": '"1"'}),
    ):
        assert request.status_code == 412
        assert request.headers["etag"] == '"2"'
    assert owner.get(path).json()["description"] == "a"
    assert owner.patch(path, {"description": "c"}, headers={"if-match": "*"}).status_code == 200
    assert owner.patch(path, {"description": "d"}, headers={"if-match": "3"}).status_code == 400


def test_pages_follow_each_other(owner: Caller, tenant: str) -> None:
    """``Link`` leads to the next page until there isn't one; each item comes once."""
    for number in range(5):
        owner.post(f"{tenant}/actions", {**ACTION, "name": f"Action {number}"})
    names: list[str] = []
    path = f"/api/v1/{tenant}/actions?limit=2"
    pages = 0
    while path:
        answer = owner.get(path)
        names += [each["name"] for each in answer.json()]
        path = answer.links["next"]["url"] if "next" in answer.links else ""
        pages += 1
    assert names == [f"Action {number}" for number in range(5)]
    assert pages == 3


def test_a_cursor_of_another_tenant_is_refused(served: Served, owner: Caller, tenant: str) -> None:
    """A cursor is refused for another list."""
    for number in range(2):
        owner.post(f"{tenant}/actions", {**ACTION, "name": f"Action {number}"})
    cursor = owner.get(f"{tenant}/actions?limit=1").links["next"]["url"].partition("cursor=")[2]
    other, tenant_id = served.owner()
    answer = other.get(f"tenants/{tenant_id}/actions?limit=1&cursor={cursor}")
    assert answer.status_code == 422
    assert owner.get(f"{tenant}/policies?limit=1&cursor={cursor}").status_code == 422


def test_an_unknown_failure_is_logged_and_not_sent(
    owner: Caller,
    served: Served,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The caller gets an id, the log the failure."""

    def broken(*_: object) -> None:
        raise RuntimeError("SELECT secret FROM /var/lib")

    monkeypatch.setattr("tidegate_server.stores.objects.memberships.of_operator", broken)
    with caplog.at_level(logging.ERROR):
        answer = owner.get("me", headers={"x-request-id": "failing"})
    assert answer.status_code == 500
    assert answer.json()["code"] == "internal-error"
    assert "secret" not in answer.text
    assert "failing" in caplog.text
    assert "SELECT secret" in caplog.text


def test_transport_security_is_for_tls_alone(served: Served) -> None:
    """Over TLS every answer asks for TLS from then on."""
    messages: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        messages.append(message)

    scope = {
        "type": "http", "method": "GET", "path": "/api/v1/me", "raw_path": b"/api/v1/me",
        "root_path": "", "scheme": "https", "query_string": b"", "headers": [], "server": None,
    }  # fmt: skip
    made = HttpApplication(control_plane(served.application), nothing(served.application))
    asyncio.run(made(scope, receive, send))
    headers = dict(messages[0]["headers"])
    assert messages[0]["status"] == 401
    assert headers[b"strict-transport-security"].startswith(b"max-age=")
