"""The service as a process: it starts, decides, changes, explains and ends."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from tests.faults.target import Target
from tests.service.service_process import Service, demonstration
from tests.waiting import wait_until

PAGES = {
    "/healthz": "ok",
    "/readyz": "",
    "/metrics": "tidegate_",
    "/openapi.json": '"openapi"',
    "/docs": "swagger",
    "/login": 'id="providers"',
}
"""Pages that anybody may read, and something that each says."""


def event(path: str, address: str = "203.0.113.5") -> dict[str, Any]:
    return {"request": {"method": "GET", "path": path, "client_ip": address, "user_agent": "x"}}


def decided(service: Service, path: str, address: str) -> Any:
    answer = service.hot("/runtime/mitigation", event(path, address))
    assert answer.status_code == 200, answer.text
    return answer.json()


def probed(service: Service, address: str) -> Any:
    """The third probe of an address within a minute, which the demonstration blocks."""
    return [decided(service, "/.env", address) for _ in range(3)][-1]


def tenant(service: Service, place: str = "") -> str:
    return f"/tenants/{service.tenant_id}{place}"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_there(service: Service, page: str) -> None:
    """Health, metrics, the interface's document and the pages for people answer by HTTP."""
    answer = httpx.get(service.base_url + page, timeout=30, follow_redirects=True)
    assert answer.status_code == 200
    assert PAGES[page] in answer.text


def test_a_request_is_allowed(service: Service) -> None:
    """An ordinary request has an action, a reason and the id of its record."""
    answer = decided(service, "/", "203.0.113.5")
    assert (answer["action"]["type"], answer["reason"]) == ("allow", "no-match")


def test_a_probe_is_blocked_and_so_is_what_follows(service: Service) -> None:
    """The demonstration's policy blocks an address; its next request meets the mitigation."""
    assert probed(service, "203.0.113.71")["action"]["type"] == "block"
    assert decided(service, "/", "203.0.113.71")["reason"] == "active-mitigation"


def test_a_beacon_is_recorded(service: Service) -> None:
    """One event and a batch of events are taken without an action."""
    assert service.hot("/beacon/event", event("/one")).status_code == 200
    assert service.hot("/beacon/events", [event("/two")] * 2).status_code == 200


def test_a_proxy_is_answered(service: Service) -> None:
    """The forward-auth question of a proxy is answered with the status that it passes on."""
    headers = {
        "x-service-api-key": service.api_key,
        "x-original-method": "GET",
        "x-original-url": "https://shop.example.test/a?q=%3Cscript%3E",
        "x-forwarded-for": "203.0.113.72",
    }
    answer = httpx.get(f"{service.base_url}/authz", headers=headers, timeout=30)
    assert (answer.status_code, answer.text) == (403, "Bad request.")


def test_a_call_without_a_key_is_refused(service: Service) -> None:
    """A hot call without a key is a 401 with a code."""
    answer = service.post("/runtime/mitigation", json.dumps(event("/")).encode(), {})
    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")


def test_bad_input_is_refused_with_its_place(service: Service) -> None:
    """A wrong type is a 422 that names the member."""
    answer = service.hot("/runtime/mitigation", {"request": {"path": 5}})
    assert answer.status_code == 422
    assert "/request/path" in answer.text


def test_a_decision_is_listed_and_explained(service: Service) -> None:
    """A decision is found by its path, and its explanation gives the same answer again."""
    decided(service, "/listed", "203.0.113.73")
    found = wait_until(
        lambda: service.control("GET", tenant(service, "/decisions?path=/listed")).json()
    )
    place = f"/decisions/{found[0]['decision_id']}/explain"
    explained = service.control("GET", tenant(service, place)).json()
    assert explained["reproduced"], explained


def test_a_new_policy_decides(service: Service) -> None:
    """A policy that is created blocks from then on, and is in the audit."""
    body = {"name": "Refuse smoke", "mode": "Block", "ttl_seconds": 0}
    mitigation = service.control("POST", tenant(service, "/mitigations"), body).json()
    policy = {
        "name": "Smoke",
        "status": "active",
        "expression": 'request.path == "/smoke"',
        "clauses": [{"name": "any", "mitigation_id": mitigation["mitigation_id"]}],
    }
    made = service.control("POST", tenant(service, "/policies"), policy)
    assert made.status_code == 201, made.text
    wait_until(lambda: decided(service, "/smoke", "203.0.113.74")["action"]["type"] == "block")
    audit = service.control("GET", tenant(service, "/audit?limit=5")).json()
    assert made.json()["policy_id"] in json.dumps(audit)


def test_a_kill_loses_nothing(smoke: None, tmp_path: Path) -> None:
    """After `kill -9`, an acknowledged decision is there, and a window goes on where it was."""
    target = Target.make(tmp_path / "data", tmp_path / "log")
    headers = {"x-service-api-key": target.api_key}
    asked = {**event("/kept"), "idempotency_key": "smoke"}

    def ask() -> Any:
        url = f"{target.base_url}/api/v1/runtime/mitigation"
        answer = httpx.post(url, json=asked, headers=headers, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.json()

    before = ask()
    assert target.end(signal.SIGKILL) == -signal.SIGKILL
    target.start()
    try:
        assert ask() == before
        found = target.control("GET", f"{target.tenant}/decisions/{before['decision_id']}")
        assert found.status_code == 200
    finally:
        assert target.end(signal.SIGTERM) == 0


def test_two_workers_decide_as_one(smoke: None, tmp_path: Path) -> None:
    """Whichever worker takes a connection, the third request of an address is blocked."""
    log = tmp_path / "log"
    with demonstration(log, "--server-workers", "2") as service:
        address = "203.0.113.75"
        assert probed(service, address)["action"]["type"] == "block"
        assert [decided(service, "/", address)["action"]["type"] for _ in range(6)] == ["block"] * 6
    assert service.process.returncode == 0
    assert '"level":"error"' not in log.read_text()


def test_a_stop_is_orderly(smoke: None, tmp_path: Path) -> None:
    """SIGTERM ends the service with 0 and without an error in its log."""
    log = tmp_path / "log"
    with demonstration(log) as service:
        decided(service, "/", "203.0.113.76")
    assert service.process.returncode == 0
    assert '"level":"error"' not in log.read_text()
