"""Generated minutes of a shop's traffic, with incidents at known seconds."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

import attrs

from tidegate_server.alerts.rule import DECISIONS, OPENED, SOLVED, Metric, Minutes

DAY = 1_440
FIRST = 29_000_160
"""The first minute: midnight of a day in 2025."""


@attrs.frozen(kw_only=True)
class Incident:
    """Something that an alert is for.

    Attributes:
        metric: what changes.
        second: when it begins, in seconds since the first minute.
        minutes: how long it lasts.
        size: how many times as many blocks or challenges, the share of solved challenges, or the
            share of decisions with a rule error; not used for values of the moment.
    """

    metric: Metric
    second: int
    minutes: int
    size: float = 0.0

    def share(self, minute: int) -> float:
        """The part of a minute in which it lasts, from 0 to 1."""
        start, end = self.second, self.second + self.minutes * 60
        return max(0.0, min(end, minute * 60 + 60) - max(start, minute * 60)) / 60


def planted(chance: random.Random, days: int, count: int) -> list[Incident]:
    """Incidents of all kinds, hours apart, at any second of a day."""
    kinds: Sequence[tuple[Metric, float, float]] = (
        ("blocks", 8, 40),
        ("challenges", 8, 40),
        ("solve_share", 0.0, 0.2),
        ("rule_errors", 0.2, 1.0),
        ("daemon_silence", 0, 0),
        ("publishing_lag", 0, 0),
        ("log_unwritten", 0, 0),
        ("key_use", 0, 0),
    )
    between = (days - 1) * DAY * 60 // count
    found = []
    for number in range(count):
        metric, least, most = kinds[number % len(kinds)]
        second = DAY * 60 + number * between + chance.randrange(between // 2)
        minutes = chance.randrange(10, 90)
        size = chance.uniform(least, most)
        found.append(Incident(metric=metric, second=second, minutes=minutes, size=size))
    return found


def generated(
    chance: random.Random, days: int, incidents: Sequence[Incident], most: float = 6_000
) -> Minutes:
    """Minutes of traffic with a day's curve, a week's, a drift, and the incidents.

    A daemon reports each 20 s.

    Args:
        chance: the source of all that is random.
        days: how many.
        incidents: what happens.
        most: decisions a minute at noon; at night it is a tenth of that.
    """
    names = (DECISIONS, "blocks", "challenges", "rule_errors", OPENED, SOLVED)
    counts: dict[str, list[int]] = {name: [] for name in names}
    now: dict[str, dict[int, float]] = {
        name: {} for name in ("daemon_silence", "publishing_lag", "log_unwritten", "key_use")
    }
    drift = 0.0
    for minute, level in enumerate(_levels(days)):
        drift = 0.98 * drift + chance.gauss(0, 0.03)
        rate = most * level * math.exp(drift)
        under_way = [each for each in incidents if each.share(minute)]
        blocks, challenged = 0.04 * rate, 0.08 * rate
        solved, errors = 0.85, 0.0
        for each in under_way:
            share = each.share(minute)
            match each.metric:
                case "blocks":
                    blocks *= 1 + (each.size - 1) * share
                case "challenges":
                    challenged *= 1 + (each.size - 1) * share
                case "solve_share":
                    solved += (each.size - solved) * share
                case "rule_errors":
                    errors = each.size * share * rate
        counts[DECISIONS].append(_poisson(chance, rate))
        counts["blocks"].append(_poisson(chance, blocks))
        counts["challenges"].append(_poisson(chance, challenged))
        counts["rule_errors"].append(_poisson(chance, errors))
        opened = counts["challenges"][-1]
        counts[OPENED].append(opened)
        counts[SOLVED].append(_binomial(chance, opened, solved))
        end = (minute + 1) * 60
        for name, value in _moments(chance, level).items():
            own = [each for each in under_way if each.metric == name and end > each.second]
            is_over = not own or end > own[0].second + own[0].minutes * 60
            if not is_over:
                value = chance.uniform(85, 100) if name == "key_use" else end - own[0].second
            now[name][FIRST + minute] = value
    return Minutes(FIRST, counts, now)


def _levels(days: int) -> Iterator[float]:
    """How much traffic there is: little at night, less on two days of seven."""
    for minute in range(days * DAY):
        hour = 0.55 - 0.45 * math.cos(2 * math.pi * (minute % DAY) / DAY)
        yield hour * (0.7 if minute // DAY % 7 >= 5 else 1.0)


def _moments(chance: random.Random, level: float) -> dict[str, float]:
    return {
        "daemon_silence": chance.uniform(0, 22),
        "publishing_lag": chance.expovariate(1.0),
        "log_unwritten": 0.0,
        "key_use": 40 * level * chance.uniform(0.8, 1.2),
    }


def _poisson(chance: random.Random, mean: float) -> int:
    """A number of events, by the normal distribution that is near enough from 50 on."""
    if mean <= 0:
        return 0
    if mean > 50:
        return max(0, round(chance.gauss(mean, math.sqrt(mean))))
    bound, number, product = math.exp(-mean), 0, chance.random()
    while product > bound:
        number += 1
        product *= chance.random()
    return number


def _binomial(chance: random.Random, number: int, share: float) -> int:
    """How many of a number, by the normal distribution where it is near enough."""
    if number <= 50:
        return sum(chance.random() < share for _ in range(number))
    found = round(chance.gauss(number * share, math.sqrt(number * share * (1 - share))))
    return min(number, max(0, found))
