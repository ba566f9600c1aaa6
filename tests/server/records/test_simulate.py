"""A policy tried on one event: what would be decided, with nothing recorded."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from tests.server.deciding import Deciding, made

LOGIN = {"request": {"path": "/login", "client_ip": "192.0.2.7"}}


def simulate(shop: Deciding, policy: str, body: Any, role: str = "Analyst") -> Any:
    policy_id = shop.ids("policies").get(policy, policy)
    return shop.by(role).post(f"{shop.path}/policies/{policy_id}/simulate", body)


def test_a_saved_policy_is_tried_on_the_present_state(shop: Deciding) -> None:
    """Two logins are counted: a third would be blocked.  Trying it counts nothing."""
    for _ in range(2):
        shop.decide("/login")
    for _ in range(2):
        result = made(simulate(shop, "stuffing", {"event": LOGIN}))
        assert result["fired"]
        assert result["decision"]["action"]["type"] == "block"
        clause = result["trace"]["policies"][0]["clauses"][0]
        assert clause["window"]["value"] == 3
        assert "three" in result["text"]
    assert len(shop.get("decisions")) == 2
    assert shop.get("active-mitigations") == []


def test_a_draft_takes_the_place_of_the_policy(shop: Deciding) -> None:
    """A draft decides with its own clauses, by ids; the saved policy stays."""
    draft = {
        "name": "Stuffing",
        "status": "draft",
        "clauses": [
            {
                "name": "at once",
                "action_ids": [shop.ids("actions")["login"]],
                "mitigation_id": shop.ids("mitigations")["prove"],
            }
        ],
    }
    result = made(simulate(shop, "stuffing", {"event": LOGIN, "policy": draft}))
    assert result["decision"]["action"]["type"] == "challenge"
    assert result["decision"]["clause"] == "at once"
    assert not made(simulate(shop, "stuffing", {"event": LOGIN}))["fired"]


def test_a_policy_saved_as_a_draft_is_tried_as_if_it_decided(shop: Deciding) -> None:
    """A policy saved as a draft is tried as if it were active."""
    policy = {"name": "Sketch", "status": "draft", "enabled": False, "clauses": [{"name": "all"}]}
    made(shop.by("Owner").post(f"{shop.path}/policies", policy))
    assert made(simulate(shop, "sketch", {"event": {}}))["fired"]


def test_a_number_of_more_than_64_bits_is_one(shop: Deciding) -> None:
    """A number of more than 64 bits is accepted, as in an event that is sent."""
    event = {"fields": {"a": 2**80}, "more": -(2**70)}
    assert made(simulate(shop, "stuffing", {"event": event}))["trace"]["policies"]


@pytest.mark.parametrize("number", ["1e2", "1.10", "-0"])
def test_a_number_is_the_text_it_was_written_as(shop: Deciding, number: str) -> None:
    """A number keeps the text it was written as, as in an event that is sent."""
    body = """{"event": {"fields": {"n": NUMBER}},
        "policy": {"name": "x", "clauses": [{"expression": "fields.n == 'NUMBER'"}]}}"""
    answer = shop.by("Analyst").post(
        f"{shop.path}/policies/{shop.ids('policies')['stuffing']}/simulate",
        content=body.replace("NUMBER", number),
        headers={"content-type": "application/json"},
    )
    assert made(answer)["fired"]


@pytest.mark.parametrize(
    ("body", "code", "pointer"),
    [
        ({"event": {"request": {"path": 1}}}, "invalid-event", "/event/request/path"),
        (
            {"event": {}, "policy": {"name": "x", "clauses": []}},
            "invalid-request",
            "/policy/clauses",
        ),
        (
            {"event": {}, "policy": {"name": "x", "clauses": [{"expression": "nothing"}]}},
            "invalid-definitions",
            "/policy/clauses/0/expression",
        ),
        (
            {"event": {}, "policy": {"name": "x", "clauses": [{"action_ids": [str(uuid4())]}]}},
            "invalid-request",
            "/policy/clauses/0/action_ids/0",
        ),
        ({}, "invalid-request", ""),
    ],
)
def test_what_is_wrong_is_pointed_at(shop: Deciding, body: Any, code: str, pointer: str) -> None:
    """A fault in the event or the draft has a pointer into the body."""
    answer = simulate(shop, "stuffing", body)
    assert answer.status_code == 422
    assert answer.json()["code"] == code
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_there_must_be_such_a_policy(shop: Deciding) -> None:
    """404 for one that is not there, 403 for those who may not try."""
    assert simulate(shop, str(uuid4()), {"event": {}}).status_code == 404
    assert simulate(shop, "stuffing", {"event": {}}, "Viewer").status_code == 403
