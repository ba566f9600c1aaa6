"""Whole decisions: 74 policies with windows and state, over consecutive events.

Events are decided once each, in order, by one engine whose state grows as it does in service.
A round is the next part of them; the times are of one decision.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest

import tidegate
from benchmarks.traffic.policies import read_policies, to_definitions
from benchmarks.traffic.workload import has_traffic, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_benchmark.fixture import BenchmarkFixture

    from tidegate.evaluation.rules import Evaluator

pytestmark = pytest.mark.benchmark(group="decide")

ROUNDS = 10
REFERENCE_EVENTS = 500
"""The reference is slow on purpose; this many events tell how slow."""


@cache
def definitions() -> Any:
    """The published policies, or those of the samples."""
    if has_traffic():
        return tidegate.load_definitions(to_definitions(read_policies()))
    with resources.as_file(resources.files("tidegate.samples") / "definitions.yaml") as path:
        return tidegate.load_definitions(path)


def measure(
    benchmark: BenchmarkFixture, method: str, events: Sequence[Any], evaluator: Evaluator = "native"
) -> None:
    """Time ``method`` of a new engine on each event."""
    decide = getattr(tidegate.Engine(definitions(), evaluator=evaluator), method)
    following = iter(events).__next__
    iterations = (len(events) - 1) // ROUNDS  # the plugin makes one more call, for the result
    benchmark.pedantic(lambda: decide(following()), rounds=ROUNDS, iterations=iterations)


def test_decide_bytes(benchmark: BenchmarkFixture) -> None:
    """JSON in, a decision object out."""
    measure(benchmark, "decide", load().sequence)


def test_decide_dict(benchmark: BenchmarkFixture) -> None:
    """A dict in, a decision object out."""
    measure(benchmark, "decide", [json.loads(event) for event in load().sequence])


def test_decide_json(benchmark: BenchmarkFixture) -> None:
    """JSON in, the answer as JSON out: what a server sends."""
    measure(benchmark, "decide_json", load().sequence)


@pytest.mark.parametrize("method", ["decide", "decide_json"])
def test_reference(benchmark: BenchmarkFixture, method: str) -> None:
    """The same decisions by the definition."""
    measure(benchmark, method, load().sequence[:REFERENCE_EVENTS], "reference")
