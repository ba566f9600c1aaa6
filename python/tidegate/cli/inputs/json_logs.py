"""Access logs as JSON lines: Caddy's, Traefik's, and any other through a mapping."""

from __future__ import annotations

import re
from typing import Any

import orjson

from tidegate.cli.inputs.errors import UnreadableLineError
from tidegate.cli.inputs.event import any_time, event_of, target_of
from tidegate.cli.inputs.mapping import Mapping, of_object

_TRAEFIK_HEADER = "request_"
_BYTES = re.compile(r"(?:\\x[0-9A-Fa-f]{2})+")
_CADDY_REQUEST = "handled request"
_FORWARDED = "x-forwarded-for"


def read_object(text: str) -> dict[str, Any]:
    """The object in a line; nginx's ``\\xHH``, which JSON lacks, are bytes of UTF-8.

    Raises:
        UnreadableLineError: the line isn't a JSON object.
    """
    try:
        found = orjson.loads(text)
    except ValueError as error:
        mended = _BYTES.sub(_as_json, text)
        if mended == text:
            raise UnreadableLineError(f"the line isn't JSON: {error}") from None
        return read_object(mended)
    if not isinstance(found, dict):
        raise UnreadableLineError("the line isn't a JSON object")
    return found


def _as_json(found: re.Match[str]) -> str:
    sent = bytes.fromhex(found[0].replace("\\x", "")).decode("utf-8", "replace")
    return orjson.dumps(sent).decode()[1:-1]


def caddy(text: str) -> bytes | None:
    """Caddy's format; None for a line that isn't about a request, or about one logged elsewhere.

    Raises:
        UnreadableLineError: the line has another format.
    """
    entry = read_object(text)
    sent = entry.get("request")
    if not _is_caddy_request(entry):
        return None
    if not isinstance(sent, dict) or "uri" not in sent:
        raise UnreadableLineError("the object has no member `request.uri`, which Caddy writes")
    headers = sent.get("headers")
    headers = dict(headers) if isinstance(headers, dict) else {}
    client = sent.get("client_ip") or sent.get("remote_ip") or sent.get("remote_addr")
    if sent.get("client_ip") not in (None, sent.get("remote_ip")):
        # Caddy has already found the client behind the proxies it trusts.
        headers = {name: each for name, each in headers.items() if name.lower() != _FORWARDED}
    request = target_of(str(sent["uri"])) | {
        "method": sent.get("method"),
        "protocol": sent.get("proto"),
        "host": sent.get("host"),
        "scheme": "https" if sent.get("tls") else "http",
        "client_ip": client,
        "headers": headers or None,
    }
    fields = {"status": entry.get("status"), "bytes": entry.get("size")}
    return event_of(request, fields, any_time(entry.get("ts")))


def _is_caddy_request(entry: dict[str, Any]) -> bool:
    """Whether a line is the one that Caddy writes for each request.

    Its error log has the request a second time, and other lines have none.
    """
    logger, message = str(entry.get("logger", "")), entry.get("msg")
    if "request" not in entry and "level" in entry and message is not None:
        return False
    if logger.startswith("http.log.access") or message == _CADDY_REQUEST:
        return True
    return not logger and entry.get("level") != "error"


def traefik_json(text: str) -> bytes | None:
    """Traefik's JSON format; None for a line of its own log.

    Raises:
        UnreadableLineError: the line has another format.
    """
    entry = read_object(text)
    if "RequestPath" not in entry:
        if "level" in entry and ("msg" in entry or "message" in entry):
            return None
        raise UnreadableLineError("the object has no member `RequestPath`, which Traefik writes")
    headers = {
        name.removeprefix(_TRAEFIK_HEADER): value
        for name, value in entry.items()
        if name.startswith(_TRAEFIK_HEADER) and isinstance(value, str)
    }
    request = target_of(str(entry["RequestPath"])) | {
        "method": entry.get("RequestMethod"),
        "protocol": entry.get("RequestProtocol"),
        "host": entry.get("RequestHost"),
        "scheme": entry.get("RequestScheme"),
        "client_ip": entry.get("ClientHost") or entry.get("ClientAddr"),
        "headers": headers or None,
    }
    fields = {
        "status": entry.get("DownstreamStatus"),
        "bytes": entry.get("DownstreamContentSize"),
        "router": entry.get("RouterName"),
    }
    return event_of(request, fields, any_time(entry.get("StartUTC") or entry.get("time")))


def mapped(text: str, mapping: Mapping) -> bytes:
    """The event in a line with an object of any shape.

    Raises:
        UnreadableLineError: the line isn't an object, or doesn't fit the mapping.
    """
    return of_object(read_object(text), mapping)
