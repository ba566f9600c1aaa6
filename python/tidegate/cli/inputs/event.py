"""Turns a log line into an event."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import orjson

from tidegate.cli.inputs.addresses import with_client
from tidegate.cli.inputs.errors import UnreadableLineError
from tidegate.evaluation.target import protocol_name, query_members, read_target
from tidegate.limits import Limits

_MONTHS = {
    name: f"{number:02}"
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_LOG_TIME = re.compile(
    r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d:\d\d:\d\d(?:[.,]\d+)?)(?: ?([+-]\d\d):?(\d\d))?"
)
_ISO_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d)?(?:[.,](\d{1,9})\d*)?"
    r"(?: ?(?:([Zz]|UTC|GMT)|([+-]\d\d)(?::?(\d\d))?))?"
)
_NUMBER = re.compile(r"\d{9,19}(\.\d+)?")
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""From the smallest number in a unit to the unit's part of a second: no log is from the year 5138
in seconds, and in a smaller unit all are."""
_ABSENT = (None, "", "-")
_PROTOCOL = re.compile(r"(?:HTTP/)?([0-9](?:\.[0-9])?)", re.IGNORECASE)
CUT = "line_cut"
"""The field that marks an event with something left out."""
PROTOCOL_UNREAD = "protocol_unread"
"""The field that marks an event whose protocol has another form than HTTP's."""
MAX_STRING = Limits().event_string_bytes
MAX_MEMBERS = Limits().event_members
MAX_EVENT = Limits().event_bytes
_GAP = "[...]"


def event_of(
    request: dict[str, Any], fields: dict[str, Any], observed_at: str | None = None
) -> bytes:
    """An event as JSON; members that a log marks as absent are left out.

    A protocol that can't be read is left out too, and a field marks the event.

    Raises:
        UnreadableClientError: the client of the request isn't an address.
    """
    protocol = request.get("protocol")
    if protocol not in _ABSENT:
        request = request | {"protocol": read_protocol(str(protocol))}
        if request["protocol"] is None:
            fields = fields | {PROTOCOL_UNREAD: True}
    event = {
        "observed_at": observed_at,
        "request": {
            name: value for name, value in with_client(request).items() if value not in _ABSENT
        },
        "fields": {name: value for name, value in fields.items() if value not in _ABSENT},
    }
    return cut(orjson.dumps(event), event)


def cut(text: bytes, event: dict[str, Any]) -> bytes:
    """An event truncated to the limits of events, marked if something was left out.

    Attacks are long, so their beginning and end are kept.
    """
    if len(text) <= MAX_STRING:
        return text
    for longest in (MAX_STRING, MAX_STRING // 4, MAX_STRING // 32, MAX_STRING // 256):
        shorter = _shorter(event, longest)
        text = orjson.dumps(shorter)
        if len(text) <= MAX_EVENT - 64:
            break
    if shorter == event:
        return text
    shorter["fields"] = {**(shorter.get("fields") or {}), CUT: True}
    return orjson.dumps(shorter)


def _shorter(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        content = value.encode()
        if len(content) <= longest:
            return value
        half = (longest - len(_GAP)) // 2
        return (
            content[:half].decode(errors="ignore") + _GAP + content[-half:].decode(errors="ignore")
        )
    if isinstance(value, list):
        kept = value if len(value) <= MAX_MEMBERS else _ends(value)
        return [_shorter(each, longest) for each in kept]
    if isinstance(value, dict):
        # Leave one member for the mark.
        pairs = list(value.items())
        kept = pairs if len(pairs) < MAX_MEMBERS else _ends(pairs)
        return {_shorter(name, longest): _shorter(each, longest) for name, each in kept}
    return value


def _ends(entries: list[Any]) -> list[Any]:
    half = MAX_MEMBERS // 2 - 1
    return entries[:half] + entries[-half:]


def read_protocol(text: str) -> str | None:
    """A protocol by the name of its standard; None if the text isn't one.

    Args:
        text: such as `HTTP/2.0`, or the version alone.
    """
    found = _PROTOCOL.fullmatch(text)
    return None if found is None else protocol_name(f"HTTP/{found[1]}")


def request_line(line: str) -> dict[str, Any]:
    """Method, protocol, path and parameters of a request line; any other text becomes the path.

    Such a text is given as the protocol too, so that the event is marked.
    Servers log whatever was sent, including the first bytes of a TLS handshake.
    """
    method, _, rest = line.partition(" ")
    target, _, protocol = rest.rpartition(" ")
    if not protocol.startswith("HTTP/"):
        return {"path": line, "protocol": line}
    return {"method": method, "protocol": protocol} | target_of(target)


def target_of(target: str) -> dict[str, Any]:
    """Path and parameters of a request target, and scheme and host of an absolute one."""
    read = read_target(target)
    parts: dict[str, Any] = {"path": read.path}
    if read.host is not None:
        parts |= {"scheme": read.scheme, "host": read.host}
    return parts | query_members(read.query or "")


def log_time(text: str) -> str:
    """Convert a time from Apache, nginx or HAProxy logs to RFC 3339.

    A time without a zone is read as UTC.

    Raises:
        UnreadableLineError: it isn't such a time.
    """
    match = _LOG_TIME.fullmatch(text)
    if match is None or match[2] not in _MONTHS:
        raise UnreadableLineError(f"`{text[:40]}` isn't a time such as 10/Oct/2000:13:55:36 -0700")
    day, month, year, time, hours, minutes = match.groups()
    zone = f"{hours}:{minutes}" if hours else "Z"
    return f"{year}-{_MONTHS[month]}-{day}T{time.replace(',', '.')[:18]}{zone}"


def any_time(value: object) -> str | None:
    """Convert a time from any log to RFC 3339.

    Accepts RFC 3339 and its variants (a blank for ``T``, ``+0100``, more digits than nanoseconds),
    Apache's format, or a number since 1970 in seconds, milliseconds, microseconds or nanoseconds,
    also as text.  A time without a zone is read as UTC.

    Raises:
        UnreadableLineError: it isn't any of these.
    """
    match value:
        case None | "" | "-":
            return None
        case bool():
            raise UnreadableLineError("a bool isn't a time")
        case int() | float():
            return _since_1970(value)
        case str():
            return _time_of_text(value.strip())
    raise UnreadableLineError(f"a time is a text or a number, not `{type(value).__name__}`")


def _time_of_text(text: str) -> str | None:
    if _NUMBER.fullmatch(text):
        return _since_1970(float(text) if "." in text else int(text))
    text = text.removeprefix("[").removesuffix("]")
    if "/" in text:
        return log_time(text)
    match = _ISO_TIME.fullmatch(text)
    if match is None:
        raise UnreadableLineError(
            f"`{text[:40]}` isn't a time such as 2026-03-02T10:00:00Z, 10/Oct/2000:13:55:36 -0700"
            " or 1772445600.397"
        )
    day, minute, second, fraction, _, hours, minutes = match.groups()
    zone = f"{hours}:{minutes or '00'}" if hours else "Z"
    return f"{day}T{minute}{second or ':00'}{'.' + fraction if fraction else ''}{zone}"


def _since_1970(number: float) -> str:
    seconds = next((number / part for least, part in _UNITS if number > least), number)
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        raise UnreadableLineError("the number isn't a time") from None
