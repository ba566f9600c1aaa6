"""A marker in every place of an event that may hold a secret is nowhere to be found afterwards.

One service decides on an event for each place, every route is asked for all it knows, and then
its log, its metrics and the bytes of its data directory are searched.
"""

from __future__ import annotations

import secrets
import shutil
import string
import time
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest
from access_world import API_KEY_HEADER, Reply, World, world
from marked_places import CLEAR, LISTED, SECRET, Place
from pysqlite3 import dbapi2

from tidegate_server.routing.route import Credential
from tidegate_server.routing.routes import ROUTES
from tidegate_server.stores.rows.compression import ZstdDecompressor, ZstdError

HIDDEN: Mapping[str, Place] = {**SECRET, **LISTED}
PLACES: Mapping[str, Place] = {f"secret: {name}": each for name, each in HIDDEN.items()} | {
    f"clear: {name}": each for name, each in CLEAR.items()
}
KEYED = (
    'request.headers["authorization"]',
    'request.headers["x-api-key"].upperAscii()',
    'request.cookies["theme"]',
    'request.query_params["password"]',
    "request.raw_path",
    "request.referer",
    'fields["client_secret"]',
    'fields["payload"]',
    'fields["body"]',
    'fields["callback"] + request.host',
    'request.headers.exists(name, name == "x") ? "a" : request.headers["x-auth-token"]',
)
"""Keys of entities, one definition each; and what distinct windows count."""
READING = (
    'request.headers.exists(name, request.headers[name].contains("nowhere"))',
    'request.cookies.size() > 100 || request.headers["authorization"].contains("nowhere")',
    'fields["body"].contains("nowhere") || request.raw_path.contains("nowhere")',
    'int(request.query_params["password"]) == 5',
)
"""Conditions whose values explanations show."""
WAIT_SECONDS = 60.0


@attrs.frozen
class Seen:
    """Everything that came out of the service, by where."""

    markers: Mapping[str, str]
    texts: list[tuple[str, bytes]]

    def slots_of(self, marker: str) -> list[str]:
        """The places of a marker, in either case."""
        wanted = marker.encode()
        return [where for where, text in self.texts if wanted in text.lower()]


class Asking:
    """Asks everything, and keeps what comes back."""

    def __init__(self, made: World) -> None:
        self.world = made
        self.seen: list[tuple[str, bytes]] = []
        self.path = f"/api/v1/tenants/{made.own.ids['tenant_id']}"

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """Any call by the Owner, or with the headers given."""
        given = headers or self.world.own.owner.bearer()
        answer = self.world.connection.send(method, path, given, body)
        lines = b"\n".join(f"{name}: {value}".encode() for name, value in answer.headers.items())
        self.seen.append((f"{method} {path}", lines + answer.content))
        return answer

    def own(self, method: str, path: str, body: Any = None) -> Any:
        """A call below the tenant, which succeeds."""
        answer = self.send(method, f"{self.path}/{path}", body)
        assert answer.status < 300, (path, answer.content)
        return answer.json() if answer.content else None


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, process: None) -> Seen:
    """Everything visible after events with a marker in every place."""
    directory = tmp_path_factory.mktemp("secrets")
    alphabet = string.ascii_lowercase
    markers = {name: "zq" + "".join(secrets.choice(alphabet) for _ in range(22)) for name in PLACES}
    with world(directory) as made:
        asking = Asking(made)
        _define(asking)
        _decide(asking, markers)
        _ask(asking, markers)
        copy = directory / "while it ran"
        shutil.copytree(directory / "data", copy, ignore=shutil.ignore_patterns("*.sock"))
    texts = [*asking.seen, ("the log", (directory / "log").read_bytes())]
    for data in (copy, directory / "data"):
        texts += [(f"{data.name}/{file.name}", file.read_bytes()) for file in _files(data)]
    texts += _unpacked(directory / "data")
    return Seen(markers, [(where, text.lower()) for where, text in texts])


def _define(asking: Asking) -> None:
    """Definitions that key, count, challenge and explain by secrets."""
    redact = ["!theme_in_clear"]
    assert asking.send("PATCH", asking.path, {"settings": {"redact": redact}}).status == 200
    challenge = {"name": "Challenge", "mode": "Challenge", "challenge": {"provider": "pow"}}
    mitigation = asking.own("POST", "mitigations", challenge)["mitigation_id"]
    clauses: list[dict[str, Any]] = []
    for number, field in enumerate(KEYED):
        entity = {"name": f"Keyed {number}", "key_fields": [field], "priority": 10 + number}
        entity_id = asking.own("POST", "entity-definitions", entity)["entity_definition_id"]
        window = {"duration_seconds": 3600, "threshold": 1, "measure": "distinct", "field": field}
        bound = {"entity_definition_id": entity_id, "mitigation_id": mitigation, "window": window}
        clauses.append({"name": f"clause {number}", **bound})
    clauses += [
        {"name": f"reading {number}", "expression": text} for number, text in enumerate(READING)
    ]
    clauses.append({"name": "all", "mitigation_id": mitigation})
    asking.own("POST", "policies", {"name": "Marked", "clauses": clauses})


def _event(place: Place, marker: str) -> dict[str, Any]:
    event = {"idempotency_key": secrets.token_hex(8), "fields": {"n": 1}, **place(marker)}
    request = {"method": "POST", "path": "/login", "client_ip": "192.0.2.1"}
    return {**event, "request": {**request, **event.get("request", {})}}


def _decide(asking: Asking, markers: Mapping[str, str]) -> None:
    key = {API_KEY_HEADER: asking.world.own.key}
    for name, place in PLACES.items():
        event = _event(place, markers[name])
        for path in ("runtime/mitigation", "beacon/event"):
            first = asking.send("POST", f"/api/v1/{path}", event, **key)
            assert first.status == 200, (name, first.content)
            again = asking.send("POST", f"/api/v1/{path}", event, **key)
            assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")
        refused = {**event, "request": {**event["request"], "method": 5}}
        assert asking.send("POST", "/api/v1/runtime/mitigation", refused, **key).status == 422


def _ask(asking: Asking, markers: Mapping[str, str]) -> None:
    """Every route that reads, with every id there is; and those that try an event."""
    made = asking.world
    since = datetime.now(UTC) - timedelta(hours=1)
    period = {"since": since.isoformat(), "until": (since + timedelta(hours=2)).isoformat()}
    job = asking.own(
        "POST", "replay-jobs", {**period, "definitions": asking.own("GET", "definitions")}
    )
    job_path = f"replay-jobs/{job['replay_job_id']}"
    decisions = _all(asking, "decisions?limit=50")
    assert len(decisions) >= 2 * len(PLACES)
    for each in decisions:
        asking.own("GET", f"decisions/{each['decision_id']}")
    for each in decisions[::2]:  # one of the two of a place
        asking.own("GET", f"decisions/{each['decision_id']}/explain")
    entities = {entity for each in decisions for entity in each["entity_ids"]}
    assert len(entities) > len(KEYED)
    for entity in entities:
        asking.own("GET", f"entities/{entity}/state")
    policy = next(each for each in _all(asking, "policies?limit=100") if each["name"] == "Marked")
    definitions = _all(asking, "entity-definitions?limit=100")
    keyed = next(each for each in definitions if each["name"] == "Keyed 0")
    for name, place in PLACES.items():
        event = _event(place, markers[name])
        asking.own("POST", f"policies/{policy['policy_id']}/simulate", {"event": event})
        wanted = {
            "entity_definition_id": keyed["entity_definition_id"],
            "key": [f"Bearer {markers[name]}"],
        }
        found = asking.own("POST", "entities/find", wanted)
        if name == "secret: authorization":
            assert found["entity_id"] in entities
    _all(asking, "active-mitigations?limit=50")
    deadline = time.monotonic() + WAIT_SECONDS
    while asking.own("GET", job_path)["status"] in ("queued", "running"):
        assert time.monotonic() < deadline
    _all(asking, f"{job_path}/differences?limit=50")
    ids = {**made.own.ids, "policy_id": policy["policy_id"], "replay_job_id": job["replay_job_id"]}
    for route in ROUTES:
        if route.method == "GET" and route.credential is not Credential.API_KEY:
            for role in ("Owner", "Viewer", "Analyst"):
                path = route.paths[0].format_map(ids)
                headers = made.people[role].bearer()
                answer = made.connection.send("GET", path, headers)
                asking.seen.append((f"as {role} GET {path}", answer.content))


def _all(asking: Asking, path: str) -> list[Any]:
    """Every page of a list."""
    found: list[Any] = []
    following: str | None = f"{asking.path}/{path}"
    while following:
        answer = asking.send("GET", following)
        assert answer.status == 200, answer.content
        found += answer.json()
        link = answer.headers.get("link", "")
        following = link.partition("<")[2].partition(">")[0] if 'rel="next"' in link else None
    return found


def _files(directory: Path) -> list[Path]:
    return [each for each in directory.rglob("*") if each.is_file()]


def _unpacked(directory: Path) -> list[tuple[str, bytes]]:
    """The unpacked rows of the database files."""
    texts = []
    for file in _files(directory):
        if not file.read_bytes().startswith(b"SQLite format 3"):
            continue
        with closing(dbapi2.connect(file)) as connection:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            for (table,) in tables.fetchall():
                for row in connection.execute(f'SELECT * FROM "{table}"'):
                    texts += [(f"table {table}", _plain(value)) for value in row]
    return texts


def _plain(value: Any) -> bytes:
    if isinstance(value, bytes) and value.startswith(b"\x28\xb5\x2f\xfd"):
        try:
            return ZstdDecompressor().decompress(value)
        except ZstdError:
            return value  # A change of definitions, against those before it.
    return value if isinstance(value, bytes) else str(value).encode()


@pytest.mark.parametrize("place", HIDDEN)
def test_a_secret_is_nowhere_to_be_found(seen: Seen, place: str) -> None:
    """A secret is in no answer, log line, metric or file."""
    assert seen.slots_of(seen.markers[f"secret: {place}"]) == []


@pytest.mark.parametrize("place", CLEAR)
def test_what_is_no_secret_is_recorded(seen: Seen, place: str) -> None:
    """A value that isn't a secret is recorded, so the search would find a secret."""
    found = seen.slots_of(seen.markers[f"clear: {place}"])
    assert any("/decisions/" in where for where in found), found
    assert "table decision_log" in found


@pytest.mark.parametrize("place", CLEAR)
def test_nothing_of_an_event_is_in_the_log_of_the_process_or_the_metrics(
    seen: Seen, place: str
) -> None:
    """The process log and the metrics hold nothing of an event."""
    found = seen.slots_of(seen.markers[f"clear: {place}"])
    assert not [where for where in found if where == "the log" or "/metrics" in where]


@pytest.mark.parametrize("place", CLEAR)
def test_a_viewer_sees_no_example(seen: Seen, place: str) -> None:
    """A Viewer sees no example of traffic in the catalog."""
    marker = seen.markers[f"clear: {place}"].encode()
    answers = [text for where, text in seen.texts if where.startswith("as Viewer")]
    assert answers
    assert not any(marker in text for text in answers)
