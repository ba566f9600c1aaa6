"""Windows against the whole log of events, on both engines."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import attrs
from building import ADDRESS, SECOND, START, Build, event, policy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared_data import shared_path, size

SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@attrs.frozen
class Seen:
    at: int
    value: str


@attrs.frozen
class Log:
    """The definition of a window with nothing forgotten: every event, in order of arrival."""

    duration: int
    threshold: int
    distinct: bool

    def values(self, events: list[Seen]) -> Iterator[int]:
        """The content of the window after each event, at most the threshold."""
        counted: list[Seen] = []
        for each in events:
            newest = max([each.at, *(other.at for other in counted)])
            counted.append(Seen(newest, each.value))
            inside = [other for other in counted if other.at > newest - self.duration]
            held = {other.value for other in inside} if self.distinct else inside
            yield min(len(held), self.threshold)


events = st.lists(
    st.builds(Seen, st.integers(0, 40), st.sampled_from(["a", "b", "c", "d", "e"])), max_size=40
)
logs = st.builds(Log, st.integers(1, 15), st.integers(1, 5), st.booleans())


@SETTINGS
@given(log=logs, seen=events)
def test_a_window_is_exact(build: Build, log: Log, seen: list[Seen]) -> None:
    """However events come, late ones too, a window holds what the whole log says it should."""
    window = {"duration_seconds": log.duration, "threshold": log.threshold}
    if log.distinct:
        window |= {"measure": "distinct", "field": 'fields["v"]'}
    engine = build(
        entities=[ADDRESS],
        policies=[
            policy(
                {"name": "window", "entity": "address", "window": window},
                # Reached always: tells what the same window holds below its threshold.
                {"name": "all", "entity": "address", "window": {**window, "threshold": 1}},
            )
        ],
    )
    for each, value in zip(seen, log.values(seen), strict=True):
        decision = engine.decide(event(at=each.at, fields={"v": each.value}), START)
        fired = {one.clause: one.window for one in decision.fired}
        assert ("window" in fired) == (value == log.threshold)
        if "window" in fired:
            assert fired["window"] is not None
            assert fired["window"].value == value


def test_the_edge_of_a_window_is_outside(build: Build) -> None:
    """An event exactly the duration ago no longer counts; one a nanosecond younger does."""
    engine = build(
        entities=[ADDRESS],
        policies=[
            policy({"entity": "address", "window": {"duration_seconds": 1.5, "threshold": 2}})
        ],
    )
    engine.decide(event(), START)
    assert not engine.decide(event(), START + 3 * SECOND // 2).fired
    assert engine.decide(event(), START + 3 * SECOND - 1).fired


def test_windows_are_apart_for_each_actor_and_clause(build: Build) -> None:
    """The events of one actor fill no other actor's window."""
    window = {"duration_seconds": 60, "threshold": 2}
    condition = 'request.path == "/b"'
    engine = build(
        entities=[ADDRESS],
        policies=[
            policy(
                {"name": "a", "entity": "address", "window": window},
                {"name": "b", "entity": "address", "window": window, "expression": condition},
            )
        ],
    )

    def fired(path: str, ip: str) -> list[str]:
        return [each.clause for each in engine.decide(event(path, ip), START).fired]

    assert fired("/", "192.0.2.1") == []
    assert fired("/", "192.0.2.2") == []
    assert fired("/b", "192.0.2.1") == ["a"]
    assert fired("/b", "192.0.2.1") == ["a", "b"]


def test_an_event_whose_field_is_an_error_is_not_counted(build: Build) -> None:
    """Such an event shows no value, and the error is recorded; an empty text is a value."""
    window = {
        "duration_seconds": 60,
        "threshold": 2,
        "measure": "distinct",
        "field": 'string(int(fields["v"])).replace("7", "")',
    }
    engine = build(entities=[ADDRESS], policies=[policy({"entity": "address", "window": window})])
    assert not engine.decide(event(fields={"v": "7"}), START).fired
    decision = engine.decide(event(), START)
    assert not decision.fired
    assert decision.errors == {"policies.p.clauses[0].window.field": "invalid_argument"}
    assert engine.decide(event(fields={"v": "1"}), START).fired


def test_a_window_is_counted_while_its_clause_is_active(build: Build) -> None:
    """An active clause that does not reach its window says what it holds."""
    engine = build(
        entities=[ADDRESS],
        mitigations=[{"name": "Refuse", "mode": "Block", "ttl_seconds": 100}],
        policies=[
            policy(
                {
                    "entity": "address",
                    "mitigation": "refuse",
                    "window": {"duration_seconds": 10, "threshold": 2},
                }
            )
        ],
    )

    def held(seconds: int) -> list[tuple[bool, int | None]]:
        decision = engine.decide(event(), START + seconds * SECOND)
        return [(each.active, each.window and each.window.value) for each in decision.fired]

    assert held(0) == []
    assert held(1) == [(False, 2)]
    assert held(50) == [(True, 1)]


def test_published_windows_trigger_where_they_should(build: Build) -> None:
    """On recorded traffic every published policy triggers at the events published for it."""
    count = 1_500 if build.evaluator == "reference" else size(15_000, 1_500)
    first = {
        each["policy_id"]: [number for number in each["first"] if number < count]
        for each in json.loads(_unpacked("data/traffic/expected-windows.json.gz"))
    }
    policies = json.loads(_unpacked("data/traffic/policies.json.gz"))
    if build.evaluator == "reference":
        policies = [each for each in policies if first[each["policy_id"]]]
    engine = build(**_sections(policies))
    triggered: list[list[int]] = [[] for _ in policies]
    with gzip.open(shared_path("data/traffic/events.jsonl.gz")) as file:
        for number, line in enumerate(islice(file, count)):
            for each in engine.decide(line.rstrip(), 2 * START).fired:
                triggered[int(str(each.policy)[1:])].append(number)
    for each, found in zip(policies, triggered, strict=True):
        assert found[:50] == first[each["policy_id"]], each["policy_id"]


def _unpacked(name: str) -> bytes:
    return gzip.decompress(shared_path(name).read_bytes())


def _sections(policies: list[dict[str, Any]]) -> dict[str, Any]:
    """Published policies as sections of a document; they monitor, so that nothing else fires."""
    keys = sorted({tuple(each["entity"]) for each in policies})
    return {
        "entities": [
            {"name": f"entity {number}", "key_fields": list(key)} for number, key in enumerate(keys)
        ],
        "policies": [
            {
                "name": f"p{number}",
                "clauses": [
                    {
                        "expression": each["expression"],
                        "entity": f"entity-{keys.index(tuple(each['entity']))}",
                        "window": _window(each["window"]),
                    }
                ],
            }
            for number, each in enumerate(policies)
        ],
    }


def _window(published: dict[str, Any]) -> dict[str, Any]:
    window = {
        "duration_seconds": published["seconds"],
        "threshold": published["threshold"],
    }
    if published["distinct"] is None:
        return window
    return {**window, "measure": "distinct", "field": published["distinct"]}
