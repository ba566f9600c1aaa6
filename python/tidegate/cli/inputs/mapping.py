"""Mappings from event members to log names: given, known or guessed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import click
import yaml

from tidegate.cli.inputs.addresses import address_of
from tidegate.cli.inputs.errors import UnreadableLineError
from tidegate.cli.inputs.event import (
    any_time,
    event_of,
    read_protocol,
    request_line,
    target_of,
)
from tidegate.evaluation.target import query_members

Mapping: TypeAlias = "dict[str, tuple[str, ...]]"
"""An event member to its log names; the first one present in a line counts."""

MEMBERS = (
    "method", "scheme", "host", "path", "client_ip", "user_agent", "referer", "target", "line",
    "query", "protocol",
)  # fmt: skip
"""Members of a request. ``target`` is path and parameters, ``line`` a whole request line, and
``query`` the parameters as sent."""
GROUPS = ("headers", "query_params", "cookies", "route_params")
PRESETS: dict[str, Mapping] = {
    "cloudflare": {
        "observed_at": ("EdgeStartTimestamp", "Datetime"),
        "request.client_ip": ("ClientIP",),
        "request.method": ("ClientRequestMethod",),
        "request.protocol": ("ClientRequestProtocol",),
        "request.scheme": ("ClientRequestScheme",),
        "request.host": ("ClientRequestHost",),
        "request.target": ("ClientRequestURI", "ClientRequestPath"),
        "request.user_agent": ("ClientRequestUserAgent",),
        "request.referer": ("ClientRequestReferer",),
        "fields.status": ("EdgeResponseStatus",),
        "fields.bytes": ("EdgeResponseBytes",),
        "fields.country": ("ClientCountry",),
    },
    "gcp": {
        "observed_at": ("timestamp", "receiveTimestamp"),
        "request.client_ip": ("httpRequest.remoteIp",),
        "request.method": ("httpRequest.requestMethod",),
        "request.protocol": ("httpRequest.protocol",),
        "request.target": ("httpRequest.requestUrl",),
        "request.user_agent": ("httpRequest.userAgent",),
        "request.referer": ("httpRequest.referer",),
        "fields.status": ("httpRequest.status",),
        "fields.bytes": ("httpRequest.responseSize",),
    },
    "ecs": {
        "observed_at": ("@timestamp",),
        "request.client_ip": ("client.ip", "client.address", "source.ip", "source.address"),
        "request.method": ("http.request.method",),
        "request.protocol": ("http.version",),
        "request.scheme": ("url.scheme",),
        "request.host": ("url.domain",),
        "request.target": ("url.original", "url.full", "url.path"),
        "request.query": ("url.query",),
        "request.user_agent": ("user_agent.original",),
        "request.referer": ("http.request.referrer",),
        "fields.status": ("http.response.status_code",),
        "fields.bytes": ("http.response.body.bytes", "http.response.bytes"),
    },
    "nginx-json": {
        "observed_at": (
            "time_iso8601", "msec", "time_local", "@timestamp", "timestamp", "time",
        ),
        "request.client_ip": ("remote_addr", "realip_remote_addr"),
        "request.headers.x-forwarded-for": ("http_x_forwarded_for", "x_forwarded_for"),
        "request.method": ("request_method",),
        "request.protocol": ("server_protocol",),
        "request.scheme": ("scheme",),
        "request.host": ("http_host", "host", "server_name"),
        "request.line": ("request",),
        "request.target": ("request_uri", "uri"),
        "request.query": ("args", "query_string"),
        "request.user_agent": ("http_user_agent",),
        "request.referer": ("http_referer", "http_referrer"),
        "fields.status": ("status",),
        "fields.bytes": ("body_bytes_sent", "bytes_sent"),
    },
}  # fmt: skip
_GUESSED: Mapping = {
    "observed_at": (
        "timestamp", "time", "datetime", "ts", "timeiso8601", "timelocal", "msec", "starttime",
        "requesttime", "date", "edgestarttimestamp", "eventtime", "startutc", "observedat",
    ),
    "request.client_ip": (
        "clientip", "remoteaddr", "remoteip", "clientaddress", "clientaddr", "cip", "sourceip",
        "srcip", "ip", "ipaddress", "remoteaddress", "remotehost", "clienthost", "client",
        "visitorip", "peer", "address", "source", "src",
    ),
    "request.headers.x-forwarded-for": ("xforwardedfor", "httpxforwardedfor", "xff"),
    "request.method": (
        "method", "requestmethod", "httpmethod", "verb", "clientrequestmethod", "csmethod",
        "httprequestmethod", "reqmethod",
    ),
    "request.protocol": (
        "serverprotocol", "requestprotocol", "clientrequestprotocol", "httpversion", "protocol",
        "proto", "csversion", "csprotocolversion",
    ),
    "request.scheme": ("scheme", "requestscheme", "clientrequestscheme", "urlscheme"),
    "request.host": (
        "host", "httphost", "requesthost", "clientrequesthost", "vhost", "servername", "domain",
        "urldomain", "authority", "cshost",
    ),
    "request.line": ("request", "requestline", "firstline"),
    "request.target": (
        "requesturi", "uri", "url", "target", "path", "requestpath", "requesturl", "urloriginal",
        "urlpath", "clientrequesturi", "httpurl", "originalurl", "csuristem", "endpoint", "requrl",
    ),
    "request.query": ("query", "querystring", "args", "csuriquery", "urlquery"),
    "request.user_agent": (
        "useragent", "httpuseragent", "agent", "ua", "useragentoriginal", "csuseragent",
        "clientrequestuseragent",
    ),
    "request.referer": (
        "referer", "referrer", "httpreferer", "httpreferrer", "clientrequestreferer", "csreferer",
    ),
    "fields.status": (
        "status", "statuscode", "responsestatus", "httpstatus", "code", "scstatus",
        "edgeresponsestatus", "downstreamstatus", "responsestatuscode", "rescode",
    ),
    "fields.bytes": (
        "bytes", "bodybytessent", "bytessent", "size", "responsesize", "responsebytes", "scbytes",
        "edgeresponsebytes", "contentlength",
    ),
}  # fmt: skip
"""Common log names without punctuation, the likeliest first."""
_ADDRESS = "request.client_ip"


def preset_or_file(name: str) -> Mapping:
    """A mapping from a preset's name, or from a file.

    Raises:
        click.BadParameter: the preset or file doesn't exist, or the file doesn't map event members
            to names.
    """
    if name in PRESETS:
        return PRESETS[name]
    path = Path(name)
    if not path.is_file():
        raise click.BadParameter(
            f"no such file: `{name}`, and the presets are {', '.join(PRESETS)}"
        )
    return read_mapping(path)


def read_mapping(path: Path) -> Mapping:
    """The mapping in a file.

    Raises:
        click.BadParameter: the file doesn't map event members to names.
    """
    try:
        content = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise click.BadParameter(f"`{path}` cannot be read: {reason}") from None
    if not isinstance(content, dict) or not content:
        raise click.BadParameter(
            f"`{path}` must map members of an event to names of the log, such as"
            " `request.client_ip: remote_addr`"
        )
    return {str(member): _names(path, str(member), each) for member, each in content.items()}


def _names(path: Path, member: str, given: object) -> tuple[str, ...]:
    names = given if isinstance(given, list) and given else [given]
    if not _is_member(member):
        raise click.BadParameter(
            f"`{path}`: an event has no member `{member}`; there are observed_at,"
            f" {', '.join(f'request.{each}' for each in MEMBERS)},"
            f" {', '.join(f'request.{each}.NAME' for each in GROUPS)}, fields.NAME"
        )
    if not all(isinstance(name, str) for name in names):
        raise click.BadParameter(f"`{path}`: `{member}` needs a name of the log, or several")
    return tuple(names)


def _is_member(member: str) -> bool:
    group, _, rest = member.partition(".")
    if group == "request":
        name, _, inner = rest.partition(".")
        return name in GROUPS and bool(inner) if inner else name in MEMBERS
    return member == "observed_at" or (group == "fields" and bool(rest))


def of_object(entry: dict[str, Any], mapping: Mapping) -> bytes:
    """The event in an object of any shape.

    Args:
        entry: the object.
        mapping: an event member's name, such as ``request.client_ip``, to names in the object, with
            dots for nested ones.

    Raises:
        UnreadableLineError: the object has none of the names, its time isn't one, or its client
            isn't an address.
    """
    found = {}
    for member, names in mapping.items():
        value = next((value for name in names if (value := _found(entry, name)) is not None), None)
        if value is not None:
            found[member] = value
    if not found:
        raise UnreadableLineError(
            "the object has none of the names that the mapping has; `tidegate mapping guess FILE`"
            " writes one for a log"
        )
    request: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    if "request.line" in found:
        request |= request_line(str(found.pop("request.line")))
    if "request.target" in found:
        request |= target_of(str(found.pop("request.target")))
    query = found.pop("request.query", None)
    if query and "query_params" not in request:
        request |= query_members(str(query))
    observed_at = any_time(found.pop("observed_at", None))
    for member, value in found.items():
        group, _, rest = member.partition(".")
        if group == "fields":
            fields[rest] = value
        else:
            _put(request, rest, value)
    return event_of(request, fields, observed_at)


def _found(entry: Any, name: str) -> Any:
    """The value of a name; a dot in it may be part of a member's name or lead deeper."""
    if not isinstance(entry, dict):
        return None
    if name in entry:
        return entry[name]
    first, dot, rest = name.partition(".")
    while dot:
        if first in entry and (value := _found(entry[first], rest)) is not None:
            return value
        more, dot, rest = rest.partition(".")
        first = f"{first}.{more}"
    return None


def _put(request: dict[str, Any], name: str, value: Any) -> None:
    group, separator, member = name.partition(".")
    if separator:
        request.setdefault(group, {})[member] = value
    else:
        request[group] = value


def guessed(entries: Sequence[dict[str, Any]]) -> Mapping:
    """Guess a mapping from the names and values of some log objects."""
    names = dict.fromkeys(name for entry in entries for name in _paths(entry))
    found: Mapping = {}
    for member, likely in _GUESSED.items():
        best = min(
            (
                (likely.index(word), name)
                for name in names
                for word in _words(name)
                if word in likely and _fits(member, name, entries)
            ),
            default=None,
        )
        if best is not None:
            found[member] = (best[1],)
    # A request line includes the target and the method.
    if "request.target" in found:
        found.pop("request.line", None)
    return found


def _paths(entry: dict[str, Any], before: str = "") -> Iterable[str]:
    for name, value in entry.items():
        if isinstance(value, dict):
            yield from _paths(value, f"{before}{name}.")
        else:
            yield before + name


def _words(name: str) -> Iterable[str]:
    """A name without punctuation, whole and from each of its dots on: `client.ip` is `clientip`."""
    parts = name.split(".")
    for start in range(len(parts)):
        yield "".join(each for each in "".join(parts[start:]).lower() if each.isalnum())


def _fits(member: str, name: str, entries: Sequence[dict[str, Any]]) -> bool:
    """Whether a name's values fit the member; a header alone has no values."""
    values = [value for entry in entries if (value := _found(entry, name)) not in (None, "", "-")]
    if member == _ADDRESS:
        return all(
            isinstance(value, str)
            and all(address_of(each) is not None for each in value.split(","))
            for value in values
        )
    if member == "request.line":
        return all(isinstance(value, str) and " HTTP/" in value for value in values)
    if member == "request.protocol":
        return all(read_protocol(str(value)) is not None for value in values)
    if member == "observed_at":
        return all(_is_time(value) for value in values)
    return all(isinstance(value, str | int | float) for value in values)


def _is_time(value: object) -> bool:
    try:
        any_time(value)
    except UnreadableLineError:
        return False
    return True
