"""Counters of the hot path."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tidegate_server.hot.metrics import BOUNDS_SECONDS, HotMetrics, page

NOW = 10**12
DURATIONS = st.integers(0, 4 * 10**9) | st.sampled_from([int(b * 1e9) for b in BOUNDS_SECONDS])
DECISIONS = st.tuples(st.sampled_from(["runtime", "beacon"]), st.sampled_from(["allow", "block"]))


@given(st.lists(st.tuples(DECISIONS, DURATIONS)))
def test_decisions_counted_together_count_as_each_for_itself(
    decided: list[tuple[tuple[str, str], int]],
) -> None:
    """The page is the same, whichever way, also where a duration is a bound."""
    one_by_one, together = HotMetrics(), HotMetrics()
    for (endpoint, action), duration in decided:
        one_by_one.decided([(endpoint, action, 1)], [NOW - duration], NOW)
    started = [NOW - duration for _, duration in decided]
    counts = Counter(at for at, _ in decided)
    together.decided([(*at, count) for at, count in counts.items()], started, NOW)
    assert page([together]) == page([one_by_one])


def test_policies_past_the_bound_are_counted_together() -> None:
    """The page has a bounded number of policies, and one line for all others."""
    metrics = HotMetrics(policies=2)
    for number in range(5):
        metrics.answered([(f"p{number}", "policy", "block", 2), ("", "no-match", "allow", 1)])
    metrics.answered([("p1", "policy", "block", 1)])
    assert metrics.by_policy == {
        ("", "no-match", "allow"): 5,
        ("p0", "policy", "block"): 2,
        ("p1", "policy", "block"): 3,
        ("other", "policy", "block"): 6,
    }
