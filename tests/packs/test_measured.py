"""Packs over real traffic: they are quiet on visitors who mean well."""

from __future__ import annotations

import math

import orjson
import pytest
from benchmarks.packs import LABELS, MOST, Measured, interval, measure, readme
from tests.shared_data import shared_lines

from tidegate.packs import BUNDLED, bundled_pack

MOST_EVENTS = 15_000


@pytest.fixture(scope="module")
def events() -> list[bytes]:
    """The first events of the traffic set, which are a part of its time and not a sample of it."""
    lines = shared_lines("data/traffic/events.jsonl.gz")
    return [orjson.dumps(each) for each in lines[:MOST_EVENTS]]


@pytest.mark.parametrize("name", BUNDLED)
def test_visitors_who_mean_well_are_left_alone(name: str, events: list[bytes]) -> None:
    """A pack blocks at most 0.1 % and challenges at most 1 % of benign addresses."""
    measured = measure(bundled_pack(name), events)
    assert measured.events["benign"] > 100
    for outcome, most in MOST.items():
        assert measured.share(outcome) <= most


@pytest.mark.parametrize("name", BUNDLED)
def test_the_figures_of_a_readme_are_within_the_bounds(name: str) -> None:
    """The READMEs, which have figures of the whole set, show no pack above its bounds."""
    text = (bundled_pack(name).folder / "README.md").read_text()
    for outcome, most in MOST.items():
        (row,) = [line for line in text.splitlines() if line.startswith(f"| addresses: {outcome}")]
        share = float(row.split("|")[2].split("(")[1].split("%")[0]) / 100
        assert share <= most


def test_a_readme_has_a_row_for_each_clause() -> None:
    """Every clause has its figures, with zeros for a clause that never fired."""
    pack = bundled_pack("vulnerability-probing")
    text = readme(pack, Measured(addresses=dict.fromkeys(LABELS, 0)))
    for clause in pack.definitions["policies"][0]["clauses"]:
        assert f"| {clause['name']} | 0 (0.000%" in text


def test_the_interval_is_that_of_wilson() -> None:
    """Known values: 0 of 10, 5 of 10, and nothing known."""
    assert [round(each, 4) for each in interval(0, 10)] == [0.0, 0.2775]
    assert [round(each, 4) for each in interval(5, 10)] == [0.2366, 0.7634]
    assert interval(0, 0) == (0.0, 1.0)
    assert all(map(math.isfinite, interval(7, 7)))
