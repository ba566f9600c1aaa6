"""Sets of rules: from text or canonical form to ready, and one event against all."""

from __future__ import annotations

import json
from functools import cache
from itertools import cycle
from typing import TYPE_CHECKING, Any

import pytest

import tidegate
from benchmarks.traffic.workload import load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_benchmark.fixture import BenchmarkFixture

SIZES = (100, 1_000, 10_000)
EVENTS = 500
"""Evenly spaced events, matched one after the other."""

pytestmark = [
    pytest.mark.benchmark(group="rule set"),
    pytest.mark.parametrize("size", SIZES),
]


@cache
def texts(size: int) -> dict[str, str]:
    """Id to text of the published rules, regular expressions included."""
    return {rule.rule_id: rule.expression for rule in load().rules(size)}


@cache
def rule_set(size: int) -> tidegate.RuleSet:
    """The set, built once for all benchmarks of its size."""
    return tidegate.RuleSet(texts(size))


@cache
def events() -> list[bytes]:
    """The events of every benchmark here."""
    found = load().events
    return list(found[:: max(1, len(found) // EVENTS)][:EVENTS])


def over_all(match: Callable[[Any], object], inputs: Sequence[Any]) -> Callable[[], object]:
    """A call that matches the next input each time: one event alone would be all in cache."""
    following = cycle(inputs).__next__
    return lambda: match(following())


def test_match_bytes(benchmark: BenchmarkFixture, size: int) -> None:
    """JSON in, ids out."""
    benchmark(over_all(rule_set(size).match, events()))


def test_match_dict(benchmark: BenchmarkFixture, size: int) -> None:
    """A dict in, ids out."""
    benchmark(over_all(rule_set(size).match, [json.loads(event) for event in events()]))


def test_match_prepared(benchmark: BenchmarkFixture, size: int) -> None:
    """Matching alone: the event is already encoded."""
    rules = rule_set(size)
    benchmark(over_all(rules.match, [rules.prepare(event) for event in events()]))


def test_build_from_text(benchmark: BenchmarkFixture, size: int) -> None:
    """Parse, check and compile every rule, without imports (``benchmarks.server.startup``)."""
    benchmark.pedantic(tidegate.RuleSet, (texts(size),), rounds=3)


def test_build_from_canonical(benchmark: BenchmarkFixture, size: int) -> None:
    """From the canonical form that a store keeps: nothing is parsed."""
    canonical = rule_set(size).to_canonical()
    benchmark.pedantic(tidegate.RuleSet.from_canonical, (canonical,), rounds=5, warmup_rounds=1)
