"""``tidegate api-key``: when a key expires; `test_apply.py` makes keys at a service."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import click
import pytest

from tidegate_server.cli.remote.api_key import expiry


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2027-01-01", datetime(2027, 1, 1, tzinfo=UTC)),
        ("2027-01-01T08:00:00Z", datetime(2027, 1, 1, 8, tzinfo=UTC)),
        ("2027-01-01T08:00+02:00", datetime(2027, 1, 1, 8, tzinfo=timezone(timedelta(hours=2)))),
    ],
)
def test_a_time_is_taken_with_its_zone(text: str, expected: datetime) -> None:
    """A day begins in UTC."""
    assert expiry(text) == expected


@pytest.mark.parametrize(
    ("text", "seconds"), [("30m", 1_800), ("12h", 43_200), ("2w", 1_209_600), ("1y", 31_536_000)]
)
def test_a_span_begins_now(text: str, seconds: int) -> None:
    """Minutes, hours, days, weeks and years."""
    before = datetime.now(UTC)
    found = expiry(text)
    assert before <= found - timedelta(seconds=seconds) <= datetime.now(UTC)


@pytest.mark.parametrize("text", ["", "soon", "0d", "-1d", "2027-13-01", "90", "2027-01-01T08:00"])
def test_anything_else_is_refused(text: str) -> None:
    """A time without a zone could mean another hour."""
    with pytest.raises(click.BadParameter):
        expiry(text)
