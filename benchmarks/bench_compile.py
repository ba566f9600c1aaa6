"""Text to a program that is ready to evaluate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tidegate
from benchmarks.traffic.workload import MEDIUM, SIMPLE

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from tidegate.evaluation.rules import Evaluator

pytestmark = pytest.mark.benchmark(group="compile")

TEXTS = {"simple": SIMPLE.expression, "medium": MEDIUM}


@pytest.mark.parametrize("evaluator", ["native", "reference"])
@pytest.mark.parametrize("name", TEXTS)
def test_compile(benchmark: BenchmarkFixture, name: str, evaluator: Evaluator) -> None:
    """Parse, check, hand over."""
    schema = tidegate.Schema.default()
    benchmark(tidegate.compile, TEXTS[name], schema=schema, evaluator=evaluator)
