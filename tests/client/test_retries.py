"""The times of retries."""

from __future__ import annotations

import pytest

from tidegate.client import Backoff
from tidegate.client.retries import MAX_RETRY_AFTER, retry_after

DATE = "Sun, 01 Mar 2026 00:00:00 GMT"


def test_waits_double_up_to_the_cap_and_are_spread() -> None:
    """Clients that failed together do not come back together."""
    backoff = Backoff(attempts=9, base=1, cap=6)
    assert [backoff.delay(attempt, 1) for attempt in (1, 2, 3, 4, 5)] == [1, 2, 4, 6, 6]
    assert backoff.delay(3, 0) == 0
    assert backoff.delay(3, 0.5) == 2
    assert backoff.delay(10_000, 1) == 6


def test_what_the_service_asks_for_is_the_least_wait() -> None:
    """A retry comes no earlier than the service asks, and is spread after that."""
    backoff = Backoff(base=1)
    assert backoff.delay(1, 0, retry_after=5) == 5
    assert backoff.delay(1, 0.5, retry_after=5) == 5.5


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "9" * 5_000}, MAX_RETRY_AFTER),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Sun, 01 Mar 2026 00:00:09 GMT", "date": DATE}, 9),
        ({"retry-after": "Sun, 01 Mar 2026 09:00:00 GMT", "date": DATE}, MAX_RETRY_AFTER),
        ({"retry-after": "Sat, 28 Feb 2026 00:00:00 GMT", "date": DATE}, 0),
        ({"retry-after": "Sun, 01 Mar 2026 00:00:09 GMT"}, None),
        ({"retry-after": "Sun, 01 Mar 2026 00:00:09", "date": DATE}, None),
        ({"retry-after": "Sun, 01 Mar 99999999999 00:00:09 GMT", "date": DATE}, None),
    ],
)
def test_retry_after_is_read_with_care(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds or a date; nonsense is as if it were not there, and nothing waits for ever."""
    assert retry_after(headers) == seconds


@pytest.mark.parametrize("options", [{"attempts": 0}, {"base": 0}, {"cap": -1}])
def test_a_backoff_that_means_nothing_is_refused(options: dict[str, float]) -> None:
    """A backoff needs at least one attempt and positive waits."""
    with pytest.raises(ValueError, match=next(iter(options))):
        Backoff(**options)  # type: ignore[arg-type]
