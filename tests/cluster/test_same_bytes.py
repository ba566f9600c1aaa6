"""A hot call at a node that hands it on has what it has at the owner's port."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import orjson
import psycopg
import pytest
from tools.cluster import EVENT, READY_SECONDS, Cluster, Node, cluster

pytestmark = pytest.mark.usefixtures("postgresql")
RUNTIME, BEACON = "/api/v1/runtime/mitigation", "/api/v1/beacon/event"


@pytest.fixture(scope="module", params=[False, True], ids=["usual", "tells-limits"])
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Two nodes, which say in each answer what is left of a limit, or do not."""
    with pytest.MonkeyPatch.context() as environment:
        if request.param:
            environment.setenv("TIDEGATE_SERVER_RATE_LIMIT_HEADER", "true")
        with cluster(tmp_path_factory.mktemp("cluster"), "ab") as running:
            yield running


def answered(
    node: Node,
    api_key: str,
    body: bytes,
    request_id: str = "",
    path: str = RUNTIME,
    kind: str = "application/json",
) -> tuple[bytes, bytes]:
    """The head and the body of an answer to a call that was sent in one piece.

    The time in the head is taken out.
    """
    address = urlsplit(node.base_url)
    more = f"x-request-id: {request_id}\r\n" if request_id else ""
    head = (
        f"POST {path} HTTP/1.1\r\nhost: tidegate\r\nx-service-api-key: {api_key}\r\n"
        f"content-type: {kind}\r\n{more}content-length: {len(body)}\r\n\r\n"
    )
    with (
        socket.create_connection((address.hostname, address.port), 30) as connection,
        connection.makefile("rb") as sent,
    ):
        connection.sendall(head.encode() + body)
        lines = []
        while (line := sent.readline()) != b"\r\n":
            assert line, "the connection ended"
            lines.append(line)
        size = next(int(each[16:]) for each in lines if each.startswith(b"content-length: "))
        return b"".join(each for each in lines if not each.startswith(b"date")), sent.read(size)


def without_numbers(answer: tuple[bytes, bytes]) -> tuple[bytes, ...]:
    """An answer but for its numbers, such as what is left of a limit."""
    return tuple(re.sub(rb"\d+", b"0", each) for each in answer)


def refusals(node: Node, request_id: str) -> list[int]:
    """The statuses of the rows about refusals of a call in a node's log."""
    rows = [orjson.loads(line) for line in node.log.read_bytes().splitlines()]
    return [
        row["status"]
        for row in rows
        if row["event"] == "refusal" and row["request_id"] == request_id
    ]


def test_answers_are_the_same_at_every_node(made: Cluster) -> None:
    """A decision, one that is repeated by its key, and each refusal, with a request id or none."""
    owner, (other,) = made.owner(), made.others()
    key = made.demo.api_key
    keyed = orjson.dumps({**EVENT, "idempotency_key": "the same"})
    for path in (RUNTIME, BEACON):
        assert answered(owner, key, keyed, path=path)[0].startswith(b"HTTP/1.1 200")
        here, there = (answered(each, key, keyed, "again", path) for each in (owner, other))
        assert without_numbers(here)[0] == without_numbers(there)[0]
        assert here[1] == there[1]
        heads = [
            without_numbers(answered(each, key, orjson.dumps(EVENT), "decided", path))[0]
            for each in (owner, other)
        ]
        assert heads[0] == heads[1]
        assert b"x-request-id: decided\r\n" in heads[0]
    heads = [
        without_numbers(answered(each, key, orjson.dumps(EVENT)))[0] for each in (owner, other)
    ]
    assert heads[0] == heads[1]
    assert b"x-request-id" not in heads[0]
    wrong = key[:-1] + ("a" if key[-1] != "a" else "b")
    for kind in ("application/json", "application/json; charset=utf-8"):
        for status, of_key, body in ((401, wrong, keyed), (422, key, b"[]"), (400, key, b"no")):
            request_id = f"refused-{status}-{len(kind)}"
            here, there = (
                answered(each, of_key, body, request_id, kind=kind) for each in (owner, other)
            )
            assert here[0].startswith(b"HTTP/1.1 %d" % status)
            assert without_numbers(here)[0] == without_numbers(there)[0]
            assert here[1] == there[1]
            assert refusals(owner, request_id) == [status, status]
            assert refusals(other, request_id) == []
        here, there = (answered(each, key, keyed, kind=kind) for each in (owner, other))
        assert here[0].startswith(b"HTTP/1.1 200")
        assert without_numbers(here)[0] == without_numbers(there)[0]
        assert here[1] == there[1]


def test_a_limit_is_that_of_the_owner(made: Cluster) -> None:
    """A call that is one too many is refused at every node, with the time to wait."""
    with psycopg.connect(made.url) as connection:
        connection.execute("UPDATE api_keys SET rate_limit_per_minute = 1")
        connection.execute("UPDATE store_meta SET value = value + 1 WHERE name = 'changes'")
    owner, (other,) = made.owner(), made.others()
    until = time.monotonic() + READY_SECONDS
    body = orjson.dumps(EVENT)
    while b";q=1;" not in answered(other, made.demo.api_key, body)[0]:
        assert time.monotonic() < until
    answered(owner, made.demo.api_key, body)
    here, there = (answered(each, made.demo.api_key, body, "over") for each in (owner, other))
    assert here[0].startswith(b"HTTP/1.1 429")
    assert b"\r\nretry-after: " in here[0]
    assert without_numbers(here) == without_numbers(there)
