"""The generic cell rate algorithm."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate_server.hot.rate_limit import BURST_SHARE, MINUTE, RateLimits


def test_a_burst_is_a_tenth_of_a_minutes_limit() -> None:
    """At rest a key has one tenth of its limit at once, and not one more."""
    limits = RateLimits()
    assert [limits.take("k", 100, 0) for _ in range(11)] == [1] * 10 + [0]


def test_one_key_never_affects_another() -> None:
    """A key that is over its limit leaves others theirs."""
    limits = RateLimits()
    while limits.take("noisy", 60, 0):
        pass
    assert limits.take("quiet", 60, 0)


def test_a_refusal_says_when_to_come_back() -> None:
    """After the seconds of Retry-After the next event conforms."""
    limits = RateLimits()
    while limits.take("k", 60, 0):
        pass
    verdict = limits.verdict("k", 60, 0, allowed=False)
    assert (verdict.remaining, verdict.retry_after) == (0, 1)
    assert verdict.headers()["retry-after"] == "1"
    assert limits.take("k", 60, verdict.retry_after * 1_000_000_000)


def test_a_limit_of_one_still_lets_one_through() -> None:
    """A limit of one event a minute still admits one."""
    limits = RateLimits()
    assert limits.take("k", 1, 0)
    assert not limits.take("k", 1, MINUTE - 1)
    assert limits.take("k", 1, MINUTE)


@given(
    st.integers(1, 100_000),
    st.lists(st.integers(0, MINUTE // 4), min_size=1, max_size=60),
)
def test_never_more_than_limit_and_burst_in_a_minute(limit: int, gaps: list[int]) -> None:
    """In any time a key has at most the time's worth of its limit and one burst."""
    limits, now, allowed = RateLimits(), 0, 0
    for gap in gaps:
        now += gap
        allowed += limits.take("k", limit, now)
    step = MINUTE // limit
    assert allowed <= now // step + max(limit // BURST_SHARE, 1)


@given(st.integers(1, 100_000), st.lists(st.integers(0, MINUTE), max_size=40))
def test_the_verdict_agrees_with_what_follows(limit: int, gaps: list[int]) -> None:
    """The limit then allows exactly as many calls as it said remain."""
    limits, now = RateLimits(), 0
    for gap in gaps:
        now += gap
        allowed = limits.take("k", limit, now) > 0
        verdict = limits.verdict("k", limit, now, allowed)
        assert (verdict.remaining == 0) == (verdict.retry_after > 0)
    remaining = limits.verdict("k", limit, now, allowed=True).remaining
    if remaining < 500:
        assert [limits.take("k", limit, now) for _ in range(remaining + 1)] == [1] * remaining + [0]


@given(
    st.integers(1, 100_000),
    st.lists(st.tuples(st.integers(0, MINUTE // 4), st.integers(1, 30)), max_size=20),
)
def test_events_together_count_as_one_after_the_other(
    limit: int, bursts: list[tuple[int, int]]
) -> None:
    """If events come together the first conform, as many as would have alone."""
    together, alone, now = RateLimits(), RateLimits(), 0
    for gap, events in bursts:
        now += gap
        taken = sum(alone.take("k", limit, now) for _ in range(events))
        assert together.take("k", limit, now, events) == taken


def test_what_is_given_back_conforms_again() -> None:
    """Events that are taken back do not count against the limit."""
    limits, same = RateLimits(), RateLimits()
    assert limits.take("a", 100, 0, 7) == 7
    limits.give_back("a", 100, 4)
    assert same.take("a", 100, 0, 3) == 3
    assert limits.verdict("a", 100, 0, True) == same.verdict("a", 100, 0, True)
    assert limits.take("a", 100, 0, 100) == same.take("a", 100, 0, 100) == 7


def test_a_verdict_says_whose_the_limit_is() -> None:
    """A verdict names the owner of the limit, also in its headers."""
    headers = RateLimits().verdict("a", 60, 0, False, "tenant").headers()
    assert headers["ratelimit-policy"].startswith('"tenant";q=60;')
    assert headers["ratelimit"].startswith('"tenant";r=')
