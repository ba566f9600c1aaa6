"""The rule of an alert: minutes of counts and a state in, a state and a transition out.

The service, the preview over the past and the simulation all run :func:`step`. It reads no clock
and no store: a minute is a number of minutes since 1970.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import accumulate
from math import sqrt
from typing import Literal, TypeAlias

import attrs

Metric: TypeAlias = Literal[
    "blocks",
    "challenges",
    "rule_errors",
    "solve_share",
    "key_use",
    "publishing_lag",
    "daemon_silence",
    "log_unwritten",
]
Comparison: TypeAlias = Literal["above", "below"]

USUAL_MINUTES = 60
"""The usual value is the mean over this time before the window."""
LEAST_USUAL_MINUTES = 30
"""There is a usual value after this much traffic."""
LEAST_CHALLENGES = 10
"""A share of fewer challenges is chance."""
STANDARD_ERRORS = 5.0
"""A share is only compared with the usual one if chance doesn't explain the difference."""
CLEAR_MINUTES = 5
"""An alert is resolved when its condition was false for this long."""
RELEARN_MINUTES = 1_440
"""While an alert fires, the usual value of its beginning counts, for a day at most."""


class Measure(Enum):
    """How a metric is read from the minutes of a window."""

    SUM = "the sum of a count"
    SHARE = "solved challenges in percent of opened ones"
    NOW = "a value at the end of the minute"


@attrs.frozen(kw_only=True)
class Condition:
    """A comparison of a metric.

    Attributes:
        metric: what is compared.
        comparison: whether it is true above the threshold, or below.
        threshold: in the metric's unit: decisions, percent or seconds.
        times_usual: a multiple of the usual value that must be passed too; None to compare with
            the threshold alone.
        over_minutes: length of the window; 1 for a metric that is a value of the moment.
    """

    metric: Metric
    comparison: Comparison
    threshold: float
    times_usual: float | None = None
    over_minutes: int = 1


@attrs.frozen
class Kind:
    """A metric: how it is read, and the condition of an alert that states nothing else."""

    measure: Measure
    unit: str
    default: Condition


def _kind(measure: Measure, unit: str, metric: Metric, threshold: float, **others: object) -> Kind:
    members = {"comparison": "above", **others}
    return Kind(measure, unit, Condition(metric=metric, threshold=threshold, **members))  # type: ignore[arg-type]


KINDS: Mapping[Metric, Kind] = {
    each.default.metric: each
    for each in (
        _kind(Measure.SUM, "", "blocks", 100, times_usual=4.0, over_minutes=2),
        _kind(Measure.SUM, "", "challenges", 100, times_usual=4.0, over_minutes=2),
        _kind(Measure.SUM, "", "rule_errors", 10, over_minutes=2),
        _kind(
            Measure.SHARE,
            " %",
            "solve_share",
            70,
            comparison="below",
            times_usual=0.7,
            over_minutes=2,
        ),
        _kind(Measure.NOW, " %", "key_use", 80),
        _kind(Measure.NOW, " s", "publishing_lag", 50),
        _kind(Measure.NOW, " s", "daemon_silence", 50),
        _kind(Measure.NOW, " s", "log_unwritten", 30),
    )
}
OPENED, SOLVED, DECISIONS = "opened", "solved", "decisions"
"""Counts that no condition names itself."""


class Minutes:
    """Counts of consecutive minutes.

    Args:
        first: the first minute.
        counts: for each name, one number a minute; names that are left out were not counted.
        now: values of the moment, by metric and minute.
    """

    def __init__(
        self,
        first: int,
        counts: Mapping[str, Sequence[int]],
        now: Mapping[str, Mapping[int, float]] | None = None,
    ) -> None:
        self._first = first
        self._sums = {name: [0, *accumulate(each)] for name, each in counts.items()}
        self._now = now or {}
        self._traffic = _next_nonzero(counts.get(DECISIONS, ()))

    def measured(self, condition: Condition, minute: int) -> float | None:
        """Return a metric's value at the end of a minute; None if it isn't known."""
        start = minute + 1 - condition.over_minutes
        match KINDS[condition.metric].measure:
            case Measure.NOW:
                return self._now.get(condition.metric, {}).get(minute)
            case Measure.SUM:
                return self.sum(condition.metric, start, minute + 1)
            case Measure.SHARE:
                return self._share(start, minute + 1, LEAST_CHALLENGES)

    def usual(self, condition: Condition, minute: int) -> float | None:
        """Return the usual value of a window that ends with a minute; None if it isn't known."""
        end = minute + 1 - condition.over_minutes
        start = max(end - USUAL_MINUTES, self._first)
        start = self._traffic[start - self._first] + self._first if self._traffic else end
        if end - start < LEAST_USUAL_MINUTES:
            return None
        if KINDS[condition.metric].measure is Measure.SHARE:
            return self._share(start, end, LEAST_CHALLENGES)
        return self.sum(condition.metric, start, end) * condition.over_minutes / (end - start)

    def sum(self, name: str, start: int, end: int) -> int:
        """Return the sum of a count from a minute to before another."""
        sums = self._sums.get(name, [0])
        last = len(sums) - 1
        first, end = (min(max(each - self._first, 0), last) for each in (start, end))
        return sums[end] - sums[first]

    def _share(self, start: int, end: int, least: int) -> float | None:
        opened = self.sum(OPENED, start, end)
        if opened < least:
            return None
        # A challenge of the minute before may be solved now.
        return min(100.0, 100.0 * self.sum(SOLVED, start, end) / opened)


def _next_nonzero(counts: Sequence[int]) -> list[int]:
    """Return for each place, and the end, the next place with a number that isn't 0."""
    found = [len(counts)]
    for place in range(len(counts) - 1, -1, -1):
        found.append(place if counts[place] else found[-1])
    return found[::-1]


@attrs.frozen(kw_only=True)
class Rule:
    """The part of an alert that decides when there is a message.

    Attributes:
        enabled: an alert that isn't enabled does not fire; one that fires is resolved.
        quiet_minutes: the least time between two messages that it fires.
    """

    condition: Condition
    enabled: bool = True
    quiet_minutes: int = 60


@attrs.frozen(kw_only=True)
class State:
    """The memory of an alert from minute to minute.

    Attributes:
        evaluated: the last minute that was evaluated.
        since: the first minute of the present firing; None if the condition is false.
        usual: the usual value when that began.
        clear: minutes since then, one after the other, in which the condition was false.
        is_announced: whether there was a message that it fires.
        announced: the minute of the last such message.
        unannounced: firings that ended in the quiet time, since that message.
        value: in the last minute in which the condition was true.
    """

    evaluated: int = 0
    since: int | None = None
    usual: float | None = None
    clear: int = 0
    is_announced: bool = False
    announced: int | None = None
    unannounced: int = 0
    value: float | None = None


@attrs.frozen(kw_only=True)
class Transition:
    """An alert begins to fire, or is resolved.

    Attributes:
        is_firing: which of the two.
        minute: the minute in which this was found.
        since: the first minute in which the condition was true.
        value: of the metric, at the last minute in which the condition was true.
        usual: the usual value; None if it isn't compared.
        unannounced: earlier firings that ended in the quiet time.
    """

    is_firing: bool
    minute: int
    since: int
    value: float
    usual: float | None = None
    unannounced: int = 0


def step(
    rule: Rule, minutes: Minutes, state: State, minute: int
) -> tuple[State, Transition | None]:
    """Evaluate an alert at the end of a minute.

    Args:
        rule: the alert.
        minutes: counts of the window and of the hour before it.
        state: after the minutes before.
        minute: the minute that ended.

    Returns:
        The new state, and the transition that a message is sent for, if any.
    """
    condition = rule.condition
    usual = _usual(condition, minutes, state, minute)
    value = minutes.measured(condition, minute)
    state = attrs.evolve(state, evaluated=minute)
    if value is not None and rule.enabled and _is_true(condition, value, usual, minutes, minute):
        since = minute if state.since is None else state.since
        state = attrs.evolve(state, since=since, usual=usual, value=value, clear=0)
        return _announce(rule, state)
    if state.since is None:
        return state, None
    state = attrs.evolve(state, clear=state.clear + 1)
    if state.clear < CLEAR_MINUTES:
        return state, None
    return _resolve(state)


def run(rule: Rule, minutes: Minutes, first: int, last: int) -> Iterator[Transition]:
    """Evaluate an alert over consecutive minutes, and yield its transitions."""
    state = State()
    for minute in range(first, last + 1):
        state, transition = step(rule, minutes, state, minute)
        if transition is not None:
            yield transition


def _usual(condition: Condition, minutes: Minutes, state: State, minute: int) -> float | None:
    if condition.times_usual is None:
        return None
    if state.since is not None and minute - state.since < RELEARN_MINUTES:
        return state.usual
    return minutes.usual(condition, minute)


def _is_true(
    condition: Condition, value: float, usual: float | None, minutes: Minutes, minute: int
) -> bool:
    is_above = condition.comparison == "above"
    if not (value > condition.threshold if is_above else value < condition.threshold):
        return False
    if condition.times_usual is None:
        return True
    if usual is None:
        return False
    bound = usual * condition.times_usual
    if not (value > bound if is_above else value < bound):
        return False
    if KINDS[condition.metric].measure is not Measure.SHARE:
        return True
    opened = minutes.sum(OPENED, minute + 1 - condition.over_minutes, minute + 1)
    return abs(value - usual) > STANDARD_ERRORS * sqrt(usual * (100 - usual) / opened)


def _announce(rule: Rule, state: State) -> tuple[State, Transition | None]:
    is_quiet = (
        state.announced is not None and state.evaluated - state.announced < rule.quiet_minutes
    )
    if state.is_announced or is_quiet:
        return state, None
    transition = _transition(state, is_firing=True)
    state = attrs.evolve(state, is_announced=True, announced=state.evaluated, unannounced=0)
    return state, transition


def _resolve(state: State) -> tuple[State, Transition | None]:
    resolved = State(
        evaluated=state.evaluated,
        announced=state.announced,
        unannounced=state.unannounced + (not state.is_announced),
    )
    return resolved, _transition(state, is_firing=False) if state.is_announced else None


def _transition(state: State, *, is_firing: bool) -> Transition:
    assert state.since is not None
    assert state.value is not None
    return Transition(
        is_firing=is_firing,
        minute=state.evaluated,
        since=state.since,
        value=state.value,
        usual=state.usual,
        unannounced=state.unannounced,
    )
