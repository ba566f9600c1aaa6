"""Bytes to a server as they are, and what comes back taken apart."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import attrs

from tidegate_server.http.problems import KINDS


@attrs.frozen
class Answer:
    """One answer of a connection."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def exchange(base_url: str, parts: Iterable[bytes], silence: float = 2.0) -> bytes:
    """The bytes that come back until the server closes, or is silent for some seconds."""
    where = urlsplit(base_url)
    received = b""
    with socket.create_connection((str(where.hostname), where.port), timeout=30) as connection:
        # A server that refuses does not read to the end.
        with suppress(ConnectionError):
            for part in parts:
                connection.sendall(part)
        connection.settimeout(silence)
        with suppress(ConnectionError, TimeoutError):
            while part := connection.recv(65_536):
                received += part
    return received


def answers(received: bytes) -> list[Answer]:
    """The answers one after the other, interim ones left out."""
    found = []
    while received:
        head, separator, rest = received.partition(b"\r\n\r\n")
        assert separator, received[:200]
        first, *lines = head.decode("latin-1").split("\r\n")
        version, status, *_ = first.split(" ")
        assert version == "HTTP/1.1", first
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        length = int(headers.get("content-length", 0))
        received = rest[length:]
        if int(status) >= 200:
            found.append(Answer(int(status), headers, rest[:length]))
    return found


def require_proper(answer: Answer, what: Any) -> None:
    """An answer is a success, or a problem document that isn't a fault of the server."""
    assert answer.status < 500, (what, answer)
    if answer.status >= 400:
        assert answer.headers["content-type"] == "application/problem+json", (what, answer)
        problem = answer.json()
        assert problem["status"] == answer.status == KINDS[problem["code"]].status, (what, answer)
        assert problem["request_id"] == answer.headers["x-request-id"], (what, answer)
