"""One expression on one event, from each form an event can have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import tidegate
from benchmarks.traffic.workload import MEDIUM, SIMPLE, load

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from tidegate.evaluation.rules import Evaluator

TEXTS = {"simple": SIMPLE.expression, "medium": MEDIUM}

pytestmark = [
    pytest.mark.benchmark(group="evaluate"),
    pytest.mark.parametrize("evaluator", ["native", "reference"]),
    pytest.mark.parametrize("name", TEXTS),
]


def test_from_dict(benchmark: BenchmarkFixture, name: str, evaluator: Evaluator) -> None:
    """The event as a dict: the fields that are read are taken from it."""
    program = tidegate.compile(TEXTS[name], evaluator=evaluator)
    event = json.loads(load().representative)
    assert benchmark(program.evaluate, event) is True


def test_from_bytes(benchmark: BenchmarkFixture, name: str, evaluator: Evaluator) -> None:
    """The event as JSON: all of it is read and checked."""
    program = tidegate.compile(TEXTS[name], evaluator=evaluator)
    assert benchmark(program.evaluate, load().representative) is True


def test_prepared(benchmark: BenchmarkFixture, name: str, evaluator: Evaluator) -> None:
    """The event already encoded: evaluation alone, with the call from Python."""
    program = tidegate.compile(TEXTS[name], evaluator=evaluator)
    prepared = program.prepare(load().representative)
    assert benchmark(program.evaluate, prepared) is True
