"""Decisions that a daemon forwards: odd ones are refused, and end nothing else."""

from __future__ import annotations

import time
from typing import Any

import orjson
import pytest
from tests.server.deciding import Deciding, made
from uuid_utils import uuid7

PASS = "0190a5c4-0000-7000-8000-000000000001"
NETWORK = ["move", PASS, "1", "2", "no network"]
LONG = 10**20
CHALLENGE = {"provider": "altcha", "difficulty": 1, "return_url": None}
ODD: dict[str, dict[str, Any]] = {
    "a revision of 20 digits": {"revision": LONG},
    "a duration of 20 digits": {"duration_us": LONG},
    "an answer with 20 digits": {"answer": {"active_mitigation": {"a": LONG}}},
    "a window of 20 digits": {"fired": [{"window": {"value": LONG, "threshold": 1}}]},
    "a time of 20 digits": {"observed_at": LONG},
    "a key of 30 digits": {"entities": [{"key": [10**30]}]},
    "an id that is not one": {"entity_ids": "-" * 36},
    "half a context": {"sealed": "abcde"},
    "a challenge of nothing": {"action": {"type": "challenge", "challenge": {}}},
    "an unknown effect": {"effects": [["other"]]},
    "an entity twice": {"effects": [["event", "address", ["192.0.2.1"], "1", [], []]] * 2},
    "effects of another kind": {"effects": {"revoke": 1}},
    "a pass of another kind": {"effects": [NETWORK]},
    "a number without end": {"effects": ["revoke", orjson.Fragment("1e999")]},
    "an event with a member twice": {"event": orjson.Fragment('{"a":1,"a":2}')},
}


def item(shop: Deciding, number: int, **odd: Any) -> dict[str, Any]:
    """A decision on its way, with an odd member."""
    name, at = str(uuid7()), time.time_ns()
    entity = {"definition": "address", "entity_id": name, "key": ["192.0.2.1"]}
    fired = {
        "policy": "p", "clause": "c", "mitigation": None, "mode": "Monitor", "entity_id": None,
        "window": None, "active": False,
    }  # fmt: skip
    record = {
        "action": odd.get("action", {"type": "allow"}),
        "reason": "no-match",
        "policy": None,
        "clause": None,
        "mitigation": None,
        "entities": [{**entity, **each} for each in odd.get("entities", ())],
        "matched_actions": [],
        "fired": [{**fired, **each} for each in odd.get("fired", ())],
        "errors": {},
    }
    line = {
        "decision_id": name,
        "source": None,
        "endpoint": "runtime",
        "revision": odd.get("revision", 1),
        "duration_us": odd.get("duration_us", 1),
        "answer": odd.get("answer", {"action": {"type": "allow"}}),
        "record": record,
        "effects": odd.get("effects", []),
        "event": odd.get("event", {"request": {"path": "/"}}),
        "sealed": odd.get("sealed"),
    }
    index = [shop.tenant_id, name, at, None, None, None, odd.get("observed_at", at)]
    index += ["allow", "no-match", None, "/", odd.get("entity_ids", ""), [], []]
    return {"number": number, "line": line, "index": index}


def dumps(value: Any) -> bytes:
    """JSON with whole numbers of any length."""
    if isinstance(value, orjson.Fragment):
        return orjson.dumps(value)
    if isinstance(value, dict):
        return b"{%b}" % b",".join(b"%b:%b" % (orjson.dumps(k), dumps(v)) for k, v in value.items())
    if isinstance(value, list | tuple):
        return b"[%b]" % b",".join(map(dumps, value))
    is_long = isinstance(value, int) and not isinstance(value, bool)
    return str(value).encode() if is_long else orjson.dumps(value)


@pytest.mark.usefixtures("process")
def test_odd_decisions_are_refused_and_the_others_recorded(shop: Deciding) -> None:
    """Each is named with its number; pages of decisions are as before."""
    key = made(
        shop.by("Owner").post(f"{shop.path}/api-keys", {"name": "daemon", "can_sync": True})
    )["key"]
    items = [item(shop, number, **odd) for number, odd in enumerate(ODD.values(), 1)]
    items.append(item(shop, len(items) + 1, event={"request": {"path": "/"}, "n": LONG}))
    batch = {"daemon_id": str(uuid7()), "spool_id": str(uuid7()), "events": items}
    headers = {"x-service-api-key": key, "content-type": "application/json"}
    answer = shop.service.http.post("/api/v1/sync/events", content=dumps(batch), headers=headers)
    taken = made(answer)
    refused = {each["number"] for each in taken["refused"]}
    names = dict(enumerate(ODD, 1))
    assert {names[number] for number in refused} == set(ODD)
    assert (taken["acknowledged"], taken["recorded"]) == (len(items), 1)
    (row,) = shop.get("decisions")
    assert row["damaged"] is False
    assert shop.get(f"decisions/{row['decision_id']}")["event"]["n"] == LONG
