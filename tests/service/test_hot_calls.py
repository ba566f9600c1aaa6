"""The two hot calls over a real socket: what they answer, and every way they refuse."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import pytest
from service_process import Service

EVENT: dict[str, Any] = {
    "request": {"method": "GET", "path": "/", "client_ip": "203.0.113.5", "user_agent": "x"}
}
BOTH = pytest.mark.parametrize("path", ["/runtime/mitigation", "/beacon/event"])


def probe(client_ip: str) -> dict[str, Any]:
    """An event that the demonstration's definitions block."""
    return {"request": {"method": "GET", "path": "/.env", "client_ip": client_ip}}


def test_runtime_answers_one_action(service: Service) -> None:
    """The answer carries an action, why, and the id of the decision."""
    answer = service.hot("/runtime/mitigation", EVENT)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert body["action"] == {"type": "allow"}
    assert body["reason"] == "no-match"
    assert UUID(body["decision_id"]).version == 7


def test_beacon_answers_item_entity_and_mitigation(service: Service) -> None:
    """The answer has the three members of the interface specification."""
    body = service.hot("/beacon/event", EVENT).json()
    assert set(body) == {"item_id", "lookup_entity_id", "active_mitigation"}
    assert UUID(body["item_id"])
    assert UUID(body["lookup_entity_id"])
    assert body["active_mitigation"] is None


def test_state_set_by_one_request_is_met_by_the_next(service: Service) -> None:
    """An actor that was blocked is blocked on its next request, whatever that is."""
    address = "203.0.113.77"
    for _ in range(20):
        blocked = service.hot("/runtime/mitigation", probe(address)).json()
        if blocked["action"]["type"] == "block":
            break
    assert blocked["action"]["type"] == "block"
    harmless = {"request": {**EVENT["request"], "client_ip": address}}
    body = service.hot("/runtime/mitigation", harmless).json()
    assert (body["action"]["type"], body["reason"]) == ("block", "active-mitigation")
    assert service.hot("/beacon/event", harmless).json()["active_mitigation"] == {
        "decision": "Block"
    }


def test_a_beacon_names_a_mitigation_that_monitors(service: Service) -> None:
    """The beacon answers ``Monitor`` for an actor under a mitigation of this mode, also later; the
    runtime call allows it. A clause without a mitigation gives none."""
    tenant = f"/tenants/{service.tenant_id}"

    def make(kind: str, body: dict[str, Any]) -> str:
        made = service.control("POST", f"{tenant}/{kind}", body)
        assert made.status_code == 201, made.text
        return str(made.headers["location"]).rsplit("/", 1)[1]

    entities = service.control("GET", f"{tenant}/entity-definitions").json()
    watch = make("mitigations", {"name": "Watch", "mode": "Monitor", "ttl_seconds": 600})
    marked = 'request.path.startsWith("/%s")'
    clause = {"entity_definition_id": entities[0]["entity_definition_id"]}
    policies = [
        make(
            "policies",
            {"name": "Watched", "clauses": [
                {**clause, "expression": marked % "watched", "mitigation_id": watch}
            ]},
        ),
        make("policies", {"name": "Seen", "clauses": [{"expression": marked % "seen"}]}),
    ]  # fmt: skip
    try:
        answers = [
            service.hot(
                "/beacon/event", {"request": {**EVENT["request"], "path": path, "client_ip": ip}}
            ).json()["active_mitigation"]
            for ip, path in (
                ("203.0.113.78", "/seen"),
                ("203.0.113.79", "/watched"),
                ("203.0.113.79", "/"),
            )
        ]
        assert answers == [None, {"decision": "Monitor"}, {"decision": "Monitor"}]
        again = {"request": {**EVENT["request"], "client_ip": "203.0.113.79"}}
        runtime = service.hot("/runtime/mitigation", again).json()
        assert (runtime["action"], runtime["reason"]) == ({"type": "allow"}, "no-match")
    finally:
        for policy in policies:
            service.control("DELETE", f"{tenant}/policies/{policy}")
        service.control("DELETE", f"{tenant}/mitigations/{watch}")


@BOTH
def test_a_repeated_key_gets_the_first_answer(service: Service, path: str) -> None:
    """A repeated key and body get the same bytes again, with a header that says so."""
    event = {**EVENT, "idempotency_key": str(uuid4())}
    first, second = service.hot(path, event), service.hot(path, event)
    assert first.content == second.content
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"


@BOTH
def test_a_key_with_another_body_is_refused(service: Service, path: str) -> None:
    """A key with another body is refused."""
    key = str(uuid4())
    service.hot(path, {**EVENT, "idempotency_key": key})
    answer = service.hot(path, {**EVENT, "source": "other", "idempotency_key": key})
    assert_problem(answer, 422, "idempotency-key-reused")


def test_a_key_is_counted_once_however_many_send_it_at_once(service: Service) -> None:
    """Of many calls with one key one is decided, and all get its answer."""
    event = {**EVENT, "idempotency_key": str(uuid4())}
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: service.hot("/runtime/mitigation", event), range(32)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1


def test_a_key_of_one_endpoint_is_free_at_the_other(service: Service) -> None:
    """Keys are unique for a tenant and an endpoint."""
    event = {**EVENT, "idempotency_key": str(uuid4())}
    service.hot("/runtime/mitigation", event)
    assert "idempotency-replayed" not in service.hot("/beacon/event", event).headers


@BOTH
@pytest.mark.parametrize(
    "key", ["", "nonsense", "tg_aaaaaaaaaaaaaaaa_" + "a" * 52, "x" * 5000, None]
)
def test_no_valid_key_is_401(service: Service, path: str, key: str | None) -> None:
    """Every wrong credential gets the same 401."""
    headers = {} if key is None else {"x-service-api-key": key}
    answer = service.post(path, json.dumps(EVENT).encode(), headers)
    assert_problem(answer, 401, "unauthenticated")
    assert answer.headers["www-authenticate"].startswith("ApiKey ")


@BOTH
def test_the_credential_comes_before_the_body(service: Service, path: str) -> None:
    """A call without a key gets no word about its body."""
    assert_problem(service.post(path, b"{", {}), 401, "unauthenticated")


@BOTH
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "invalid-json"),
        (b"{", 400, "invalid-json"),
        (b"\xff", 400, "invalid-json"),
        (b'{"request":{},"request":{}}', 400, "invalid-json"),
        (b'{"fields":{"a":NaN}}', 400, "invalid-json"),
        (b"[]", 422, "invalid-event"),
        (b'{"request":{"path":4}}', 422, "invalid-event"),
        (b'{"fields":{"a":"b"},"idempotency_key":""}', 422, "invalid-event"),
        (b'{"fields":{"a":"b"},"idempotency_key":"' + b"k" * 300 + b'"}', 422, "invalid-event"),
        (b'{"fields":{"a":"b"},"observed_at":"yesterday"}', 422, "invalid-event"),
        (b'{"fields":{"a":"b"},"return_url":"javascript:alert(1)"}', 422, "invalid-event"),
        (b'{"fields":{"a":"' + b"x" * 70_000 + b'"}}', 413, "body-too-large"),
    ],
)
def test_a_bad_body_is_refused(
    service: Service, path: str, body: bytes, status: int, code: str
) -> None:
    """Text that isn't JSON is 400, JSON that isn't an event 422, and too much of either 413."""
    assert_problem(service.hot(path, body), status, code)


def test_a_refused_member_is_pointed_to(service: Service) -> None:
    """A refusal names the member and what is wrong with it."""
    body = service.hot("/runtime/mitigation", {"request": {"client_ip": ["1"]}}).json()
    assert body["errors"][0]["pointer"] == "/request/client_ip"


def test_a_runtime_request_may_not_be_empty(service: Service) -> None:
    """Nothing can be decided about nothing; a beacon may still be counted."""
    assert_problem(service.hot("/runtime/mitigation", {"source": "edge"}), 422, "empty-payload")
    assert service.hot("/beacon/event", {"source": "edge"}).status_code == 200


@BOTH
def test_another_tenants_id_is_not_found(service: Service, path: str) -> None:
    """The tenant comes from the key; a body that names another is not answered."""
    assert_problem(service.hot(path, {**EVENT, "tenant_id": str(uuid4())}), 404, "not-found")
    assert service.hot(path, {**EVENT, "tenant_id": service.tenant_id}).status_code == 200


@BOTH
@pytest.mark.parametrize(
    ("name", "value"),
    [("content-type", "text/plain"), ("content-type", ""), ("content-encoding", "gzip")],
)
def test_only_plain_json_is_read(service: Service, path: str, name: str, value: str) -> None:
    """Another type or encoding is refused before the body is looked at."""
    answer = service.hot(path, EVENT, **{name: value})
    assert_problem(answer, 415, "unsupported-media-type")


@pytest.mark.parametrize("path", ["/runtime/mitigation", "/beacon/event", "/beacon/events"])
def test_the_credential_comes_before_the_form_of_the_body(service: Service, path: str) -> None:
    """A caller without a key gets 401, whatever is wrong with the body."""
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    assert_problem(service.post(path, b"", headers), 401, "unauthenticated")


@BOTH
def test_a_get_is_not_allowed(service: Service, path: str) -> None:
    """The hot calls answer only POST."""
    answer = service.control("GET", path)
    assert_problem(answer, 405, "method-not-allowed")
    assert answer.headers["allow"] == "POST"


@BOTH
def test_the_request_id_comes_back(service: Service, path: str) -> None:
    """The caller's request id is in the answer, also in a refusal."""
    assert (
        service.hot(path, EVENT, **{"x-request-id": "mine-7"}).headers["x-request-id"] == "mine-7"
    )
    refused = service.hot(path, b"{", **{"x-request-id": "mine-8"})
    assert refused.headers["x-request-id"] == refused.json()["request_id"] == "mine-8"


def test_a_batch_is_answered_item_by_item(service: Service) -> None:
    """Each event has its own status, in order; one bad one spoils none."""
    good = {**EVENT, "idempotency_key": str(uuid4())}
    answer = service.hot("/beacon/events", [good, {"request": 1}, good])
    first, second, third = answer.json()
    assert (first["status"], second["status"], third["status"]) == (200, 422, 200)
    assert second["problem"]["code"] == "invalid-event"
    assert first["item_id"] == third["item_id"]


@pytest.mark.parametrize(
    "content_type", ["application/x-ndjson", "Application/X-NDJSON; charset=UTF-8"]
)
def test_a_batch_may_be_lines(service: Service, content_type: str) -> None:
    """A batch may have one event a line in place of an array."""
    lines = b"\n".join(json.dumps(EVENT).encode() for _ in range(5)) + b"\n"
    answer = service.hot("/beacon/events", lines, **{"content-type": content_type})
    assert [item["status"] for item in answer.json()] == [200] * 5


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{}", 400, "invalid-json"),
        (b"[", 400, "invalid-json"),
        (b"[" * 30_000 + b"]" * 30_000, 400, "invalid-json"),
        (b"[" + b",".join([b"{}"] * 1001) + b"]", 413, "body-too-large"),
        (b" " * (4 * 1024 * 1024 + 1), 413, "body-too-large"),
    ],
)
def test_a_bad_batch_is_refused_whole(
    service: Service, body: bytes, status: int, code: str
) -> None:
    """A malformed or too large batch gets one refusal."""
    assert_problem(service.hot("/beacon/events", body), status, code)


def test_a_limit_is_of_one_key(service: Service) -> None:
    """A key over its limit gets 429 with headers that say when to come back; others go on."""
    keys = f"/tenants/{service.tenant_id}/api-keys"
    made = service.control("POST", keys, {"name": str(uuid4()), "rate_limit_per_minute": 10})
    headers = {"x-service-api-key": made.json()["key"]}
    body = json.dumps(EVENT).encode()
    assert service.post("/runtime/mitigation", body, headers).status_code == 200
    refused = service.post("/runtime/mitigation", body, headers)
    assert_problem(refused, 429, "rate-limited")
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.headers["ratelimit-policy"].startswith('"api-key";q=10;w=60')
    assert refused.headers["ratelimit"].startswith('"api-key";r=0;t=')
    assert service.hot("/runtime/mitigation", EVENT).status_code == 200


def test_a_batch_is_admitted_as_far_as_the_limit_goes(service: Service) -> None:
    """Events after the limit are refused; when none is admitted, the batch is."""
    keys = f"/tenants/{service.tenant_id}/api-keys"
    made = service.control("POST", keys, {"name": str(uuid4()), "rate_limit_per_minute": 30})
    headers = {"x-service-api-key": made.json()["key"]}
    body = json.dumps([EVENT] * 150).encode()
    answer = service.post("/beacon/events", body, headers)
    assert [item["status"] for item in answer.json()] == [200] * 3 + [429] * 147
    assert {item["problem"]["code"] for item in answer.json()[3:]} == {"rate-limited"}
    assert_problem(service.post("/beacon/events", body, headers), 429, "rate-limited")


def test_two_keys_in_one_request_are_malformed(service: Service) -> None:
    """Which of two credentials counts is not guessed."""
    answer = raw(
        service,
        b"POST /api/v1/runtime/mitigation HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n"
        b"content-type: application/json\r\nx-service-api-key: a\r\nx-service-api-key: b\r\n\r\n{}",
    )
    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "unusual",
    [
        b"expect: 100-continue\r\ncontent-length: %d\r\n\r\n%b",
        b"content-length: %d\r\nconnection: close\r\n\r\n%b",
        b"connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n"
        b"content-length: %d\r\n\r\n%b",
    ],
)
def test_unusual_forms_of_the_same_request_are_answered(service: Service, unusual: bytes) -> None:
    """Waiting for 100 Continue, closing afterwards, an offer of HTTP/2: nothing of the answer."""
    body = json.dumps(EVENT).encode()
    head = (
        b"POST /api/v1/runtime/mitigation HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        b"x-service-api-key: %b\r\n" % service.api_key.encode()
    )
    assert b'"no-match"' in raw(service, head + unusual % (len(body), body))


def test_a_body_in_chunks_and_requests_in_a_row_are_answered_in_order(service: Service) -> None:
    """Chunked bodies and pipelined requests go another way to the same answers."""
    body = json.dumps(EVENT).encode()
    head = (
        b"POST /api/v1/runtime/mitigation HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        b"x-service-api-key: %b\r\n" % service.api_key.encode()
    )
    half = len(body) // 2
    chunked = b"transfer-encoding: chunked\r\n\r\n" + b"".join(
        b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:half], body[half:], b"")
    )
    plain = b"content-length: %d\r\n\r\n%b" % (len(body), body)
    offer = b"connection: upgrade\r\nupgrade: h2c\r\n"
    forms = (plain, chunked, offer + plain, offer + chunked, plain)
    answer = raw(service, b"".join(head + form for form in forms), answers=len(forms))
    assert answer.count(b'"no-match"') == len(forms)


@pytest.mark.parametrize("hosts", [b"", b"host: x\r\nhost: x\r\n"])
def test_a_request_is_for_one_host(service: Service, hosts: bytes) -> None:
    """A request without a host, or with two, is refused (RFC 9112, section 3.2)."""
    answer = raw(service, b"GET /healthz HTTP/1.1\r\n%b\r\n" % hosts)
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_blanks_around_a_key_are_none_of_it(service: Service) -> None:
    """Blanks around a key do not belong to it (RFC 9112, section 5)."""
    body = json.dumps(EVENT).encode()
    answer = raw(
        service,
        b"POST /api/v1/runtime/mitigation HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n"
        b"content-type: application/json\r\nx-service-api-key:  %b \t \r\n\r\n%b"
        % (len(body), service.api_key.encode(), body),
    )
    assert b'"no-match"' in answer


def test_endless_headers_are_cut(service: Service) -> None:
    """Headers past the limit end the connection."""
    answer = raw(service, b"GET / HTTP/1.1\r\nhost: x\r\nx: " + b"y" * 40_000 + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 431 ")


def raw(service: Service, request: bytes, answers: int = 1) -> bytes:
    """The answer to bytes as they are."""
    host, port = service.base_url.removeprefix("http://").split(":")
    received = b""
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(request)
        while received.count(b"decision_id") < answers and (part := connection.recv(65_536)):
            received += part
            if received.startswith(b"HTTP/1.1 4"):
                break
    return received


def assert_problem(answer: Any, status: int, code: str) -> None:
    """A refusal is a problem document with this status and code."""
    assert (answer.status_code, answer.headers["content-type"], answer.json()["code"]) == (
        status,
        "application/problem+json",
        code,
    )
    assert answer.json()["status"] == status
