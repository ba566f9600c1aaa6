"""Text to syntax tree, and tree to canonical text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tidegate
from benchmarks.traffic.workload import MEDIUM, SIMPLE
from tidegate.language.parse.parser import parse

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

pytestmark = pytest.mark.benchmark(group="parse")

TEXTS = {"simple": SIMPLE.expression, "medium": MEDIUM}


@pytest.mark.parametrize("name", TEXTS)
def test_parse(benchmark: BenchmarkFixture, name: str) -> None:
    """Text to tree."""
    benchmark(parse, TEXTS[name])


@pytest.mark.parametrize("name", TEXTS)
def test_format(benchmark: BenchmarkFixture, name: str) -> None:
    """Text to tree to canonical text."""
    benchmark(tidegate.format, TEXTS[name])
