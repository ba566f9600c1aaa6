"""Timestamps, durations and zones."""

# ruff: noqa: E501  (one claim a line)
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_checks import code, value
from tidegate.errors import EvaluationError
from tidegate.functions.time import (
    duration_text,
    parse_duration,
    parse_moment,
    parse_timestamp,
    timestamp_text,
)
from tidegate.values import INT_MAX, TIMESTAMP_MAX, TIMESTAMP_MIN, Duration, Timestamp


@given(st.integers(TIMESTAMP_MIN, TIMESTAMP_MAX).map(Timestamp))
def test_the_text_of_a_timestamp_reads_back(moment: Timestamp) -> None:
    """A timestamp's text reads back to the nanosecond, from year 1 to year 9999."""
    assert parse_timestamp(timestamp_text(moment)) == moment


@given(st.integers(-(2**63), INT_MAX).map(Duration))
def test_the_text_of_a_duration_reads_back(length: Duration) -> None:
    """A duration's text reads back to the nanosecond, over the whole range."""
    assert parse_duration(duration_text(length)) == length


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T01:00:00.000000001+01:00", 1),
        ("1969-12-31T23:59:59-00:00", -1_000_000_000),
        ("0000-12-31T23:00:00-01:00", TIMESTAMP_MIN),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000_000_000),
    ],
)
def test_timestamps_are_read(text: str, nanoseconds: int) -> None:
    """RFC 3339 text with any offset is read as a timestamp."""
    assert parse_timestamp(text) == Timestamp(nanoseconds)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-02 03:04:05Z", "invalid_argument"),
        ("2026-01-02t03:04:05z", "invalid_argument"),
        ("2026-01-02T03:04:05", "invalid_argument"),
        ("2026-01-02T03:04:05Z\n", "invalid_argument"),
        ("2026-01-02T03:04:05.Z", "invalid_argument"),
        ("2026-01-02T03:04:05.1234567890Z", "invalid_argument"),
        ("2026-02-29T00:00:00Z", "invalid_argument"),
        ("2026-01-01T24:00:00Z", "invalid_argument"),
        ("2026-01-01T23:59:60Z", "invalid_argument"),
        ("2026-01-01T00:00:00+24:00", "invalid_argument"),
        ("٢٠٢٦-01-02T03:04:05Z", "invalid_argument"),
        ("10000-01-01T00:00:00Z", "invalid_argument"),
        ("0000-01-01T00:00:00Z", "overflow"),
        ("0001-01-01T00:00:00+00:01", "overflow"),
        ("9999-12-31T23:59:59-00:01", "overflow"),
    ],
)
def test_other_texts_are_no_timestamps(text: str, expected: str) -> None:
    """Days and times must exist, and lie in the years 1 to 9999 in UTC."""
    with pytest.raises(EvaluationError) as raised:
        parse_timestamp(text)
    assert raised.value.code == expected


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2026-01-02t03:04:05z", "2026-01-02T03:04:05Z"),
        ("2026-01-02 03:04:05Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04Z", "2026-01-02T03:04:00Z"),
        ("2026-01-02T03Z", "2026-01-02T03:00:00Z"),
        ("20260102T030405Z", "2026-01-02T03:04:05Z"),
        ("20260102T0304Z", "2026-01-02T03:04:00Z"),
        ("20260102t030405,25+0130", "2026-01-02T03:04:05.25+01:30"),
        ("2026-01-02T03:04:05-01", "2026-01-02T03:04:05-01:00"),
        ("2026-01-02T03:04:05.1234567899Z", "2026-01-02T03:04:05.123456789Z"),
    ],
)
def test_forms_of_iso_8601_that_name_one_moment_are_moments(text: str, same: str) -> None:
    """Case, seconds, separators and the length of the fraction are free where they are certain."""
    assert parse_moment(text) == parse_timestamp(same)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-02",
        "2026-01-02T03:04:05",
        "20260102T030405",
        "2026-0102T03:04:05Z",
        "2026-01-02T03:0405Z",
        "2026-01-02T0304:05Z",
        "2026-01-02T03:04.5Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T3:04Z",
        "2026-01-02T03:04:05+1",
        "2026-01-02T03:04:05+010",
        "2026-01-02T03:04:05 +0100",
        "2026-01-02T03:04Z\n",
        "2026-02-29T00:00Z",
        "2026-W01-1T00:00Z",
        "2026-002T00:00Z",
    ],
)
def test_texts_that_name_no_certain_moment_are_refused(text: str) -> None:
    """A text without an offset, or in a mixture of forms, names no certain moment."""
    with pytest.raises(EvaluationError) as raised:
        parse_moment(text)
    assert raised.value.code == "invalid_argument"


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("+1.5s", 1_500_000_000),
        ("-1h2m3s4ms5us6ns", -3_723_004_005_006),
        ("1µs1μs", 2_000),
        ("1s1s", 2_000_000_000),
        (".5ns", 0),
        ("1.s", 1_000_000_000),
        ("0.1h", 360_000_000_000),
        ("0." + "3" * 40 + "h", 1_200_000_000_000 - 1),
        ("-9223372036854775808ns", -(2**63)),
    ],
)
def test_durations_are_read(text: str, nanoseconds: int) -> None:
    """Sums of parts, exact, cut below the nanosecond."""
    assert parse_duration(text) == Duration(nanoseconds)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "invalid_argument"),
        ("1", "invalid_argument"),
        ("1 s", "invalid_argument"),
        ("1d", "invalid_argument"),
        (".s", "invalid_argument"),
        ("--1s", "invalid_argument"),
        ("9223372036854775808ns", "overflow"),
        ("9" * 10_000 + "h", "overflow"),
    ],
)
def test_other_texts_are_no_durations(text: str, expected: str) -> None:
    """A unit follows each number; the sum has 64 bits of nanoseconds."""
    with pytest.raises(EvaluationError) as raised:
        parse_duration(text)
    assert raised.value.code == expected


@pytest.mark.parametrize(
    "claim",
    [
        "t.getFullYear() == 2009 && t.getMonth() == 1 && t.getDate() == 13 && t.getDayOfMonth() == 12",
        "t.getDayOfYear() == 43 && t.getDayOfWeek() == 5 && t.getHours() == 23",
        "t.getMinutes() == 31 && t.getSeconds() == 30 && t.getMilliseconds() == 123",
        "t.getHours('Europe/Amsterdam') == 0 && t.getDate('Europe/Amsterdam') == 14",
        "t.getHours('-02:30') == 21 && t.getMinutes('02:30') == 1 && t.getHours('+00:00') == 23",
        "timestamp('2009-07-01T12:00:00Z').getHours('America/New_York') == 8",
        "timestamp('2060-07-01T12:00:00Z').getHours('America/New_York') == 8",
        "timestamp('0001-01-01T00:00:00Z').getFullYear('-01:00') == 0",
        "timestamp('0001-01-01T00:00:00Z').getDate('-01:00') == 31",
        "timestamp('0001-01-01T00:00:00Z').getDayOfYear('-01:00') == 365",
        "timestamp('9999-12-31T23:59:59Z').getFullYear('+01:00') == 10000",
        "timestamp('9999-12-31T23:59:59Z').getDayOfWeek('+01:00') == 6",
        "timestamp('9999-12-31T23:59:59Z').getFullYear('Asia/Tokyo') == 10000",
        "timestamp('9999-12-31T00:00:00Z').getFullYear() == 9999",
        "timestamp('0001-01-02T00:00:00Z').getFullYear('-01:00') == 1",
        "duration('-90m').getHours() == -1 && duration('1.5s').getMilliseconds() == 500",
        "duration('-1.5s').getMilliseconds() == -500 && duration('90m').getMinutes() == 90",
        "duration('-1500ms').getSeconds() == -1",
    ],
)  # fmt: skip
def test_parts_of_time(claim: str) -> None:
    """Months, days of the month and of the year count from 0, in any zone, to the ends of time."""
    assert value(claim, t=parse_timestamp("2009-02-13T23:31:30.123456789Z")) is True


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "utc", "+25:00", "1:00", "../etc/passwd"])
def test_unknown_zones_are_errors(zone: str) -> None:
    """Names are those of the IANA database, as written there."""
    assert code("timestamp(0).getHours(zone)", zone=zone) == "invalid_argument"
    assert code("timestamp(0).getMilliseconds(zone)", zone=zone) == "invalid_argument"
