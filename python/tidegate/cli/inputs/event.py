"""A line of a log as an event."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

import orjson

from tidegate.errors import EventError

_MONTHS = {
    name: f"{number:02}"
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_LOG_TIME = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d\d)(\d\d)")
_ABSENT = (None, "", "-")


class UnreadableLineError(EventError):
    """A line has not the form it is read in."""

    code = "unreadable-line"


class LongLineError(EventError):
    """A line is longer than any event may be."""

    code = "line-too-long"


def event_of(
    request: dict[str, Any], fields: dict[str, Any], observed_at: str | None = None
) -> bytes:
    """An event as JSON; members that a log marks as absent are left out."""
    event = {
        "observed_at": observed_at,
        "request": {name: value for name, value in request.items() if value not in _ABSENT},
        "fields": {name: value for name, value in fields.items() if value not in _ABSENT},
    }
    return orjson.dumps(event)


def request_line(line: str) -> dict[str, Any]:
    """Method, path and parameters of a request line; of one that is none, its text as the path.

    Servers log what was sent: the first bytes of a TLS handshake too.
    """
    method, _, rest = line.partition(" ")
    target, _, protocol = rest.rpartition(" ")
    if not protocol.startswith("HTTP/"):
        return {"path": line}
    return {"method": method} | target_of(target)


def target_of(target: str) -> dict[str, Any]:
    """Path and parameters of a request's target, and of an absolute one scheme and host."""
    parts: dict[str, Any] = {}
    scheme, separator, rest = target.partition("://")
    if separator and "/" not in scheme and "?" not in scheme:
        host, _, target = rest.partition("/")
        parts = {"scheme": scheme, "host": host}
        target = f"/{target}"
    path, _, query = target.partition("?")
    parts["path"] = path
    if query:
        parts["query_params"] = _parameters(query)
    return parts


def _parameters(query: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        found.setdefault(name, []).append(value)
    return found


def log_time(text: str) -> str:
    """A time as logs of Apache and nginx write it, in the form of RFC 3339.

    Raises:
        UnreadableLineError: it is none.
    """
    match = _LOG_TIME.fullmatch(text)
    if match is None or match[2] not in _MONTHS:
        raise UnreadableLineError(f"`{text[:40]}` is no time such as 10/Oct/2000:13:55:36 -0700")
    day, month, year, time, hours, minutes = match.groups()
    return f"{year}-{_MONTHS[month]}-{day}T{time}{hours}:{minutes}"


def any_time(value: object) -> str | None:
    """A time as JSON logs write it: RFC 3339, the form of Apache, or seconds or milliseconds.

    Raises:
        UnreadableLineError: it is none of these.
    """
    match value:
        case None | "":
            return None
        case bool():
            raise UnreadableLineError("a bool is no time")
        case int() | float():
            # No log has a time of the year 5138 in seconds; in milliseconds all have.
            seconds = value / 1000 if value > 1e11 else value
            try:
                return datetime.fromtimestamp(seconds, UTC).isoformat()
            except (OverflowError, ValueError, OSError):
                raise UnreadableLineError("the number is no time") from None
        case str():
            return log_time(value) if "/" in value else value
    raise UnreadableLineError(f"a time is a text or a number, not `{type(value).__name__}`")
