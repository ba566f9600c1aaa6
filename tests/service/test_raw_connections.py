"""Connections of a whole service: how requests are framed, how much they may be, how they end."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import attrs
import pytest
from benchmarks.server.connections import GROWTH_BYTES, attacks, pour, resident_bytes
from raw_http import Answer, answers, exchange, require_proper
from service_process import Service, start, stop
from tests.waiting import wait_until
from tools import plain_http

HOT = b"/api/v1/runtime/mitigation"
BODY = b'{"fields":{"a":"b"}}'
ENDLESS = 4 * 1024 * 1024
"""Bytes of what never ends; far more than a connection may hold."""


def call(service: Service, path: bytes = HOT, line: bytes = b"HTTP/1.1", *headers: bytes) -> bytes:
    """A hot call that is decided, but for what is said of it otherwise."""
    lines = (
        b"POST %b %b" % (path, line),
        b"host: t",
        b"x-service-api-key: " + service.api_key.encode(),
        *(headers or (b"content-type: application/json",)),
        b"content-length: %d" % len(BODY),
    )
    return b"\r\n".join((*lines, b"", BODY))


def said(service: Service, *parts: bytes) -> list[Answer]:
    """The answers on a connection; the server closes it."""
    return answers(exchange(service.base_url, parts, silence=5))


def decisions(service: Service) -> float:
    """How many there have been."""
    text = plain_http.get(f"{service.base_url}/metrics", timeout=30).text
    counts = [line for line in text.splitlines() if line.startswith("tidegate_decisions_total{")]
    return sum(float(line.rpartition(" ")[2]) for line in counts)


HEAD = b"POST /api/v1/tenants HTTP/1.1\r\nhost: t\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("begun", "more"),
    [
        (b"", b"G"),
        (b"GET /", b"a"),
        (HEAD + b"x: ", b"y"),
        (HEAD, b"y"),
        (HEAD, b"x: y\r\n"),
        (b"", b"\r\n"),
        (CHUNKED, b"0"),
        (CHUNKED + b"2;", b"x"),
        (CHUNKED + b"2;x=", b"y"),
        (CHUNKED + b"0\r\nx: ", b"y"),
        (CHUNKED + b"0\r\n", b"x: y\r\n"),
    ],
)
def test_what_never_ends_is_refused(service: Service, begun: bytes, more: bytes) -> None:
    """A method, address, header, chunk or trailer without an end, whatever the parser sees."""
    where = urlsplit(service.base_url)
    received, sent = b"", 0
    with socket.create_connection((str(where.hostname), where.port), timeout=30) as connection:
        connection.settimeout(30)
        with suppress(ConnectionError):
            connection.sendall(begun)
            while sent < ENDLESS:
                connection.sendall(more * (4_096 // len(more)))
                sent += 4_096
        assert sent < ENDLESS
        with suppress(ConnectionError):
            while part := connection.recv(65_536):
                received += part
    for answer in answers(received):
        require_proper(answer, begun)
        assert answer.status in (400, 401, 431)


def test_a_header_is_counted_before_it_is_whole(service: Service) -> None:
    """32 KiB are the most; 431 says so, and the connection is closed."""
    for parts in (
        [HEAD + b"x: " + b"y" * 33_000],
        [HEAD, *[b"x: " + b"y" * 8_000] * 5],
        [HEAD + b"x: " + b"y" * 33_000 + b"\r\n\r\n"],
    ):
        [answer] = said(service, *parts)
        assert answer.status == 431
        assert answer.json()["code"] == "headers-too-large"
        assert answer.headers["connection"] == "close"
    [answer] = said(service, HEAD + b"connection: close\r\nx: " + b"y" * 32_000 + b"\r\n\r\n")
    assert answer.status == 401


def test_a_refusal_waits_for_the_answers_before_it(service: Service) -> None:
    """Requests that were accepted are answered, in order; then the bad one, and it ends."""
    good = call(service)
    for bad in (
        b"no HTTP\r\n\r\n",
        call(service, HOT, b"HTTP/2.0"),
        call(service)[:-10] + b"\r\n" + b"x" * 100,
        HEAD + b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ):
        before = decisions(service)
        found = said(service, good * 3 + b"GET /healthz HTTP/1.1\r\nhost: t\r\n\r\n" + good + bad)
        assert [each.status for each in found[:5]] == [200] * 5
        assert found[5].status == 400 or found[-1].status == 400
        assert found[-1].headers["connection"] == "close"
        ids = [each.json()["decision_id"] for each in (*found[:3], found[4])]
        assert ids == sorted(set(ids))
        assert decisions(service) - before >= 4


@pytest.mark.parametrize(
    "path",
    [
        b"/api/v1/runtime%2fmitigation",
        b"/api/v1/runtime%2Fmitigation",
        b"/api/v1/%72untime/mitigation",
        b"/api/v1/runtime/mitigation%00",
        b"/api/v1//runtime/mitigation",
        b"//api/v1/runtime/mitigation",
        b"/api/v1/x/../runtime/mitigation",
        b"/api/v1/./runtime/mitigation",
        b"/api/v1/x/%2e%2e/runtime/mitigation",
        b"/api/v1/runtime/mitigation/",
        b"/api/v1/runtime/mitigation;x",
        b"/api/v1/beacon%2fevents",
        b"http://t/api/v1/runtime%2fmitigation",
    ],
)
def test_another_spelling_of_a_path_is_another_path(service: Service, path: bytes) -> None:
    """An event sent to another spelling of a path is not decided."""
    [answer] = said(service, call(service, path, b"HTTP/1.1", b"content-type: application/json",
                                  b"connection: close"))  # fmt: skip
    assert answer.status == 404


@pytest.mark.parametrize("path", ["/%68ealthz", "/healthz%00", "//healthz", "/x/../healthz",
                                  "/api%2fv1/me", "/api/v1%2fme", "/healthz%2f"])  # fmt: skip
def test_the_control_plane_takes_a_path_as_it_is_written(service: Service, path: str) -> None:
    """The control plane neither decodes nor shortens a path."""
    head = f"GET {path} HTTP/1.1\r\nhost: t\r\nauthorization: Bearer {service.owner_token}\r\n"
    [answer] = said(service, f"{head}connection: close\r\n\r\n".encode())
    assert answer.status == 404


@pytest.mark.parametrize("version", [b"HTTP/0.9", b"HTTP/2.0", b"HTTP/1.2", b"HTTP/3.0", b""])
def test_another_version_decides_nothing(service: Service, version: bytes) -> None:
    """A request of another HTTP version is refused, and the connection ends."""
    before = decisions(service)
    [answer] = said(service, call(service, HOT, version))
    assert (answer.status, answer.headers["connection"]) == (400, "close")
    assert decisions(service) == before


@pytest.mark.parametrize(
    "coding",
    [
        b"gzip, chunked",
        b"chunked, chunked",
        b"identity",
        b"gzip",
        b"chunked;x=y",
        b"x-chunked",
        b"",
    ],
)
def test_the_only_coding_is_chunked(service: Service, coding: bytes) -> None:
    """Any transfer coding but `chunked` is refused: another server could read it otherwise."""
    for path in (HOT, b"/api/v1/beacon/events", b"/api/v1/tenants"):
        whole = call(service, path, b"HTTP/1.1", b"content-type: application/json",
                     b"transfer-encoding: " + coding)  # fmt: skip
        head, _, _ = whole.partition(b"content-length")
        [answer, *_] = said(service, head + b"\r\n2\r\n{}\r\n0\r\n\r\n")
        assert (answer.status, answer.headers["connection"]) == (400, "close")


def test_upgrades_are_no_more_than_requests(service: Service) -> None:
    """A thousand on one connection are answered one after the other, in HTTP/1.1."""
    upgrade = (
        b"GET /healthz HTTP/1.1\r\nhost: t\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
    )
    last = b"GET /healthz HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n"
    found = said(service, upgrade * 1_000 + last)
    assert [each.status for each in found] == [200] * 1_001


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (["application/json"], 200),
        (["application/json; charset=utf-8"], 200),
        (["Application/JSON ;charset=UTF-8"], 200),
        (['application/json;charset="utf-8"'], 200),
        (["application/json", "application/json"], 400),
        (["text/plain", "application/json"], 400),
        ([], 415),
        (["text/plain"], 415),
        (["application/json; boundary=x"], 415),
        (["application/json; charset=utf-8; boundary=x"], 415),
        (["application/json; charset=utf-8; charset=utf-16"], 415),
        (["application/json; charset=utf-16"], 415),
        (["application/json;"], 415),
        (["application/json, text/plain"], 415),
    ],
)
def test_one_rule_judges_content_types(service: Service, given: list[str], status: int) -> None:
    """All calls take one content type, with no parameter but UTF-8."""
    types = [f"content-type: {each}".encode() for each in given] or [b"x: y"]
    tenant = f"/api/v1/tenants/{service.tenant_id}/expressions/check".encode()
    bodies = ((HOT, BODY), (b"/api/v1/beacon/events", b"[%b]" % BODY),
              (tenant, b'{"expression":"true"}'))  # fmt: skip
    for path, body in bodies:
        lines = [b"POST %b HTTP/1.1" % path, b"host: t", b"connection: close", *types]
        lines += [b"x-service-api-key: " + service.api_key.encode(),
                  b"authorization: Bearer " + service.owner_token.encode(),
                  b"content-length: %d" % len(body)]  # fmt: skip
        whole = b"\r\n".join([*lines, b"", body])
        for parts in ([whole], [whole[:20], whole[20:]]):
            [answer] = said(service, *parts)
            assert answer.status == status, (path, answer)


def test_a_trailer_is_no_header(service: Service) -> None:
    """A credential after the body lets nobody in."""
    trailer = b"0\r\nauthorization: Bearer " + service.owner_token.encode() + b"\r\n\r\n"
    [answer] = said(service, CHUNKED.replace(b"host", b"connection: close\r\nhost") + trailer)
    assert answer.status == 401


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[Service]:
    """A server with room for few connections."""
    log = tmp_path_factory.mktemp("small") / "log"
    bounds = ("--server-max-connections", "12", "--server-max-connections-per-address", "8")
    process, printed = start("--demo", *bounds, log=log)
    yield Service(process=process, log=log, **printed)
    stop(process)


def test_an_address_has_a_share_of_the_connections(small: Service) -> None:
    """More are refused with 503 at once; another address has its own share, and when all are taken
    the address with most gives one up to a newcomer.
    """
    where = urlsplit(small.base_url)
    host, port = str(where.hostname), where.port

    def connect(source: str) -> socket.socket:
        made = socket.create_connection((host, port), 30, (source, 0))
        made.settimeout(30)
        return made

    def is_taken(connection: socket.socket) -> bool:
        with suppress(ConnectionError):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: t\r\n\r\n")
        with suppress(ConnectionError):
            return connection.recv(65_536).startswith(b"HTTP/1.1 200")
        return False

    with ExitStack() as stack:
        first = [stack.enter_context(connect("127.0.0.1")) for _ in range(8)]
        assert all(is_taken(each) for each in first)
        over = stack.enter_context(connect("127.0.0.1"))
        received = b""
        with suppress(ConnectionError):
            while part := over.recv(65_536):
                received += part
        [answer] = answers(received)
        assert (answer.status, answer.json()["code"]) == (503, "overloaded")
        assert answer.headers["retry-after"]
        second = [stack.enter_context(connect("127.0.0.2")) for _ in range(4)]
        assert all(is_taken(each) for each in second)
        with connect("127.0.0.3") as third:
            assert is_taken(third)
        assert first[0].recv(1) == b""
    healthz = b"GET /healthz HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n"
    wait_until(lambda: said(small, healthz)[0].status == 200)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_memory_is_bounded_whatever_connections_send(small: Service) -> None:
    """Headers, addresses, trailers and pipelines without an end, of which no answer is read."""
    where = urlsplit(small.base_url)
    address = str(where.hostname), int(where.port or 0)
    for attack in attacks(small.api_key):
        few = attrs.evolve(attack, connections=min(40, attack.connections))
        cost = pour(address, lambda: resident_bytes(small.process.pid), few, healthy=False)
        assert cost.grown < GROWTH_BYTES, (attack.name, cost)


def test_a_body_is_not_read_for_ever_after_its_refusal(service: Service) -> None:
    """A caller that writes on after a 401 is cut off, long before a body of 100 MB is there."""
    where = urlsplit(service.base_url)
    size, sent = 100_000_000, 0
    connection = socket.create_connection((str(where.hostname), where.port), timeout=30)
    with connection, suppress(ConnectionError):
        connection.sendall(HEAD + b"content-length: %d\r\n\r\n" % size)
        while sent < size:
            connection.sendall(bytes(65_536))
            sent += 65_536
    assert sent < size


def test_batches_that_do_not_arrive_are_bounded(service: Service) -> None:
    """Four of the largest size are under way; the fifth is refused, until one of them ends."""
    where = urlsplit(service.base_url)
    head = b"\r\n".join(
        (
            b"POST /api/v1/beacon/events HTTP/1.1",
            b"host: t",
            b"expect: 100-continue",
            b"x-service-api-key: " + service.api_key.encode(),
            b"content-type: application/json",
            b"content-length: %d",
            b"",
            b"",
        )
    )
    with ExitStack() as stack:
        for number in range(5):
            connection = stack.enter_context(
                socket.create_connection((str(where.hostname), where.port), timeout=30)
            )
            connection.sendall(head % (4 * 1024 * 1024))
            first = connection.recv(65_536)
            assert first.startswith(b"HTTP/1.1 100" if number < 4 else b"HTTP/1.1 503"), number
    small = (head % (len(BODY) + 2)).replace(b"expect: 100-continue", b"connection: close")
    wait_until(lambda: said(service, small + b"[%b]" % BODY)[0].status == 200)


def test_who_sends_no_more_gets_its_answer(service: Service) -> None:
    """A decision that is recorded is answered, also when half of the connection is closed."""
    where = urlsplit(service.base_url)
    with socket.create_connection((str(where.hostname), where.port), timeout=30) as connection:
        connection.sendall(call(service))
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while part := connection.recv(65_536):
            received += part
    [answer] = answers(received)
    assert answer.status == 200
