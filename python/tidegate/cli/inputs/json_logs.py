"""Access logs in lines of JSON: Caddy's, Traefik's, and any other by a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from tidegate.cli.inputs.event import UnreadableLineError, any_time, event_of, target_of

_TRAEFIK_HEADER = "request_"


def read_object(text: str) -> dict[str, Any]:
    """The object of a line.

    Raises:
        UnreadableLineError: the line is no JSON object.
    """
    try:
        found = orjson.loads(text)
    except ValueError as error:
        raise UnreadableLineError(f"the line is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise UnreadableLineError("the line is no JSON object")
    return found


def caddy(text: str) -> bytes:
    """Caddy's form.

    Raises:
        UnreadableLineError: the line has another form.
    """
    entry = read_object(text)
    sent = entry.get("request")
    if not isinstance(sent, dict) or "uri" not in sent:
        raise UnreadableLineError("the object has no member `request.uri`, which Caddy writes")
    request = target_of(str(sent["uri"])) | {
        "method": sent.get("method"),
        "host": sent.get("host"),
        "scheme": "https" if sent.get("tls") else "http",
        "client_ip": sent.get("client_ip") or sent.get("remote_ip"),
        "headers": sent.get("headers"),
    }
    fields = {"status": entry.get("status"), "bytes": entry.get("size")}
    return event_of(request, fields, any_time(entry.get("ts")))


def traefik_json(text: str) -> bytes:
    """Traefik's form in JSON.

    Raises:
        UnreadableLineError: the line has another form.
    """
    entry = read_object(text)
    if "RequestPath" not in entry:
        raise UnreadableLineError("the object has no member `RequestPath`, which Traefik writes")
    headers = {
        name.removeprefix(_TRAEFIK_HEADER): value
        for name, value in entry.items()
        if name.startswith(_TRAEFIK_HEADER) and isinstance(value, str)
    }
    request = target_of(str(entry["RequestPath"])) | {
        "method": entry.get("RequestMethod"),
        "host": entry.get("RequestHost"),
        "scheme": entry.get("RequestScheme"),
        "client_ip": entry.get("ClientHost"),
        "headers": headers,
    }
    fields = {
        "status": entry.get("DownstreamStatus"),
        "bytes": entry.get("DownstreamContentSize"),
        "router": entry.get("RouterName"),
    }
    return event_of(request, fields, any_time(entry.get("StartUTC") or entry.get("time")))


def mapped(text: str, mapping: Mapping[str, str]) -> bytes:
    """An object of any shape.

    Args:
        text: the line.
        mapping: the name of an event's member, such as ``request.client_ip``, to the name of the
            object's, with dots where it lies deeper; ``request.target`` is path and parameters.

    Raises:
        UnreadableLineError: the line is no object, or a time in it is none.
    """
    entry = read_object(text)
    request: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    observed_at = None
    for member, name in mapping.items():
        value = _found(entry, name)
        if value is None:
            continue
        group, _, rest = member.partition(".")
        if member == "observed_at":
            observed_at = any_time(value)
        elif member == "request.target":
            request |= target_of(str(value))
        elif group == "fields":
            fields[rest] = value
        else:
            _put(request, rest, value)
    return event_of(request, fields, observed_at)


def _found(entry: dict[str, Any], name: str) -> Any:
    if name in entry:
        return entry[name]
    found: Any = entry
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _put(request: dict[str, Any], name: str, value: Any) -> None:
    group, separator, member = name.partition(".")
    if separator:
        request.setdefault(group, {})[member] = value
    else:
        request[group] = value
