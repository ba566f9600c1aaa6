"""Hostile input to a whole service: every answer is proper, it lives, and logs tell no secret."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import hostile_input
import orjson
import pytest
from access_world import API_KEY_HEADER, PASSWORD, World, bearer, world
from hostile_input import BLOCKS, BODIES, REQUESTS, TEXTS, TIMES, Case
from raw_http import Answer, answers, exchange, require_proper
from tests.hostile.firewall_requests import firewall_events

HOT = ("/api/v1/runtime/mitigation", "/api/v1/beacon/event")
GROWTH_BYTES = 300 * 1024 * 1024
"""No input makes the process grow by more, whatever was sent before."""
EVENT = b'{"fields":{"a":"b"}}'


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[World]:
    """A service that logs all it can; in the end it lives, hasn't grown, and has logged no
    secret."""
    with world(tmp_path_factory.mktemp("hostile"), TIDEGATE_LOG_LEVEL="debug") as made:
        before = peak_bytes(made)
        yield made
        assert decide(made, EVENT).status == 200
        assert peak_bytes(made) - before < GROWTH_BYTES
        require_clean_log(made)


def peak_bytes(made: World) -> int:
    """The most memory the process has had."""
    status = Path(f"/proc/{made.process_id}/status")
    if not status.exists():
        return 0
    [line] = [each for each in status.read_text().splitlines() if each.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def require_clean_log(made: World) -> None:
    """Each line is one record, and none of them has a key, a token or a password."""
    text = made.log.read_text()
    for line in text.splitlines():
        assert isinstance(json.loads(line), dict), line
    for tenant in (made.own, made.other):
        assert tenant.key not in text
    assert PASSWORD not in text
    for caller in made.callers:
        for value in caller.headers.values():
            assert value.removeprefix("Bearer ") not in text


def post(made: World, path: str, headers: dict[str, str], body: bytes) -> Answer | None:
    """A POST; None when the server closed the connection in the middle of the body."""
    lines = {"host": "t", "content-type": "application/json", **headers}
    lines |= {"content-length": str(len(body)), "connection": "close"}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    parts = [f"POST {path} HTTP/1.1\r\n{head}\r\n".encode(), body]
    found = answers(exchange(made.connection.base_url, parts, silence=30))
    return found[0] if found else None


def decide(made: World, body: bytes, path: str = HOT[0]) -> Answer:
    """One event by the tenant's key."""
    answer = post(made, path, {API_KEY_HEADER: made.own.key}, body)
    return answer or Answer(413, {"content-type": "", "x-request-id": ""}, b"")


def owner(made: World) -> dict[str, str]:
    return bearer(made.own.owner.token())


def below(made: World, path: str) -> str:
    return f"/api/v1/tenants/{made.own.ids['tenant_id']}/{path}"


def either(own: Iterable[Any], shared: Callable[[], Iterable[Any]]) -> Any:
    """Runs a test with what is shipped, and with a shared set that may not be at hand."""
    return pytest.mark.parametrize(
        "cases", [pytest.param(lambda: own, id="shipped"), pytest.param(shared, id="shared")]
    )


@either(BODIES, lambda: [*hostile_input.json_suite(), *hostile_input.event_bombs()])
def test_a_body_is_an_event_or_is_refused(
    attacked: World, cases: Callable[[], Iterable[Case]]
) -> None:
    """The hot calls refuse a body that isn't an event, as malformed or for its size."""
    for case in cases():
        for path in HOT:
            answer = decide(attacked, case.content, path)
            if answer.body:
                require_proper(answer, case.name)
            if case.accepted is not None:
                assert (answer.status == 200) == case.accepted, case.name


@either(BODIES, lambda: [*hostile_input.json_suite(), *hostile_input.event_bombs()])
def test_a_body_of_the_control_plane_is_read_as_strictly(
    attacked: World, cases: Callable[[], Iterable[Case]]
) -> None:
    """No such body is a definition, a document or a login; it is refused, and nothing breaks."""
    headers = owner(attacked)
    paths = (below(attacked, "actions"), below(attacked, "expressions/check"))
    for case in cases():
        for path in (*paths, "/api/v1/auth/local/token", "/api/v1/tenants"):
            answer = post(attacked, path, headers, case.content)
            if answer is not None:
                require_proper(answer, case.name)
                assert 400 <= answer.status < 500, case.name


@either(BODIES, lambda: [*hostile_input.json_suite(), *hostile_input.event_bombs()])
def test_a_batch_is_answered_whatever_its_lines_are(
    attacked: World, cases: Callable[[], Iterable[Case]]
) -> None:
    """A batch answers each line for itself, whatever the lines are."""
    headers = {API_KEY_HEADER: attacked.own.key, "content-type": "application/x-ndjson"}
    for case in cases():
        answer = post(attacked, "/api/v1/beacon/events", headers, EVENT + b"\n" + case.content)
        if answer is not None:
            require_proper(answer, case.name)
            if answer.status == 200:
                first, *others = answer.json()
                assert first["status"] == 200
                assert all(each["status"] < 500 for each in others), case.name


@either(REQUESTS, hostile_input.raw_requests)
def test_a_request_is_framed_in_one_way(
    attacked: World, cases: Callable[[], Iterable[Case]]
) -> None:
    """Bytes as they are: one answer or none, a refusal closes, and nothing is smuggled in."""
    work = [(case, path) for case in cases() for path in (HOT[0], "/healthz", "/api/v1/me")]

    def play(item: tuple[Case, str]) -> tuple[Case, bytes]:
        case, path = item
        raw = case.content.replace(b"{P}", path.encode())
        raw = raw.replace(b"{K}", attacked.own.key.encode())
        return case, exchange(attacked.connection.base_url, [raw])

    with ThreadPoolExecutor(16) as pool:
        for case, received in pool.map(play, work):
            for answer in answers(received):
                if not case.content.startswith(b"HEAD "):
                    require_proper(answer, case.name)
                assert answer.status < 500, case.name
            if case.accepted is False:
                assert b"/smuggled" not in received, case.name
                assert not received.startswith(b"HTTP/1.1 2"), case.name


@either([text.encode() for text in TEXTS], hostile_input.header_values)
def test_headers_may_hold_anything(attacked: World, cases: Callable[[], Iterable[bytes]]) -> None:
    """A value that HTTP does not allow is refused; any other changes nothing."""

    def play(value: bytes) -> tuple[bytes, bytes]:
        head = b"GET /healthz HTTP/1.1\r\nhost: t\r\nconnection: close\r\n"
        names = (b"x-request-id", b"cookie", b"if-none-match", b"traceparent")
        fields = b"".join(b"%b: %b\r\n" % (name, value) for name in names)
        return value, exchange(attacked.connection.base_url, [head + fields + b"\r\n"])

    with ThreadPoolExecutor(16) as pool:
        for value, received in pool.map(play, cases()):
            [answer] = answers(received)
            require_proper(answer, value)
            if b"\r" not in value and b"\x00" not in value and b"\n" not in value:
                assert answer.status in (200, 400), value


def test_attacks_on_applications_are_decided_on(attacked: World) -> None:
    """Requests of a firewall's tests are events, alone and in a batch."""
    headers = {API_KEY_HEADER: attacked.own.key}
    lines = [orjson.dumps(event) for event in firewall_events()]
    for line in lines[::4]:
        answer = decide(attacked, line)
        require_proper(answer, line)
        assert answer.status == 200, (line, answer)
    for first in range(0, len(lines), 100):
        batch = b"[" + b",".join(lines[first : first + 100]) + b"]"
        answered = post(attacked, "/api/v1/beacon/events", headers, batch)
        assert answered is not None
        require_proper(answered, batch)
        assert {each["status"] for each in answered.json()} == {200}


@either(TEXTS, hostile_input.texts)
def test_text_is_text_wherever_it_stands(
    attacked: World, cases: Callable[[], Iterable[str]]
) -> None:
    """Strings that break programs are text in events, names, expressions, queries and paths."""
    send, headers = attacked.connection.send, owner(attacked)
    # Half a surrogate pair isn't text: bodies with one are refused as invalid JSON.
    for text in (each[:8_000].encode(errors="replace").decode() for each in cases()):
        request = {"path": text, "user_agent": text, "headers": {text or "a": text}}
        event = {"source": text, "request": request, "fields": {text: text}}
        require_proper(decide(attacked, json.dumps(event).encode()), text)
        body = {"name": text, "description": text, "expression": "true"}
        made = send("POST", below(attacked, "actions"), headers, body)
        assert made.status in (201, 422), (text, made)
        if made.status == 201:
            assert (made.json()["name"], made.json()["description"]) == (text, text)
            gone = below(attacked, f"actions/{made.json()['action_id']}")
            assert send("DELETE", gone, headers).status == 204
        check = {"expression": text}
        assert send("POST", below(attacked, "expressions/check"), headers, check).status in (
            200,
            422,
        )
        quoted = "".join(f"%{byte:02x}" for byte in text.encode())
        listed = send("GET", below(attacked, f"actions?cursor={quoted}"), headers)
        assert listed.status == 422, text
        found = send("GET", below(attacked, f"actions/{quoted}"), headers)
        assert found.status in (404, 405) or not text, text


@either(TIMES, hostile_input.times)
def test_a_time_is_one_or_is_refused(attacked: World, cases: Callable[[], Iterable[Case]]) -> None:
    """An ``observed_at`` is a valid time or is refused."""
    for case in cases():
        event = {"observed_at": case.content, "fields": {"a": "b"}}
        answer = decide(attacked, json.dumps(event).encode())
        require_proper(answer, case.name)
        assert answer.status in (200, 422), case.name
        if case.accepted is not None:
            assert (answer.status == 200) == case.accepted, case.name


@either(BLOCKS, hostile_input.blocks)
def test_a_block_answer_is_checked_when_it_is_defined(
    attacked: World, cases: Callable[[], Iterable[Case]]
) -> None:
    """Headers that would forge or steer something never get into a definition."""
    headers = owner(attacked)
    for case in cases():
        body = {"name": f"block {uuid4()}", "mode": "Block", "block": case.content}
        answer = attacked.connection.send("POST", below(attacked, "mitigations"), headers, body)
        assert answer.status in (201, 422), (case.name, answer)
        if case.accepted is not None:
            assert (answer.status == 201) == case.accepted, case


def test_published_tokens_let_nobody_in(attacked: World) -> None:
    """Published tokens are refused, whoever signed them."""
    for text in hostile_input.tokens():
        if text.isprintable():
            answer = attacked.connection.send("GET", "/api/v1/me", bearer(text))
            assert answer.status == 401, text[:100]


def test_tokens_of_known_secrets_let_nobody_in(attacked: World) -> None:
    """An HMAC under a secret that everybody knows isn't a signature of ours."""
    good = attacked.own.owner.token()
    claims = good.split(".")[1]
    header = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    signed = f"{header}.{claims}".encode()
    for secret in hostile_input.known_secrets()[::20]:
        mac = hmac.digest(secret.encode(), signed, hashlib.sha256)
        signature = base64.urlsafe_b64encode(mac).decode().rstrip("=")
        answer = attacked.connection.send(
            "GET", "/api/v1/me", bearer(f"{signed.decode()}.{signature}")
        )
        assert answer.status == 401, secret


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"authorization": "Bearer {T}"}, 200),
        ({"authorization": "bearer {T}"}, 200),
        ({"authorization": "Bearer{T}"}, 401),
        ({"authorization": "Bearer  {T}"}, 401),
        ({"authorization": "{T}"}, 401),
        ({"authorization": "Basic {T}"}, 401),
        ({"authorization": "Bearer {T}, Bearer {T}"}, 401),
        ({"cookie": "service.auth_token={T}; authorization=Bearer {T}"}, 401),
        ({"x-authorization": "Bearer {T}"}, 401),
        ({"x-service-api-key": "{T}"}, 401),
    ],
)
def test_a_token_counts_in_one_place_only(
    attacked: World, form: dict[str, str], status: int
) -> None:
    """A token counts only in its header after the scheme, in any case (RFC 9110)."""
    token = attacked.own.owner.token()
    headers = {name: value.replace("{T}", token) for name, value in form.items()}
    assert attacked.connection.send("GET", "/api/v1/me", headers).status == status


def test_secrets_in_the_wrong_place_are_in_no_answer_and_no_log(attacked: World) -> None:
    """Key, token and password in paths, queries, bodies and the wrong headers."""
    send, key, token = attacked.connection.send, attacked.own.key, attacked.own.owner.token()
    for secret in (key, token, PASSWORD.replace(" ", "-")):
        calls = [
            send("GET", f"/{secret}", {}),
            send("GET", f"/api/v1/me?access_token={secret}", {}),
            send("GET", f"/api/v1/tenants/{secret}", owner(attacked)),
            send("GET", below(attacked, f"actions?cursor={secret}"), owner(attacked)),
            send("GET", below(attacked, f"actions?{secret}=1"), owner(attacked)),
            send("GET", "/healthz", {"x-request-id": secret[:100], "cookie": secret}),
            send("POST", "/api/v1/auth/local/token", {}, {"email": secret, "password": secret}),
            send("POST", HOT[0], {API_KEY_HEADER: key}, {"fields": {"password": secret}, "a": 1}),
        ]
        assert all(answer.status < 500 for answer in calls)
        text = attacked.log.read_text()
        assert secret not in text
    require_clean_log(attacked)


def test_a_log_line_cannot_be_forged(attacked: World) -> None:
    """Every line is a record of its own, whatever requests hold."""
    for text in TEXTS:
        shown = "".join(f"%{byte:02x}" for byte in text.encode())
        attacked.connection.send("GET", f"/{shown}?{shown}={shown}", {"user-agent": "x"})
    require_clean_log(attacked)
