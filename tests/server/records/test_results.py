"""Results: counts by policy and by steps of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
from tests.server.deciding import DEFINITIONS, Deciding, Service, made

NOW = datetime.now(UTC)


def around_now() -> dict[str, str]:
    """A period of two hours."""
    return {
        "since": (NOW - timedelta(hours=1)).isoformat(),
        "until": (NOW + timedelta(hours=1)).isoformat(),
    }


@pytest.fixture
def busy(shop: Deciding) -> list[dict[str, Any]]:
    """Four blocked or nearly, one watched, one with a failing expression."""
    return [
        *(shop.decide("/login") for _ in range(4)),
        shop.decide("/watched", "192.0.2.8"),
        shop.decide("/", "192.0.2.9", fields={"count": "no number"}),
    ]


TWICE = {
    **DEFINITIONS,
    "policies": [
        {
            "name": "Ask",
            "clauses": [
                {"name": "first", "mitigation": "prove"},
                {"name": "second", "mitigation": "refuse"},
            ],
        },
        {"name": "Stop", "priority": 200, "clauses": [{"name": "any", "mitigation": "refuse"}]},
        {"name": "Look", "priority": 300, "clauses": [{"name": "any"}]},
    ],
}
"""Every event is challenged; two policies would block it as well, and one looks on."""


def test_outcomes_of_policies_add_up_to_what_was_answered(service: Service) -> None:
    """An answer counts once, as it was given, for the policy that gave it."""
    shop = service.tenant(TWICE)
    answers = [shop.decide()["action"]["type"] for _ in range(3)]
    results = {each["slug"]: each for each in shop.get("results/policies")}
    assert answers == ["challenge"] * 3
    names = ("total", "allow", "challenge", "block", "by_others", "monitor")
    assert {slug: [each[name] for name in names] for slug, each in results.items()} == {
        "ask": [3, 0, 3, 0, 0, 0],
        "stop": [3, 0, 0, 0, 3, 0],
        "look": [3, 0, 0, 0, 3, 3],
    }
    ask = shop.ids("policies")["ask"]
    assert len(shop.get("decisions", answered_by=ask, action="challenge")) == 3
    assert shop.get("decisions", answered_by=shop.ids("policies")["stop"]) == []


@pytest.mark.parametrize(("clock", "is_now"), [({}, False), ({"time": "received"}, True)])
def test_a_period_means_the_same_time_everywhere(
    service: Service, clock: dict[str, str], is_now: bool
) -> None:
    """An event of last year is in the period it happened in, and with ``time=received`` in that in
    which it arrived: in results, timeline and search alike."""
    shop = service.tenant(TWICE)
    then = NOW - timedelta(days=365)
    decision = shop.decide(observed_at=then.isoformat())
    policy = shop.ids("policies")["ask"]
    hour = timedelta(hours=1)
    periods = {
        at: {"since": (at - hour).isoformat(), "until": (at + hour).isoformat(), **clock}
        for at in (then, NOW)
    }
    for at, period in periods.items():
        expected = int((at == NOW) is is_now)
        found = [each["decision_id"] for each in shop.get("decisions", **period)]
        steps = shop.get("results/timeline", **period)
        one = shop.get(f"results/policies/{policy}", **period)
        assert found == [decision["decision_id"]] * expected
        assert sum(each["challenge"] for each in steps) == expected
        assert (one["challenge"], len(one["recent_decisions"])) == (expected, expected)
        by_policy = {each["slug"]: each for each in shop.get("results/policies", **period)}
        assert by_policy["ask"]["challenge"] == expected
        if expected:
            name = "received_at" if is_now else "observed_at"
            assert one["last_match_at"] == shop.get("decisions")[0][name]


def test_policies_are_counted(shop: Deciding, busy: list[dict[str, Any]]) -> None:
    """Every policy, also one that never fired."""
    made(
        shop.by("Owner").post(
            f"{shop.path}/policies", {"name": "Quiet", "clauses": [{"expression": "false"}]}
        )
    )
    results = {each["slug"]: each for each in shop.get("results/policies", role="Viewer")}
    assert set(results) == {"stuffing", "watch", "quiet"}
    stuffing = results["stuffing"]
    assert (stuffing["total"], stuffing["block"], stuffing["monitor"]) == (2, 2, 0)
    assert (results["watch"]["total"], results["watch"]["monitor"]) == (1, 1)
    assert (results["quiet"]["total"], results["quiet"]["last_match_at"]) == (0, None)
    assert (
        stuffing["last_match_at"] == shop.get(f"decisions/{busy[3]['decision_id']}")["observed_at"]
    )


def test_a_deleted_policy_keeps_its_counts(shop: Deciding, busy: list[dict[str, Any]]) -> None:
    """A deleted policy keeps its counts under its id, without a name."""
    assert len(busy) == 6
    policy = shop.ids("policies")["watch"]
    made(shop.by("Owner").delete(f"{shop.path}/policies/{policy}"))
    results = {each["policy_id"]: each for each in shop.get("results/policies")}
    assert (results[policy]["name"], results[policy]["total"]) == (None, 1)
    assert shop.get(f"results/policies/{policy}")["total"] == 1


def test_pages_of_results_join(shop: Deciding) -> None:
    """Each page of results leads to the next."""
    whole = shop.get("results/policies")
    answer = shop.by("Owner").get(f"{shop.path}/results/policies", params={"limit": 1})
    first = made(answer)
    second = made(shop.by("Owner").get(answer.links["next"]["url"]))
    assert first + second == whole


def test_one_policy_has_its_newest_decisions(shop: Deciding, busy: list[dict[str, Any]]) -> None:
    """The results of a policy list its newest decisions first."""
    policy = shop.ids("policies")["stuffing"]
    result = shop.get(f"results/policies/{policy}", role="Viewer", **around_now())
    recent = [each["decision_id"] for each in result["recent_decisions"]]
    assert recent == [busy[3]["decision_id"], busy[2]["decision_id"]]
    assert result["total"] == 2
    past = shop.get(f"results/policies/{policy}", until="2020-01-01T00:00:00Z")
    assert (past["total"], past["recent_decisions"]) == (0, [])
    missing = shop.by("Owner").get(f"{shop.path}/results/policies/{uuid4()}")
    assert missing.status_code == 404


def test_the_timeline_counts_steps(shop: Deciding, busy: list[dict[str, Any]]) -> None:
    """Every step of the period, empty ones too; of all decisions, or of a policy."""
    assert len(busy) == 6
    period = {**around_now(), "step": 600}
    steps = shop.get("results/timeline", role="Viewer", **period)
    assert len(steps) in (12, 13)
    starts = [datetime.fromisoformat(each["start"]) for each in steps]
    assert {later - earlier for earlier, later in pairwise(starts)} == {timedelta(seconds=600)}
    sums = {
        name: sum(each[name] for each in steps)
        for name in ("total", "allow", "challenge", "block", "monitor", "errors")
    }
    assert sums == {
        "total": 6,
        "allow": 4,
        "challenge": 0,
        "block": 2,
        "monitor": 1,
        "errors": 1,
    }
    watch = shop.ids("policies")["watch"]
    assert sum(e["total"] for e in shop.get("results/timeline", policy_id=watch, **period)) == 1
    assert len(shop.get("results/timeline")) in range(96, 150)


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"step": 61}, "step"),
        ({"step": 59}, "step"),
        ({"since": "2000-01-01T00:00:00Z", "step": 60}, "step"),
        ({"until": "soon"}, "until"),
        ({"time": "arrived"}, "time"),
    ],
)
def test_a_wrong_period_is_refused(shop: Deciding, query: dict[str, Any], parameter: str) -> None:
    """Steps are whole minutes, and not too many."""
    answer = shop.by("Owner").get(f"{shop.path}/results/timeline", params=query)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["parameter"] == parameter


def test_a_period_that_ends_before_it_begins_has_no_steps(shop: Deciding) -> None:
    """A period that ends before it begins has no steps."""
    assert (
        shop.get("results/timeline", since="2026-01-02T00:00:00Z", until="2026-01-01T00:00:00Z")
        == []
    )
