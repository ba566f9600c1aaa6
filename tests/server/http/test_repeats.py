"""Requests of the control plane that are repeated under an idempotency key."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2
import pytest
from tests.server.deciding import Deciding, Service, deciding, made
from tests.server.serving import Caller

from tidegate_server.routing.routes import ROUTES

SAME = ("content-type", "etag", "location")
DRAFT = {
    "since": "2026-01-01T00:00:00Z",
    "until": "2026-01-02T00:00:00Z",
    "definitions": {"apiVersion": "tidegate/v1"},
}
BODIES: dict[str, dict[str, Any]] = {
    "actions": {"expression": "true"},
    "entity-definitions": {"key_fields": ["request.client_ip"]},
    "mitigations": {"mode": "Block"},
    "policies": {"status": "draft", "clauses": [{"name": "one"}]},
    "lists": {"kind": "ip", "entries": ["192.0.2.0/24"]},
    "api-keys": {},
}
"""Bodies by resource; each also needs a name."""


def post(caller: Caller, path: str, body: Any, key: str, **headers: str) -> httpx2.Response:
    """A request under a key."""
    return caller.post(path, body, headers={"idempotency-key": key, **headers})


def parts(answer: httpx2.Response) -> tuple[Any, ...]:
    """The parts of an answer that a repetition has too."""
    headers = tuple(answer.headers.get(name) for name in SAME)
    return (answer.status_code, answer.content, *headers)


def named(resource: str) -> dict[str, Any]:
    """The body of a new object, whose name nothing else has."""
    return {"name": f"N {uuid4()}", **BODIES[resource]}


class TestTheSameRequest:
    """A repeated request gets the same answer, and has one effect."""

    @pytest.mark.parametrize("resource", BODIES)
    def test_an_object_is_made_once(self, shop: Deciding, resource: str) -> None:
        """The second answer has status, body, ETag and Location of the first, and makes nothing."""
        owner, path, body = shop.by("Owner"), f"{shop.path}/{resource}", named(resource)
        first = post(owner, path, body, "k-1")
        before = shop.get(resource)
        second = post(owner, path, body, "k-1")
        assert first.status_code == 201, first.text
        assert parts(second) == parts(first)
        assert "idempotency-replayed" not in first.headers
        assert second.headers["idempotency-replayed"] == "true"
        assert second.headers["x-request-id"] != first.headers["x-request-id"]
        assert len(shop.get(resource)) == len(before)

    def test_a_body_is_compared_by_what_it_says(self, shop: Deciding) -> None:
        """A retry that is written with other spaces, escapes and order gets the first answer."""
        owner, path, body = shop.by("Owner"), f"{shop.path}/actions", named("actions")
        first = post(owner, path, body, "written")
        turned = dict(reversed(body.items()))
        text = json.dumps(turned, indent=1).replace("true", "tru\\u0065")
        headers = {"idempotency-key": "written", "content-type": "application/json"}
        again = owner.request("POST", path, content=text, headers=headers)
        assert parts(again) == parts(first)
        assert again.headers["idempotency-replayed"] == "true"

    def test_a_tenant_is_made_once(self, service: Service) -> None:
        """A tenant has no path of its own yet, so its answer belongs to the operator alone."""
        body, stranger = {"name": f"T {uuid4()}"}, service.operators["Stranger"]
        first = post(stranger, "tenants", body, "tenant")
        assert first.status_code == 201, first.text
        assert parts(post(stranger, "tenants", body, "tenant")) == parts(first)

    def test_a_job_is_started_once(self, shop: Deciding) -> None:
        """A replay job that is over answers as it was when it began."""
        path = f"{shop.path}/replay-jobs"
        first = post(shop.by("Owner"), path, DRAFT, "job")
        assert parts(post(shop.by("Owner"), path, DRAFT, "job")) == parts(first)
        assert len(shop.get("replay-jobs")) == 1

    def test_a_key_is_rotated_once(self, shop: Deciding) -> None:
        """A repeated rotation shows the same text, although the revision has gone on."""
        path = f"{shop.path}/api-keys/{shop.api_key_id}/rotate"
        first = post(shop.by("Owner"), path, {}, "turn", **{"if-match": '"1"'})
        assert first.status_code == 200, first.text
        again = post(shop.by("Owner"), path, {}, "turn", **{"if-match": '"1"'})
        assert parts(again) == parts(first)
        assert made(again)["key"] != shop.key

    def test_many_at_once_get_one_answer(self, shop: Deciding) -> None:
        """Requests that overlap make one object and are all answered with it."""
        owner = shop.by("Owner")
        for resource in ("policies", "api-keys"):
            path, body = f"{shop.path}/{resource}", named(resource)
            with ThreadPoolExecutor(5) as threads:
                calls = [threads.submit(post, owner, path, body, "many") for _ in range(5)]
                answers = [each.result() for each in calls]
            assert {parts(each) for each in answers} == {parts(answers[0])}
            assert answers[0].status_code == 201, answers[0].text
            assert sum("idempotency-replayed" in each.headers for each in answers) == 4

    def test_a_refusal_is_not_kept(self, shop: Deciding) -> None:
        """A request that was refused is tried again under its key."""
        path, body = f"{shop.path}/policies", named("policies")
        wrong = {**body, "clauses": [{"name": "one", "actions": ["absent"]}]}
        assert post(shop.by("Owner"), path, wrong, "wrong").status_code == 422
        assert post(shop.by("Owner"), path, body, "wrong").status_code == 201


class TestAnotherRequest:
    """Another request isn't a repetition."""

    @pytest.mark.parametrize("resource", ["actions", "api-keys"])
    def test_another_body_is_refused(self, shop: Deciding, resource: str) -> None:
        """A key that belongs to another body is refused with its own code."""
        path = f"{shop.path}/{resource}"
        assert post(shop.by("Owner"), path, named(resource), "k").status_code == 201
        refused = post(shop.by("Owner"), path, named(resource), "k")
        assert (refused.status_code, refused.json()["code"]) == (422, "idempotency-key-reused")

    def test_operators_and_paths_have_keys_of_their_own(self, shop: Deciding) -> None:
        """The same key of another operator, or at another path, is another key."""
        answers = [
            post(shop.by(role), f"{shop.path}/{resource}", named(resource), "shared")
            for role in ("Owner", "Admin")
            for resource in ("actions", "api-keys")
        ]
        assert [each.status_code for each in answers] == [201] * 4

    def test_who_has_lost_the_role_gets_no_answer(self, shop: Deciding) -> None:
        """The role is looked at before the answer that was kept."""
        path, body, admin = f"{shop.path}/api-keys", named("api-keys"), shop.by("Admin")
        assert post(admin, path, body, "k").status_code == 201
        member = {"user_id": str(admin.operator_id), "role": "Viewer"}
        made(shop.by("Owner").post(f"{shop.path}/memberships", member))
        assert post(admin, path, body, "k").status_code == 403

    @pytest.mark.parametrize("key", ["", "x" * 256, "two words", "\xe9"])
    def test_what_is_no_key_is_refused(self, shop: Deciding, key: str) -> None:
        """A key has 1 to 255 visible ASCII characters."""
        headers = {"idempotency-key": key.encode("latin-1")}
        refused = shop.by("Owner").post(f"{shop.path}/api-keys", named("api-keys"), headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (400, "malformed-request")
        assert refused.json()["errors"][0]["header"] == "idempotency-key"


class TestTheDirectory:
    """Kept answers survive, and show nothing."""

    @pytest.mark.parametrize("resource", ["api-keys", "policies"])
    def test_a_killed_service_answers_once(
        self, tmp_path: Path, resource: str, process: None
    ) -> None:
        """After a kill behind the answer the answer is the same; after one before it, the object
        is there once."""
        with deciding(tmp_path) as service:
            shop = service.tenant()
            path, body, later = f"{shop.path}/{resource}", named(resource), named(resource)
            first = post(shop.by("Owner"), path, body, "first")
            assert first.status_code == 201, first.text
            send_only(service, path, later, "later")
            service.process.kill()
            service.process.wait()
        with deciding(tmp_path) as service:
            owner = service.operators["Owner"]
            assert parts(post(owner, path, body, "first")) == parts(first)
            once = post(owner, path, later, "later")
            assert once.status_code == 201, once.text
            assert parts(post(owner, path, later, "later")) == parts(once)

    def test_the_text_of_a_key_is_nowhere(self, tmp_path: Path, process: None) -> None:
        """No file of the data directory has the API key, or the idempotency key, in it."""
        name = f"idempotency-{uuid4()}"
        with deciding(tmp_path) as service:
            shop = service.tenant()
            path, body = f"{shop.path}/api-keys", named("api-keys")
            text = made(post(shop.by("Owner"), path, body, name))["key"]
            while_running = contents(tmp_path)
            assert made(post(shop.by("Owner"), path, body, name))["key"] == text
        secret = text.split("_", 2)[2].encode()
        for content in (while_running, contents(tmp_path)):
            assert body["name"].encode() in content
            assert secret not in content
            assert name.encode() not in content


def send_only(service: Service, path: str, body: Any, key: str) -> None:
    """Send a request and wait for nothing."""
    request = service.http.build_request(
        "POST",
        f"/api/v1/{path}",
        json=body,
        headers={
            "authorization": f"Bearer {service.operators['Owner'].token}",
            "idempotency-key": key,
        },
    )
    where = urlsplit(service.base_url)
    lines = [f"POST /api/v1/{path} HTTP/1.1", *(f"{n}: {v}" for n, v in request.headers.items())]
    with socket.create_connection((where.hostname, where.port)) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + request.content)


def contents(directory: Path) -> bytes:
    """Everything in the files of a directory."""
    return b"".join(each.read_bytes() for each in directory.rglob("*") if each.is_file())


def test_what_makes_something_takes_a_key() -> None:
    """Every request of an operator that is answered with 201 can be repeated."""
    makers = {each.name for each in ROUTES if each.status == 201 and each.handler is not None}
    assert {each.name for each in ROUTES if each.repeatable} == makers | {"rotate-api-key"}
