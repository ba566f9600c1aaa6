"""Timestamps, durations and time zones."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from importlib import resources
from zoneinfo import ZoneInfo

from tidegate.functions import failures
from tidegate.functions.operators import checked_duration, checked_timestamp
from tidegate.functions.registry import overload
from tidegate.values import NANOSECONDS, TIMESTAMP_MAX, TIMESTAMP_MIN, Duration, Timestamp

# --- texts --------------------------------------------------------------------------------

_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_MOMENT = re.compile(
    r"([0-9]{4})(-?)([0-9]{2})\2([0-9]{2})[Tt ]"
    r"([0-9]{2})(?:(:?)([0-9]{2})(?:\6([0-9]{2})(?:[.,]([0-9]{1,9})[0-9]*)?)?)?"
    r"(?:[Zz]|([+-])([0-9]{2})(?::?([0-9]{2}))?)"
)
_DAY = 86_400
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_FOUR_YEARS = 4 * 365 + 1


def parse_timestamp(text: str) -> Timestamp:
    """Read RFC 3339: ``2009-02-13T23:31:30Z``, ``2009-02-13T23:31:30.123456789+01:00``.

    ``T`` and ``Z`` in upper case, at most nine digits of fraction, no leap second, an
    offset of at most 23:59 (``-00:00`` is UTC too).

    Raises:
        EvaluationError: ``invalid_argument`` when the text is not of this form or names
            no day or time that exists; ``overflow`` outside the years 1 to 9999.
    """
    match = _TIMESTAMP.fullmatch(text)
    if not match:
        raise failures.invalid_argument("the text is no RFC 3339 timestamp")
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    fraction, sign, offset_hours, offset_minutes = match.groups()[6:]
    try:
        # The year 0 has no `date`; it is a leap year, and the last before the year 1.
        days = date(year or 4, month, day).toordinal() - _EPOCH_DAY - (0 if year else _FOUR_YEARS)
    except ValueError as error:
        raise failures.invalid_argument("the text is no day that exists") from error
    seconds = days * _DAY + _clock(hour, minute, second)
    if sign:
        seconds -= _clock(int(offset_hours), int(offset_minutes), 0) * (1 if sign == "+" else -1)
    nanoseconds = int((fraction or "").ljust(9, "0"))
    return checked_timestamp(seconds * NANOSECONDS + nanoseconds)


def parse_moment(text: str) -> Timestamp:
    """Read the forms of ISO 8601 that name one moment: docs/fields.md, "The event".

    Raises:
        EvaluationError: as :func:`parse_timestamp`.
    """
    match = _MOMENT.fullmatch(text)
    if not match:
        raise failures.invalid_argument("the text isn't a moment of ISO 8601")
    year, _, month, day, hour, _, minute, second, fraction = match.groups()[:9]
    sign, offset_hours, offset_minutes = match.groups()[9:]
    clock = f"{hour}:{minute or '00'}:{second or '00'}{'.' + fraction if fraction else ''}"
    offset = f"{sign}{offset_hours}:{offset_minutes or '00'}" if sign else "Z"
    return parse_timestamp(f"{year}-{month}-{day}T{clock}{offset}")


def _clock(hour: int, minute: int, second: int) -> int:
    if hour > 23 or minute > 59 or second > 59:
        raise failures.invalid_argument("the text is no time of day that exists")
    return hour * 3600 + minute * 60 + second


def timestamp_text(moment: Timestamp) -> str:
    """RFC 3339 in UTC, the fraction without trailing zeros: ``2009-02-13T23:31:30.5Z``."""
    seconds, nanoseconds = divmod(moment.nanoseconds, NANOSECONDS)
    days, rest = divmod(seconds, _DAY)
    day = date.fromordinal(days + _EPOCH_DAY)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{day.isoformat()}T{clock}{_fraction(nanoseconds)}Z"


def _fraction(nanoseconds: int) -> str:
    digits = f"{nanoseconds:09}".rstrip("0")
    return f".{digits}" if digits else ""


_UNITS = {
    "h": 3600 * NANOSECONDS,
    "m": 60 * NANOSECONDS,
    "s": NANOSECONDS,
    "ms": 1_000_000,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, micro sign
    "μs": 1_000,  # U+03BC, Greek mu
    "ns": 1,
}
_PART = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(h|ms|us|µs|μs|ns|m|s)"
_DURATION = re.compile(f"[+-]?(?:0|(?:{_PART})+)")
# Digits of a fraction that are read; an hour has fewer than 10**13 nanoseconds.
_FRACTION_DIGITS = 18


def parse_duration(text: str) -> Duration:
    """Read numbers with units, the same unit as often as one likes: ``1h30m``, ``-1.5s``, ``0``.

    Units are ``h m s ms us ns`` (and ``µs``).  The fraction of each part is exact, cut
    below the nanosecond; its digits past the eighteenth are ignored.

    Raises:
        EvaluationError: ``invalid_argument`` when the text is not of this form;
            ``overflow`` when it is out of range.
    """
    if not _DURATION.fullmatch(text):
        raise failures.invalid_argument("the text is no duration")
    total = 0
    for number, unit in re.findall(_PART, text):
        whole, _, fraction = number.partition(".")
        whole, fraction = whole.lstrip("0"), fraction[:_FRACTION_DIGITS]
        if len(whole) > 20:
            raise failures.overflow("duration")
        total += int(whole or 0) * _UNITS[unit]
        total += int(fraction or 0) * _UNITS[unit] // 10 ** len(fraction)
    return checked_duration(-total if text.startswith("-") else total)


def duration_text(length: Duration) -> str:
    """Seconds, exact, the fraction without trailing zeros: ``-90.5s``."""
    seconds, nanoseconds = divmod(abs(length.nanoseconds), NANOSECONDS)
    sign = "-" if length.nanoseconds < 0 else ""
    return f"{sign}{seconds}{_fraction(nanoseconds)}s"


# --- zones --------------------------------------------------------------------------------

_OFFSET = re.compile(r"([+-]?)([0-9]{2}):([0-9]{2})")
_ZONES = frozenset(
    (resources.files("tzdata") / "zones").read_text(encoding="utf-8").split()
)  # The names come from the package, not the machine, so every host knows the same zones.


def parse_zone(name: str) -> tzinfo:
    """The zone of an IANA name (``Europe/Amsterdam``) or an offset (``-02:30``, ``02:00``).

    Names are compared with their case; ``UTC`` is one.  Offsets reach 23:59.

    Raises:
        EvaluationError: ``invalid_argument`` when the zone doesn't exist.
    """
    offset = _OFFSET.fullmatch(name)
    if offset:
        seconds = _clock(int(offset[2]), int(offset[3]), 0)
        return timezone(timedelta(seconds=-seconds if offset[1] == "-" else seconds))
    if name not in _ZONES:
        raise failures.invalid_argument("there is no such time zone")
    entry = resources.files("tzdata").joinpath("zoneinfo", *name.split("/"))
    with entry.open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


# Zones are evaluated this far from the ends of time, where Python's calendar would run out; no zone
# changes its offset there.
_MARGIN = 2 * _DAY
_FIRST = TIMESTAMP_MIN // NANOSECONDS + _MARGIN
_LAST = TIMESTAMP_MAX // NANOSECONDS - _MARGIN
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _local_seconds(moment: Timestamp, zone: str) -> int:
    """Seconds since 1970-01-01T00:00:00 on the clocks of a zone, rounded down."""
    seconds = moment.nanoseconds // NANOSECONDS
    asked = _EPOCH + timedelta(seconds=max(_FIRST, min(seconds, _LAST)))
    offset = asked.astimezone(parse_zone(zone)).utcoffset() or timedelta()
    return seconds + offset // timedelta(seconds=1)


_DAYS_IN_400_YEARS = 146_097


def _local_date(moment: Timestamp, zone: str) -> date:
    """The day in a zone.

    The years 0 and 10000, which only zones can reach, are represented by the years 400 and 9600 of
    the same calendar; ``_year`` undoes it.
    """
    ordinal = _local_seconds(moment, zone) // _DAY + _EPOCH_DAY
    if ordinal < date.min.toordinal():
        ordinal += _DAYS_IN_400_YEARS
    elif ordinal > date.max.toordinal():
        ordinal -= _DAYS_IN_400_YEARS
    return date.fromordinal(ordinal)


def _second_of_day(moment: Timestamp, zone: str) -> int:
    return _local_seconds(moment, zone) % _DAY


# --- parts of a timestamp -----------------------------------------------------------------


@overload("timestamp.getFullYear() -> int", "timestamp.getFullYear(string) -> int")
def full_year(moment: Timestamp, zone: str = "UTC") -> int:
    """The year, ``timestamp("2009-02-13T23:31:30Z").getFullYear() == 2009``."""
    year = _local_date(moment, zone).year
    seconds = moment.nanoseconds // NANOSECONDS
    if seconds < _FIRST and year > 1:
        return year - 400
    return year + 400 if seconds > _LAST and year < 9999 else year


@overload("timestamp.getMonth() -> int", "timestamp.getMonth(string) -> int")
def month(moment: Timestamp, zone: str = "UTC") -> int:
    """The month, January is 0."""
    return _local_date(moment, zone).month - 1


@overload("timestamp.getDayOfYear() -> int", "timestamp.getDayOfYear(string) -> int")
def day_of_year(moment: Timestamp, zone: str = "UTC") -> int:
    """The day of the year, the first of January is 0."""
    return _local_date(moment, zone).timetuple().tm_yday - 1


@overload("timestamp.getDayOfMonth() -> int", "timestamp.getDayOfMonth(string) -> int")
def day_of_month(moment: Timestamp, zone: str = "UTC") -> int:
    """The day of the month, the first is 0."""
    return _local_date(moment, zone).day - 1


@overload("timestamp.getDate() -> int", "timestamp.getDate(string) -> int")
def date_of_month(moment: Timestamp, zone: str = "UTC") -> int:
    """The day of the month, the first is 1."""
    return _local_date(moment, zone).day


@overload("timestamp.getDayOfWeek() -> int", "timestamp.getDayOfWeek(string) -> int")
def day_of_week(moment: Timestamp, zone: str = "UTC") -> int:
    """The day of the week, Sunday is 0."""
    return _local_date(moment, zone).isoweekday() % 7


@overload("timestamp.getHours() -> int", "timestamp.getHours(string) -> int")
def hours(moment: Timestamp, zone: str = "UTC") -> int:
    """The hour, 0 to 23."""
    return _second_of_day(moment, zone) // 3600


@overload("timestamp.getMinutes() -> int", "timestamp.getMinutes(string) -> int")
def minutes(moment: Timestamp, zone: str = "UTC") -> int:
    """The minute of the hour, 0 to 59."""
    return _second_of_day(moment, zone) // 60 % 60


@overload("timestamp.getSeconds() -> int", "timestamp.getSeconds(string) -> int")
def seconds(moment: Timestamp, zone: str = "UTC") -> int:
    """The second of the minute, 0 to 59."""
    return _second_of_day(moment, zone) % 60


@overload("timestamp.getMilliseconds() -> int", "timestamp.getMilliseconds(string) -> int")
def milliseconds(moment: Timestamp, zone: str = "UTC") -> int:
    """The millisecond of the second, 0 to 999, rounded down."""
    parse_zone(zone)
    return moment.nanoseconds // 1_000_000 % 1000


# --- parts of a duration ------------------------------------------------------------------


def _whole(length: Duration, unit: int) -> int:
    """How often the unit fits into the duration, rounded toward zero."""
    count = abs(length.nanoseconds) // unit
    return -count if length.nanoseconds < 0 else count


@overload("duration.getHours() -> int")
def duration_hours(length: Duration) -> int:
    """The whole duration in hours, ``duration("10000s").getHours() == 2``."""
    return _whole(length, 3600 * NANOSECONDS)


@overload("duration.getMinutes() -> int")
def duration_minutes(length: Duration) -> int:
    """The whole duration in minutes, ``duration("3730s").getMinutes() == 62``."""
    return _whole(length, 60 * NANOSECONDS)


@overload("duration.getSeconds() -> int")
def duration_seconds(length: Duration) -> int:
    """The whole duration in seconds, ``duration("3730s").getSeconds() == 3730``."""
    return _whole(length, NANOSECONDS)


@overload("duration.getMilliseconds() -> int")
def duration_milliseconds(length: Duration) -> int:
    """The part below a second, in milliseconds: ``duration("1.5s").getMilliseconds() == 500``.

    Of a negative duration it is negative or 0.
    """
    rest = _whole(length, 1_000_000)
    return rest % 1000 if rest >= 0 else -(-rest % 1000)
