"""The whole service of a tenant, by a worker that owns it and by one that does not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from sqlalchemy import select
from tests.server.challenges import gate as gates
from tests.server.challenges.gate import Gate
from tests.server.deciding import DEFINITIONS, Deciding, Service, deciding, made
from tests.server.partitions.workers import through
from tests.server.records.test_entities import entity, lift
from tests.server.records.test_replay_jobs import period, replay, stricter

from tidegate_server.stores.rows.connections import reading_engine
from tidegate_server.stores.rows.tables import tenants

WAIT_SECONDS = 60.0
refuse, prove = DEFINITIONS["mitigations"]
ALL = {
    **DEFINITIONS,
    "mitigations": [refuse, {**prove, "challenge": {"difficulty": 1}}],
    "policies": [*DEFINITIONS["policies"], gates.DEFINITIONS["policies"][0]],
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[Service]:
    """A service of two workers."""
    with deciding(tmp_path_factory.mktemp("elsewhere"), server_workers="2") as found:
        yield found


@pytest.fixture(params=[0, 1], ids=["by-another", "by-its-owner"])
def shop(service: Service, request: pytest.FixtureRequest) -> Deciding:
    """A new tenant of partition 1, all calls of which one worker accepts."""
    # Tenants are placed evenly, so one of the next two is in partition 1.
    while True:
        tenant = service.tenant(ALL)
        engine = reading_engine(service.directory / "tidegate.db")
        with engine.connect() as connection:
            rows = connection.execute(select(tenants.c.tenant_id, tenants.c.partition_id)).all()
        engine.dispose()
        if {str(each): partition for each, partition in rows}[tenant.tenant_id] == 1:
            return _ready(through(tenant, request.param))


def _ready(shop: Deciding) -> Deciding:
    """The tenant once it decides: the first compilation may take longer than its change waits."""
    end = time.monotonic() + WAIT_SECONDS
    while (status := shop.get("status"))["active_revision"] != status["revision"]:
        assert time.monotonic() < end, status
        time.sleep(0.02)
    return shop


def test_decisions_are_found_counted_and_explained(shop: Deciding) -> None:
    """The log is read where it is: lists, search, one decision, its explanation, results."""
    decisions = [*(shop.decide("/login") for _ in range(4)), shop.decide("/watched", "192.0.2.8")]
    ids = [each["decision_id"] for each in decisions]
    assert [each["decision_id"] for each in shop.get("decisions")] == ids[::-1]
    analyst = shop.by("Analyst")
    found = made(analyst.post(f"{shop.path}/decisions/search", {**period(), "action": "block"}))
    assert [each["decision_id"] for each in found["decisions"]] == ids[3:1:-1]
    one = shop.get(f"decisions/{ids[2]}")
    assert one["action"]["type"] == decisions[2]["action"]["type"] == "block"
    explained = shop.get(f"decisions/{ids[2]}/explain")
    assert (explained["reproduced"], explained["earlier_decisions"]) == (True, 2)
    assert explained["decision"] == explained["recorded"]
    results = {each["slug"]: each["block"] for each in shop.get("results/policies", **period())}
    assert results == {"stuffing": 2, "watch": 0, "gate": 0}
    timeline = shop.get("results/timeline", step=3600, **period())
    assert sum(each["block"] for each in timeline) == 2
    assert sum(each["allow"] for each in timeline) == 3
    wanted = {**period(), "fields": ["request.path"]}
    assert made(analyst.post(f"{shop.path}/traffic/facets", wanted))["matched"] == 5


def test_a_replay_has_the_events_of_the_partition(shop: Deciding) -> None:
    """A replay with a lower threshold finds the decision that comes out otherwise."""
    for _ in range(4):
        shop.decide("/login")
    job = replay(shop, definitions=stricter(2))
    assert (job["status"], job["error"]) == ("done", None)
    assert job["result"]["recorded"] == {"allow": 2, "challenge": 0, "block": 2}
    assert job["result"]["replayed"] == {"allow": 1, "challenge": 0, "block": 3}
    assert len(shop.get(f"replay-jobs/{job['replay_job_id']}/differences")) == 1


def test_an_entity_is_seen_and_its_mitigation_lifted(shop: Deciding) -> None:
    """The state that decides is the one that is shown, and a lift counts for the next decision."""
    for _ in range(3):
        shop.decide("/login")
    found = entity(shop)
    state = shop.get(f"entities/{found}/state")
    assert (state["event_count"], state["key"]) == (3, ["192.0.2.7"])
    top = shop.get("entities/top", **period())["entities"]
    assert [each["entity_id"] for each in top] == [found]
    assert shop.get("active-mitigations") == state["active_mitigations"] != []
    assert shop.decide("/")["action"]["type"] == "block"
    assert lift(shop, found) == 204
    assert shop.decide("/")["action"]["type"] == "allow"
    assert shop.get("active-mitigations") == []
    assert shop.get("audit", limit=1)[0]["action"] == "lift"


def test_a_challenge_is_opened_and_solved(shop: Deciding) -> None:
    """Page, solution and the proof that the next request shows are the owner's work."""
    settings = {"challenge_wait_seconds": 1, "return_url_origins": ["https://shop.example"]}
    made(shop.by("Owner").patch(shop.path, {"settings": settings}))
    gate = Gate(shop)
    path = gate.challenged("192.0.2.10")
    answer = gate.http.post(f"{path}/solution", json={"solution": gate.solution(path)})
    assert answer.status_code == 303, answer.text
    given = parse_qs(urlsplit(answer.headers["location"]).query)
    (proof,) = given["service_challenge_proof"]
    assert gate.is_valid(proof)
    decision = gate.shown(proof, "/secret", "192.0.2.10")
    assert (decision["action"]["type"], decision["reason"]) == ("allow", "challenge-proof")
    assert len(shop.get("passes")) == 1
    assert gate.http.get(path).json()["code"] == "challenge-solved"
    waited = gate.opened("192.0.2.11")
    assert gate.spend(waited).status_code == 303


def test_a_daemon_follows(shop: Deciding) -> None:
    """A snapshot, then the changes after it: a Block that is set, and definitions."""
    wanted = {"name": "site", "can_sync": True, "rate_limit_per_minute": 600_000}
    key = made(shop.by("Owner").post(f"{shop.path}/api-keys", wanted))["key"]

    def sync(method: str, place: str, **given: Any) -> httpx2.Response:
        headers = {"x-service-api-key": key}
        return shop.service.http.request(method, f"/api/v1/sync/{place}", headers=headers, **given)

    held = made(sync("GET", "snapshot"))
    assert held["revision"] == shop.get("status")["revision"]
    for _ in range(3):
        shop.decide("/login")
    changed = made(sync("GET", f"changes?after={held['sequence']}&wait=30"))
    assert [each["kind"] for each in changed["items"]] == ["mitigations"]
    document = {**ALL, "tenant": {"name": shop.get("")["name"], "tenant_id": shop.tenant_id}}
    document["policies"] = document["policies"][1:]
    made(shop.by("Owner").request("PUT", f"{shop.path}/definitions", json=document))
    changed = made(sync("GET", f"changes?after={changed['sequence']}&wait=30"))
    assert [each["kind"] for each in changed["items"]] == ["definitions"]
    assert made(sync("GET", "snapshot"))["revision"] > held["revision"]


def test_the_next_decision_knows_what_was_written(shop: Deciding) -> None:
    """Definitions, keys and lists count from the answer on, whoever took the change."""
    owner = shop.by("Owner")
    for number in range(5):
        policy = {
            "name": f"Close {number}",
            "expression": f'request.path == "/closed/{number}"',
            "clauses": [{"name": "any", "mitigation": "refuse"}],
        }
        assert shop.decide(f"/closed/{number}")["action"]["type"] == "allow"
        document = {**ALL, "policies": [*ALL["policies"], policy]}
        document["tenant"] = {"name": shop.get("")["name"], "tenant_id": shop.tenant_id}
        made(owner.request("PUT", f"{shop.path}/definitions", json=document))
        closed = shop.decide(f"/closed/{number}", f"192.0.2.{100 + number}")
        assert closed["action"]["type"] == "block"
    new = made(owner.post(f"{shop.path}/api-keys", {"name": "new"}))
    body = {"request": {"method": "GET", "path": "/", "client_ip": "192.0.2.9"}}

    def status() -> int:
        headers = {"x-service-api-key": new["key"]}
        http = shop.service.http
        return http.post("/api/v1/runtime/mitigation", json=body, headers=headers).status_code

    assert status() == 200
    assert owner.delete(f"{shop.path}/api-keys/{new['api_key_id']}").is_success
    assert status() == 401
