"""Lines of the log about requests."""

from __future__ import annotations

import io
import json
import sys
from typing import Any
from uuid import UUID

import httpx2
import pytest
from tests.server.serving import Caller, Served

from tidegate_server.http.access_log import MAX_REFUSALS, AccessLog
from tidegate_server.logging import configure
from tidegate_server.settings.service import LogSettings
from tidegate_server.stores.decision_log.lines import LogBlock


class Lines:
    """The log lines, as members of the JSON objects."""

    def __init__(self, stream: io.StringIO) -> None:
        self._stream = stream

    def all(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._stream.getvalue().splitlines()]

    def of_request(self, request_id: str) -> list[dict[str, Any]]:
        return [each for each in self.all() if each.get("request_id") == request_id]


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Lines:
    """The log as a server writes it, on a stream of the test."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    configure(LogSettings())
    return Lines(stream)


def request_id(answer: httpx2.Response) -> str:
    return str(answer.headers["x-request-id"])


def test_each_request_of_the_control_plane_is_a_line(owner: Caller, lines: Lines) -> None:
    """Method, path, status, time and the request id that the answer carries."""
    answer = owner.get("me")
    (line,) = lines.of_request(request_id(answer))
    assert (line["event"], line["method"], line["path"]) == ("request", "GET", "/api/v1/me")
    assert line["status"] == 200
    assert line["duration_ms"] >= 0
    assert line["level"] == "info"


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [("/api/v1/nothing", 404, "not-found"), ("/api/v1/me", 401, "unauthenticated")],
)
def test_each_refusal_is_a_line_with_its_code(
    served: Served, lines: Lines, path: str, status: int, code: str
) -> None:
    """Each refusal has a line with its code, also without a route or a caller."""
    answer = served.http.get(path)
    (line,) = lines.of_request(request_id(answer))
    assert (line["event"], line["status"], line["code"]) == ("refusal", status, code)


def test_of_a_path_only_words_of_routes_and_ids_are_written(served: Served, lines: Lines) -> None:
    """Anything else may be a password or a key in the wrong place."""
    tenant = UUID(int=5)
    answer = served.http.get(f"/api/v1/tenants/{tenant}/hunter2/actions")
    (line,) = lines.of_request(request_id(answer))
    assert line["path"] == f"/api/v1/tenants/{tenant}/*/actions"


def test_health_is_not_noted(served: Served, lines: Lines) -> None:
    """A health check, made every few seconds, leaves no line in the log while all is well."""
    assert served.http.get("/healthz").status_code == 200
    assert not [each for each in lines.all() if each["event"] == "request"]


def test_refusals_have_a_bound_and_those_without_a_line_are_counted(lines: Lines) -> None:
    """A stranger who asks on cannot fill the disk."""
    now = [7.0]
    access = AccessLog(monotonic=lambda: now[0])
    for number in range(MAX_REFUSALS + 30):
        access.hot_refusal("/api/v1/beacon/event", 401, "unauthenticated", str(number))
    now[0] += 1
    access.hot_refusal("/api/v1/beacon/event", 401, "unauthenticated", "last")
    assert len(lines.all()) == MAX_REFUSALS + 1
    (last,) = lines.of_request("last")
    assert last["refusals_without_a_line"] == 30


def test_decisions_are_sampled(lines: Lines) -> None:
    """In each span of time one decision has a line, with the number of all; with 0 none has."""
    now = [0.0]
    access, silent = (AccessLog(seconds, monotonic=lambda: now[0]) for seconds in (10.0, 0.0))
    tenant = UUID(int=5)
    written = b'{"decision_id":"1"}\n{"decision_id":"2","trace_id":"4bf9"}'
    block = LogBlock(tenant, 3, 1, b"\x01" * 16, b"\x02" * 16, written, b"")
    for each in (access, silent):
        each.decided([block, block])
    now[0] = 11.0
    for each in (access, silent):
        each.decided([block])
    (line,) = lines.all()
    assert (line["event"], line["decisions"], line["tenant_id"]) == ("decision", 9, str(tenant))
    assert (line["decision_id"], line["trace_id"]) == (str(UUID(bytes=b"\x02" * 16)), "4bf9")
