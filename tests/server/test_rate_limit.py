"""The generic cell rate algorithm."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.server.rate_limit import BURST_SHARE, MINUTE, RateLimits


def test_a_burst_is_a_tenth_of_a_minutes_limit() -> None:
    """At rest a key has one tenth of its limit at once, and not one more."""
    limits = RateLimits()
    assert [limits.allow("k", 100, 0) for _ in range(11)] == [True] * 10 + [False]


def test_one_key_never_affects_another() -> None:
    """A key that is over its limit leaves others theirs."""
    limits = RateLimits()
    while limits.allow("noisy", 60, 0):
        pass
    assert limits.allow("quiet", 60, 0)


def test_a_refusal_says_when_to_come_back() -> None:
    """After the seconds of Retry-After the next event conforms."""
    limits = RateLimits()
    while limits.allow("k", 60, 0):
        pass
    verdict = limits.verdict("k", 60, 0, allowed=False)
    assert (verdict.remaining, verdict.retry_after) == (0, 1)
    assert verdict.headers()["retry-after"] == "1"
    assert limits.allow("k", 60, verdict.retry_after * 1_000_000_000)


def test_a_limit_of_one_still_lets_one_through() -> None:
    """A burst has at least one event."""
    limits = RateLimits()
    assert limits.allow("k", 1, 0)
    assert not limits.allow("k", 1, MINUTE - 1)
    assert limits.allow("k", 1, MINUTE)


@given(
    st.integers(1, 100_000),
    st.lists(st.integers(0, MINUTE // 4), min_size=1, max_size=60),
)
def test_never_more_than_limit_and_burst_in_a_minute(limit: int, gaps: list[int]) -> None:
    """In any time a key has at most the time's worth of its limit and one burst."""
    limits, now, allowed = RateLimits(), 0, 0
    for gap in gaps:
        now += gap
        allowed += limits.allow("k", limit, now)
    step = MINUTE // limit
    assert allowed <= now // step + max(limit // BURST_SHARE, 1)


@given(st.integers(1, 100_000), st.lists(st.integers(0, MINUTE), max_size=40))
def test_the_verdict_agrees_with_what_follows(limit: int, gaps: list[int]) -> None:
    """What is said to remain is what is then allowed."""
    limits, now = RateLimits(), 0
    for gap in gaps:
        now += gap
        allowed = limits.allow("k", limit, now)
        verdict = limits.verdict("k", limit, now, allowed)
        assert (verdict.remaining == 0) == (verdict.retry_after > 0)
    remaining = limits.verdict("k", limit, now, allowed=True).remaining
    if remaining < 500:
        assert [limits.allow("k", limit, now) for _ in range(remaining + 1)] == [
            True
        ] * remaining + [False]
