"""The calls of an operator on call: status, series, lifting many, the audit of a time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.server.deciding import Deciding, made


@pytest.fixture
def blocked(shop: Deciding) -> Deciding:
    """Two addresses are under a mitigation, and one decision is watched."""
    for address in ("192.0.2.7", "192.0.2.8"):
        for _ in range(3):
            shop.decide("/login", address)
    shop.decide("/watched", "192.0.2.9")
    return shop


def series(shop: Deciding, **query: str) -> dict[str, int]:
    """The series of all steps together, since a step may end between two decisions."""
    sums: Counter[str] = Counter()
    for step in shop.get("results/timeline", **query):
        sums.update(step["series"])
    return dict(sums)


def lift(shop: Deciding, role: str = "Admin", **body: Any) -> Any:
    path = f"{shop.path}/active-mitigations/lift"
    return shop.by(role).post(path, {"reason": "a wrong rule", **body})


def test_mitigations_are_lifted_by_what_they_are(blocked: Deciding) -> None:
    """One call lifts those of a policy, clause, definition and mode, and says how many; the audit
    has its reason, and who is lifted is let through."""
    ids = blocked.ids("policies")
    for body in (
        {"mode": "Challenge"},
        {"clause": "other"},
        {"policy_id": ids["watch"]},
        {"entity_definition_id": blocked.ids("entity-definitions")["account"]},
    ):
        assert made(lift(blocked, **body)) == {"lifted": 0, "complete": True}
    assert len(blocked.get("active-mitigations")) == 2
    found = made(lift(blocked, policy_id=ids["stuffing"], mode="Block"))
    assert found == {"lifted": 2, "complete": True}
    assert blocked.get("active-mitigations") == []
    assert blocked.decide("/", "192.0.2.7")["action"]["type"] == "allow"
    (entry, *_) = blocked.get("audit", kind="active-mitigation")
    assert entry["after"]["reason"] == "a wrong rule"
    assert entry["after"]["lifted"] == 2
    assert lift(blocked, role="Analyst").status_code == 403
    assert lift(blocked, reason="").status_code == 422


def test_a_timeline_has_many_series_in_one_answer(blocked: Deciding) -> None:
    """Each step is split by action, by the policies that fired, by reason, or by API key."""
    ids = blocked.ids("policies")
    assert series(blocked, by="action") == {"allow": 5, "challenge": 0, "block": 2}
    assert series(blocked, by="policy") == {ids["stuffing"]: 2, ids["watch"]: 1}
    assert series(blocked, by="reason") == {"no-match": 5, "policy": 2}
    assert series(blocked, by="api_key") == {blocked.api_key_id: 7}
    assert series(blocked, by="reason", policy_id=ids["stuffing"]) == {"policy": 2}
    assert blocked.get("results/timeline")[0]["series"] is None


def test_the_status_says_what_decides_and_how_full_it_is(blocked: Deciding) -> None:
    """The status has readiness, revisions, entities remembered, and what is behind."""
    status = blocked.get("status", role="Analyst")
    assert (status["ready"], status["because"]) == (True, None)
    assert status["active_revision"] == status["revision"]
    assert 3 <= status["keys"] <= status["max_keys"]
    assert (status["evictions"], status["daemons"]) == (0, 0)
    assert status["waiting"] >= 0
    assert status["decisions_a_second"] >= 0


def test_the_audit_of_a_time(blocked: Deciding) -> None:
    """Entries are found from a time on, and before one."""
    newest = blocked.get("audit")[0]["at"]
    assert blocked.get("audit", until="2020-01-01T00:00:00Z") == []
    assert all(each["at"] >= newest for each in blocked.get("audit", since=newest))
    assert len(blocked.get("audit", since="2020-01-01T00:00:00Z")) == len(blocked.get("audit"))


def test_the_steps_of_an_explanation_have_their_places(blocked: Deciding) -> None:
    """Each step has its place in the text and the type of its value; what was not reached is
    there, too."""
    decision = blocked.decide("/", "192.0.2.10")
    trace = blocked.get(f"decisions/{decision['decision_id']}/explain")["trace"]
    many = next(each["expression"] for each in trace["actions"] if each["slug"] == "many")
    parts = {
        many["text"][each["start"] : each["end"]]: (each["type"], each["reached"])
        for each in many["steps"]
    }
    assert parts['fields["count"] != ""'] == ("bool", True)
    assert parts['int(fields["count"]) > 3'] == (None, False)
    assert parts['int(fields["count"])'] == (None, False)
