"""The calls of the page of `tidegate play`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tidegate_server.console.files import Asset, Assets
from tidegate_server.play.application import MAX_BODY, Play
from tidegate_server.play.evaluation import MAX_EVENTS, Question

DEFINITIONS = """apiVersion: tidegate/v1
entities:
  - {name: Address, key_fields: [request.client_ip]}
mitigations:
  - {name: Refuse, mode: Block, ttl_seconds: 0}
policies:
  - name: Login
    clauses:
      - name: many
        entity: address
        mitigation: refuse
        window: {duration_seconds: 60, threshold: 2}
"""
EVENT = '{"request": {"path": "/", "client_ip": "192.0.2.1"}}'
HOST, TOKEN = "127.0.0.1:8099", "secret"


def client(tmp_path: Path, seconds: float = 10.0) -> TestClient:
    """The application, called with the right host and token."""
    (tmp_path / "play.html").write_text("<!doctype html>")
    page = Asset.read(tmp_path / "play.html")
    start = Question("definitions", "events")
    play = Play(Assets(page, {}), page, [HOST], TOKEN, start, seconds)
    headers = {"authorization": f"Bearer {TOKEN}"}
    return TestClient(play.application(), base_url=f"http://{HOST}", headers=headers)


def asked(tmp_path: Path, **members: Any) -> Any:
    """The answer to a question."""
    body = {"definitions": DEFINITIONS, "events": EVENT, "chosen": None, **members}
    return client(tmp_path).post("/evaluate", json=body)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": f"http://{HOST}"}, 200),
        ({"authorization": "Bearer other"}, 401),
        ({"authorization": ""}, 401),
        ({"host": "evil.example:8099"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
    ],
)
def test_only_the_page_itself_may_call(
    tmp_path: Path, headers: dict[str, str], status: int
) -> None:
    """Another host name, another origin and a wrong token are refused."""
    assert client(tmp_path).get("/start", headers=headers).status_code == status


def test_events_are_decided_with_their_windows(tmp_path: Path, process: None) -> None:
    """The engine counts over all lines, and the chosen event is explained with its window,
    which counts up to its threshold."""
    answer = asked(tmp_path, events="\n".join([EVENT] * 3)).json()
    assert [each["action"] for each in answer["events"]] == ["allow", "block", "block"]
    assert answer["chosen"] == 2
    [window] = answer["windows"]
    assert [each["value"] for each in window["points"]] == [1, 2, 2]
    assert answer["trace"]["policies"][0]["clauses"][0]["fired"]
    first = asked(tmp_path, events=f"[{EVENT}, {EVENT}]", chosen=0).json()
    assert [each["value"] for each in first["windows"][0]["points"]] == [1]


def test_windows_count_at_the_times_of_the_events(tmp_path: Path, process: None) -> None:
    """Of events an hour apart, each has a window of its own, whose time is the event's."""
    times = [f"2026-11-02T{hour:02}:00:00.000Z" for hour in (9, 10)]
    events = "\n".join(f'{{"observed_at": "{each}", {EVENT[1:]}' for each in times)
    answer = asked(tmp_path, events=events).json()
    assert [each["action"] for each in answer["events"]] == ["allow", "allow"]
    [window] = answer["windows"]
    assert [each["value"] for each in window["points"]] == [1, 1]
    assert [each["time"] for each in window["points"]] == times


def test_what_is_refused_has_its_place(tmp_path: Path, process: None) -> None:
    """A document has findings with lines; an event has an error and the others are decided."""
    [finding] = asked(tmp_path, definitions="a: [").json()["findings"]
    assert (finding["code"], finding["line"]) == ("invalid-yaml", 1)
    answer = asked(tmp_path, events=f"{{broken\n[1]\n{EVENT}").json()
    assert ["error" in each for each in answer["events"]] == [True, True, False]
    assert asked(tmp_path, events="").json()["events"] == []


def test_questions_have_bounds(tmp_path: Path, process: None) -> None:
    """Too many events, too many bytes and a body without form are refused with a reason."""
    many = asked(tmp_path, events="\n".join([EVENT] * (MAX_EVENTS + 1)))
    assert (many.status_code, "2,001 events" in many.json()["detail"]) == (422, True)
    long = client(tmp_path).post("/evaluate", content=b"x" * (MAX_BODY + 1))
    assert long.status_code == 413
    assert client(tmp_path).post("/evaluate", content=b"[]").status_code == 422


def test_a_slow_evaluation_is_ended(tmp_path: Path, process: None) -> None:
    """Its process is killed after the time, and the next question is answered."""
    body = {"definitions": DEFINITIONS, "events": EVENT, "chosen": None}
    with client(tmp_path, seconds=0.001) as calls:
        answer = calls.post("/evaluate", json=body)
    assert answer.status_code == 422
    assert "was ended" in answer.json()["detail"]
    assert asked(tmp_path).status_code == 200
