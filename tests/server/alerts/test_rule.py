"""When an alert fires and is resolved, by counts of minutes."""

from __future__ import annotations

import random
from collections.abc import Sequence

import attrs
import pytest
from tests.server.alerts.traffic import DAY, FIRST, Incident, generated, planted

from tidegate_server.alerts.rule import (
    CLEAR_MINUTES,
    DECISIONS,
    KINDS,
    OPENED,
    SOLVED,
    Condition,
    Metric,
    Minutes,
    Rule,
    State,
    Transition,
    run,
    step,
)

DAYS = 30
INCIDENTS = 40
FOUND_SECONDS = 120
GRACE_SECONDS = 5
"""The service evaluates a minute three seconds after its end, and looks every two seconds."""
BLOCKS = KINDS["blocks"].default


def minutes(blocks: Sequence[int], decisions: int = 100) -> Minutes:
    """Minutes with these blocks, from the minute 1,000 on."""
    return Minutes(1_000, {"blocks": blocks, DECISIONS: [decisions] * len(blocks)})


def found(rule: Rule, blocks: Sequence[int], decisions: int = 100) -> list[tuple[bool, int]]:
    """The transitions: whether it fires, and the place of the minute."""
    transitions = run(rule, minutes(blocks, decisions), 1_000, 999 + len(blocks))
    return [(each.is_firing, each.minute - 1_000) for each in transitions]


@pytest.mark.parametrize("seed", [1, 2])
def test_incidents_are_found_within_two_minutes(seed: int) -> None:
    """The defaults find 40 incidents in 30 days, with at most one false alarm a week."""
    late, false = alerted(seed)
    assert len(late) == INCIDENTS
    assert max(late) <= FOUND_SECONDS
    assert len(false) <= DAYS / 7


def alerted(seed: int) -> tuple[list[float], list[Transition]]:
    """The seconds until each incident that was found had a message, and the false alarms.

    A message is false if its incident was over, or never was.
    """
    chance = random.Random(seed)
    incidents = planted(chance, DAYS, INCIDENTS)
    traffic = generated(chance, DAYS, incidents)
    late: dict[Incident, float] = {}
    false: list[Transition] = []
    for metric, kind in KINDS.items():
        own = [each for each in incidents if each.metric == metric]
        for each in run(Rule(condition=kind.default), traffic, FIRST, FIRST + DAYS * DAY - 1):
            if not each.is_firing:
                continue
            seconds = (each.minute - FIRST + 1) * 60
            # The minute in which an incident ends still has a part of it.
            cause = [
                one for one in own if one.second < seconds <= one.second + one.minutes * 60 + 60
            ]
            if cause:
                late.setdefault(cause[0], seconds + GRACE_SECONDS - cause[0].second)
            else:
                false.append(each)
    return list(late.values()), false


def test_a_small_shop_has_no_false_alarms() -> None:
    """With a few hundred decisions a minute the defaults are as quiet."""
    traffic = generated(random.Random(7), DAYS, (), most=300)
    last = FIRST + DAYS * DAY - 1
    fired = [
        each
        for kind in KINDS.values()
        for each in run(Rule(condition=kind.default), traffic, FIRST, last)
    ]
    assert len(fired) / 2 <= DAYS / 7


def test_a_spike_fires_once_and_is_resolved() -> None:
    """There is one message when it begins, and one five minutes after its end."""
    rule = Rule(condition=BLOCKS)
    assert found(rule, [20] * 40 + [400] * 10 + [20] * 20) == [
        (True, 40),
        (False, 50 + CLEAR_MINUTES),
    ]


def test_a_threshold_is_not_enough_where_much_is_usual() -> None:
    """A busy site fires at a multiple of its own hour."""
    assert found(Rule(condition=BLOCKS), [500] * 60 + [900] * 10) == []
    assert found(Rule(condition=BLOCKS), [500] * 60 + [4_000] * 2)[0] == (True, 60)


def test_a_multiple_is_not_enough_where_little_is_usual() -> None:
    """Ten blocks after none aren't an incident."""
    assert found(Rule(condition=BLOCKS), [0] * 60 + [10] * 10) == []


def test_nothing_is_usual_before_half_an_hour_of_traffic() -> None:
    """A new site isn't compared with an hour in which it had no visitors."""
    begun = Minutes(1_000, {"blocks": [0] * 100 + [200] * 20, DECISIONS: [0] * 100 + [300] * 20})
    assert list(run(Rule(condition=BLOCKS), begun, 1_000, 1_119)) == []
    absolute = attrs.evolve(BLOCKS, times_usual=None)
    assert [each.minute for each in run(Rule(condition=absolute), begun, 1_000, 1_119)] == [1_100]


def test_a_long_incident_does_not_become_usual() -> None:
    """While an alert fires, the usual value of its beginning counts."""
    assert found(Rule(condition=BLOCKS), [20] * 60 + [400] * 180) == [(True, 60)]


def test_an_alert_is_quiet_between_two_messages() -> None:
    """A second firing within the quiet time has no message, and the next message counts it."""
    condition = Condition(metric="blocks", comparison="above", threshold=100)
    rule = Rule(condition=condition, quiet_minutes=60)
    spike, calm = [200] * 2, [0] * 18
    fired = list(run(rule, minutes((spike + calm) * 4), 1_000, 1_079))
    assert [(each.is_firing, each.minute - 1_000) for each in fired] == [
        (True, 0),
        (False, 6),
        (True, 60),
        (False, 66),
    ]
    assert [each.unannounced for each in fired] == [0, 0, 2, 0]


def test_a_firing_that_outlasts_the_quiet_time_has_a_message() -> None:
    """It is announced when the quiet time is over, with the time at which it began."""
    condition = Condition(metric="blocks", comparison="above", threshold=100)
    rule = Rule(condition=condition, quiet_minutes=30)
    fired = list(run(rule, minutes([200] + [0] * 9 + [200] * 40), 1_000, 1_049))
    assert [(each.is_firing, each.minute - 1_000) for each in fired] == [
        (True, 0),
        (False, 5),
        (True, 30),
    ]
    assert fired[-1].since == 1_010


def test_an_alert_that_is_disabled_is_resolved() -> None:
    """Receivers that know of the firing hear of its end."""
    condition = Condition(metric="blocks", comparison="above", threshold=100)
    rule, state = Rule(condition=condition), State()
    traffic = minutes([200] * 20)
    state, fired = step(rule, traffic, state, 1_000)
    transitions = []
    for minute in range(1_001, 1_001 + CLEAR_MINUTES):
        state, ended = step(attrs.evolve(rule, enabled=False), traffic, state, minute)
        transitions.append(ended)
    assert fired is not None
    assert fired.is_firing
    last = transitions[-1]
    assert transitions[:-1] == [None] * (CLEAR_MINUTES - 1)
    assert last is not None
    assert not last.is_firing


def test_a_share_of_few_challenges_is_chance() -> None:
    """A share is compared from ten challenges on, and if chance doesn't explain the difference."""
    condition = KINDS["solve_share"].default

    def fired(opened: int, solved: Sequence[int]) -> list[int]:
        counts = {OPENED: [opened] * len(solved), SOLVED: solved, DECISIONS: [9] * len(solved)}
        transitions = run(
            Rule(condition=condition), Minutes(1_000, counts), 1_000, 999 + len(solved)
        )
        return [each.minute - 1_000 for each in transitions]

    assert fired(4, [3] * 60 + [0] * 5) == []
    assert fired(15, [8] * 60 + [3] * 5) == []
    assert fired(50, [45] * 60 + [2] * 4) == [60]


def test_a_value_that_is_not_known_does_not_fire() -> None:
    """A minute without a value of the moment is like one in which all is well."""
    condition = KINDS["publishing_lag"].default
    known = Minutes(1_000, {}, {"publishing_lag": {1_001: 900.0}})
    fired = list(run(Rule(condition=condition), known, 1_000, 1_010))
    assert [each.is_firing for each in fired] == [True, False]


@pytest.mark.parametrize("metric", list(KINDS))
def test_each_metric_has_a_default(metric: Metric) -> None:
    """A default names its metric, and values of the moment have no window."""
    kind = KINDS[metric]
    assert kind.default.metric == metric
    if kind.measure.name == "NOW":
        assert (kind.default.over_minutes, kind.default.times_usual) == (1, None)
