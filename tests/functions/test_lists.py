"""Lists: parts, order, and lists as sets."""

# ruff: noqa: E501  (one claim a line)
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_checks import code, outcome, value
from tidegate.functions.lists import distinct, sort
from tidegate.limits import Limits
from tidegate.values import UInt, equal


def free(_units: int) -> None:
    """A charge function that costs nothing."""


@pytest.mark.parametrize(
    "claim",
    [
        "[1, 2].first().value() == 1 && [1, 2].last().value() == 2 && ![].first().hasValue()",
        "[1, 2, 3].slice(1, 2) == [2] && [1].slice(1, 1) == [] && [1].slice(0, 1) == [1]",
        "[1, 2, 3].reverse() == [3, 2, 1] && [].reverse() == []",
        "[[1], [], [2, 3]].flatten() == [1, 2, 3] && [1, [2, [3]]].flatten() == [1, 2, [3]]",
        "[1, [2, [3, [4]]]].flatten(2) == [1, 2, 3, [4]] && [[1]].flatten(0) == [[1]]",
        "lists.range(3) == [0, 1, 2] && lists.range(0) == [] && lists.range(-2) == []",
        "[3, 1, 2].sort() == [1, 2, 3] && ['b', 'B', ''].sort() == ['', 'B', 'b'] && [].sort() == []",
        "[0.5, -1.0, 1e300].sort() == [-1.0, 0.5, 1e300] && [true, false].sort() == [false, true]",
        "[b'b', b'a'].sort() == [b'a', b'b'] && ['\U00010000', '\uffff'].sort() == ['\uffff', '\U00010000']",
        "['bb', 'a', 'cc', 'd'].sortBy(x, x.size()) == ['a', 'd', 'bb', 'cc'] && [].sortBy(x, x) == []",
        "[1, 2, 3].sortBy(x, -x) == [3, 2, 1] && [[2], [1]].sortBy(x, x[0]) == [[1], [2]]",
        "[2, 1, 2.0, 1u, 'a', 'a'].distinct() == [2, 1, 'a'] && [true, 1].distinct().size() == 2",
        "[[1], [1.0], {'a': 1, 'b': 2}, {'b': 2, 'a': 1}].distinct().size() == 2",
        "[0.0 / 0.0, 0.0 / 0.0, 0.0, -0.0].distinct().size() == 3",
        "sets.contains([1, 2, 3], [3, 1.0]) && sets.contains([], []) && !sets.contains([1], [1, 2])",
        "sets.equivalent([1, 2], [2, 1, 1]) && sets.equivalent([], []) && !sets.equivalent([1], [1, 2])",
        "sets.intersects([1, 2], [2, 3]) && !sets.intersects([], []) && !sets.intersects([1], ['1'])",
        "!sets.contains([0.0 / 0.0], [0.0 / 0.0]) && !sets.equivalent([[0.0 / 0.0]], [[0.0 / 0.0]])",
        "sets.contains([optional.of(1), optional.none()], [optional.of(1u)])",
    ],
)  # fmt: skip
def test_list_functions_mean_what_they_say(claim: str) -> None:
    """Values are the same where `==` is true of them, and order is that of `<`."""
    assert value(claim) is True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1].slice(0, 2)", "index_out_of_range"),
        ("[1].slice(-1, 1)", "index_out_of_range"),
        ("[1, 2].slice(2, 1)", "index_out_of_range"),
        ("[[1]].flatten(-1)", "invalid_argument"),
        ("[dyn(1), dyn('a')].sort()", "no_such_overload"),
        ("[dyn(1), dyn(1.0)].sort()", "no_such_overload"),
        ("[dyn([1])].sort()", "no_such_overload"),
        ("[0.0 / 0.0].sort()", "invalid_argument"),
        ("[1, 2].sortBy(x, dyn([x]))", "no_such_overload"),
        ("dyn({'a': 1}).sortBy(x, x)", "no_such_overload"),
        ("lists.range(9223372036854775807 - int(size('')))", "cost_exceeded"),
    ],
)
def test_lists_that_cannot_be_taken_apart_or_sorted_are_failures(text: str, expected: str) -> None:
    """Each failure has its code."""
    assert code(text) == expected


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("l.sort()", 2 + 3 + 2 * (3 + 0 + 0 + 1) + 3),
        ("l.sortBy(x, x)", 2 + 3 * 2 + 2 * (3 + 1)),
        ("l.distinct()", 2 + 3 + (3 + 1) + 2),
        ("sets.intersects(l, l)", 3 + 6 + 2 * (3 + 1)),
        ("lists.range(n)", 2 + 4 + 4),
        ("[l, l].flatten()", 4 + 2 + (2 + 6) + 6),
        ("l.first()", 2),
        ("l.reverse()", 2 + 3 + 3),
    ],
)
def test_a_call_costs_what_it_looks_at(text: str, cost: int) -> None:
    """The cost is that of docs/canonical-tree.md."""
    found = outcome(text, l=["a", "a", "a" * 16], n=4)
    assert found.failure is None
    assert found.cost == cost


def test_lists_that_repeat_a_list_are_paid_for_before_they_are_built() -> None:
    """A list that holds a long one many times doesn't make a longer one for free."""
    text = "[l, l, l, l].flatten()"
    found = outcome(text, limits=Limits(cost=1_000), l=list(range(250)))
    assert found.failure is not None
    assert found.failure.code == "cost_exceeded"


VALUES = st.recursive(
    st.one_of(
        st.integers(-3, 3), st.integers(0, 3).map(UInt), st.sampled_from([0.0, 1.0, 0.5]),
        st.booleans(), st.sampled_from(["", "a"]), st.none(),
    ),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=4,
)  # fmt: skip


@given(st.lists(VALUES, max_size=12))
def test_distinct_keeps_what_comparing_all_pairs_keeps(elements: list[object]) -> None:
    """`distinct` keeps a value if no value before it is equal."""
    expected = [
        each
        for place, each in enumerate(elements)
        if not any(equal(each, other) for other in elements[:place])
    ]
    assert distinct(elements, charge=free) == expected


@given(st.lists(st.integers(-5, 5)))
def test_sorting_is_that_of_numbers(elements: list[int]) -> None:
    """Sorted integers are in order, each as often as before."""
    assert sort(elements, charge=free) == sorted(elements)
