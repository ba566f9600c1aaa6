"""Tree to checked tree: names, types, constants, the estimated cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tidegate
from benchmarks.traffic.workload import MEDIUM, SIMPLE
from tidegate.language.parse.parser import parse

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

pytestmark = pytest.mark.benchmark(group="check")

TEXTS = {"simple": SIMPLE.expression, "medium": MEDIUM}


@pytest.mark.parametrize("name", TEXTS)
def test_check_tree(benchmark: BenchmarkFixture, name: str) -> None:
    """A tree that is already parsed; it is printed too, for the text a checked expression has."""
    schema = tidegate.Schema.default()
    benchmark(tidegate.check, parse(TEXTS[name]), schema)


@pytest.mark.parametrize("name", TEXTS)
def test_check_text(benchmark: BenchmarkFixture, name: str) -> None:
    """Text, parsing included: what saving a definition costs."""
    schema = tidegate.Schema.default()
    benchmark(tidegate.check, TEXTS[name], schema)
