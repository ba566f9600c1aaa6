"""The answer to a change says whether the new definitions decide."""

from __future__ import annotations

import threading
import time
from typing import Any

import httpx2
from tests.server.deciding import DEFINITIONS, Deciding, Service, made

RULES = 300
SENDERS = 2


def large(path: str) -> dict[str, Any]:
    """Definitions with many policies, of which the first blocks a path."""
    refuse = {"name": "Refuse", "mode": "Block", "ttl_seconds": 0}
    policies = [
        {
            "name": f"P{number}",
            "expression": f'request.path == "{path}/{number}" || fields["a"] == "{number}"',
            "clauses": [{"name": "c", "mitigation": "refuse"}],
        }
        for number in range(RULES)
    ]
    return {"apiVersion": "tidegate/v1", "mitigations": [refuse], "policies": policies}


def put(shop: Deciding, definitions: dict[str, Any]) -> tuple[dict[str, Any], httpx2.Response]:
    name = shop.get("")["name"]
    document = {**definitions, "tenant": {"tenant_id": shop.tenant_id, "name": name}}
    answer = shop.by("Owner").request("PUT", f"{shop.path}/definitions", json=document)
    return made(answer), answer


def test_after_the_answer_of_a_change_under_load_the_new_definitions_decide(
    service: Service, shop: Deciding
) -> None:
    """However large the set is, and however busy the service: an event that is sent after an answer
    with `active` is decided by it."""
    stop = threading.Event()

    def send() -> None:
        while not stop.is_set():
            shop.decide("/busy")

    senders = [threading.Thread(target=send) for _ in range(SENDERS)]
    for each in senders:
        each.start()
    try:
        for number in range(2):
            path = f"/v{number}"
            done, _ = put(shop, large(path))
            if done["active"]:
                decided = shop.decide(f"{path}/{RULES - 1}")
                assert decided["action"]["type"] == "block", number
            assert done["status"] == f"/api/v1/{shop.path}/status"
            deadline = time.monotonic() + 60
            while shop.get("status")["active_revision"] != done["revision"]:
                assert time.monotonic() < deadline
    finally:
        stop.set()
        for each in senders:
            each.join()


def test_a_dry_run_is_not_active(shop: Deciding) -> None:
    """The changes of a dry run decide nothing."""
    document = {**DEFINITIONS, "tenant": {"tenant_id": shop.tenant_id, "name": "Shop"}}
    where = f"{shop.path}/definitions?dry_run=true"
    assert made(shop.by("Owner").request("PUT", where, json=document))["active"] is False
