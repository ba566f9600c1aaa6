"""Changes of packs, which the packs' tests have to notice."""

from __future__ import annotations

import attrs
import pytest
from benchmarks.pack_mutants import LEAST_KILLED, expression_changes, is_killed, mutants

from tidegate.packs import bundled_pack
from tidegate.testing.policies.finding import find_files
from tidegate.testing.policies.reading import load_tests


def test_an_expression_is_changed_in_each_of_its_parts() -> None:
    """Conditions are negated and dropped, numbers moved, texts of lists left out."""
    text = '(a && b > 9) || request.path in ["x", "y"]'
    found = dict(expression_changes(text))
    assert set(found) == {
        "not a", "without a", "not b > 9", "without b > 9",
        'not request.path in ["x", "y"]', 'without request.path in ["x", "y"]',
        "9 is 8", "9 is 10", 'without "x"', 'without "y"',
    }  # fmt: skip
    assert found['without "y"'] == '(a && b > 9) || request.path in ["x"]'
    assert found["9 is 8"] == '(a && b > 8) || request.path in ["x", "y"]'


def test_numbers_and_operators_in_texts_stay() -> None:
    """A text is one part of its condition."""
    found = [other for _, other in expression_changes('request.path == "/a && 7"')]
    assert found == [' !(request.path == "/a && 7") ']


@pytest.mark.parametrize("name", ["baseline", "scraping", "card-testing"])
def test_the_tests_of_a_pack_notice_its_changes(name: str) -> None:
    """At least nine of ten changes; `python -m benchmarks.pack_mutants` has all packs."""
    pack = bundled_pack(name)
    cases = [
        each for file in find_files([pack.folder / "tests"]) for each in load_tests(file).cases
    ]
    results = {each.place: is_killed(each, cases) for each in mutants(pack)}
    survivors = {place for place, result in results.items() if result is False}
    known = [result for result in results.values() if result is not None]
    assert len(known) > 40
    assert len(known) - len(survivors) >= LEAST_KILLED * len(known), survivors


def test_a_policy_that_a_test_does_not_cover_survives() -> None:
    """Without its tests, no change of a pack is noticed."""
    pack = bundled_pack("baseline")
    first = next(iter(mutants(pack)))
    assert is_killed(first, []) is False
    broken = attrs.evolve(first, definitions={"apiVersion": "tidegate/v0"})
    assert is_killed(broken, []) is None
