"""Text access logs: combined (Apache, nginx), Traefik, Envoy, HAProxy, Amazon's load balancer.

All patterns are linear: no line takes more than one pass, however it is crafted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tidegate.cli.inputs.addresses import address_of
from tidegate.cli.inputs.errors import UnreadableLineError
from tidegate.cli.inputs.event import any_time, event_of, log_time, request_line

_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_COMMON = re.compile(
    rf"([^\[]*(?:\[[0-9A-Fa-f:.]+\][^\[]*)?)\[([^\]]*)\] {_QUOTED} (\d{{3}}|-) (\d+|-)(.*)",
    re.DOTALL,
)
_LONGEST_KEPT = 200
"""Characters of a text that is remembered."""
_TOKEN = re.compile(rf"{_QUOTED}|(\S+)", re.DOTALL)
_ESCAPES = re.compile(r'(?:\\x[0-9A-Fa-f]{2})+|\\["\\bnrtv/]')
_CONTROLS = {"b": "\b", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_HOST = re.compile(r"(?=.*[A-Za-z_])[\w.*-]+(?::\d{1,5})?|\S+:\d{1,5}")
_HAPROXY = re.compile(
    r"(\S+):\d+ \[([^\]]+)\] (\S+) (\S+)/(\S+) ([+\d/-]+) (-?\d+) \+?(\d+) \S+ \S+ \S{4}"
    r' [+\d/]+ [\d/]+ (?:[^"]*)"((?:[^"\\]|\\.)*)"?\s*',
    re.DOTALL,
)
_ENVOY = re.compile(rf"\[([^\]]+)\] {_QUOTED} (\d+) (.*)", re.DOTALL)
_ALB_TOKENS = 14
"""The fewest fields of a line, however old; newer lines have more."""
_ALB_CREATED = 21
_ALB_TYPES = ("http", "https", "h2", "grpcs", "ws", "wss")

Beyond = Callable[[list[str]], tuple[dict[str, Any], dict[str, Any]]]


def combined(text: str) -> bytes:
    """Apache's combined and common formats; anything after the user agent is skipped.

    Raises:
        UnreadableLineError: the line has another format.
    """
    return _common(text, lambda _: ({}, {}))


def nginx(text: str) -> bytes:
    """nginx's combined format, and its common extension by ``"$http_x_forwarded_for"``.

    Raises:
        UnreadableLineError: the line has another format.
    """
    return _common(text, _forwarded)


def traefik_text(text: str) -> bytes:
    """Traefik's format: combined, then a count, the router, the server and the duration.

    Raises:
        UnreadableLineError: the line has another format.
    """
    return _common(text, _router)


def alb(text: str) -> bytes:
    """The format of Amazon's Application Load Balancer.

    Raises:
        UnreadableLineError: the line has another format.
    """
    tokens = _tokens(text)
    if len(tokens) < _ALB_TOKENS or tokens[0] not in _ALB_TYPES or not tokens[12]:
        raise UnreadableLineError(
            "the line doesn't have the members of a load balancer's log: type, time, balancer,"
            f" client, target, ... ({len(tokens)} of {_ALB_TOKENS} are there)"
        )
    created = tokens[_ALB_CREATED] if len(tokens) > _ALB_CREATED else tokens[1]
    request = {"client_ip": tokens[3], "user_agent": tokens[13]}
    fields = {"status": tokens[8], "target_status": tokens[9], "bytes": tokens[11]}
    return event_of(request_line(tokens[12]) | request, fields, any_time(created))


def haproxy(text: str) -> bytes:
    """HAProxy's HTTP format (``option httplog`` and ``httpslog``).

    Raises:
        UnreadableLineError: the line has another format.
    """
    match = _HAPROXY.fullmatch(text)
    if match is None:
        raise UnreadableLineError(
            "the line isn't like `client:port [time] frontend backend/server timers status bytes"
            ' ... "request"`'
        )
    client, time, frontend, backend, server, timers, status, size, line = match.groups()
    fields = {
        "status": None if status.startswith("-") else status,
        "bytes": size,
        "frontend": frontend,
        "backend": backend,
        "server": server,
        "duration_ms": timers.rpartition("/")[2].removeprefix("+"),
    }
    request = request_line(_unescaped(line)) | {"client_ip": client}
    return event_of(request, fields, log_time(time))


def envoy(text: str) -> bytes:
    """Envoy's default format, and Istio's extension of it.

    Raises:
        UnreadableLineError: the line has another format.
    """
    match = _ENVOY.fullmatch(text)
    last = re.findall(_QUOTED, match[4]) if match is not None else []
    if match is None or len(last) < 5:
        raise UnreadableLineError(
            'the line isn\'t like `[time] "request" status flags received sent duration time'
            ' "forwarded" "agent" "id" "authority" "upstream"`'
        )
    forwarded, agent, _, authority, _ = map(_unescaped, last[-5:])
    rest = match[4].split()
    # Istio writes the upstream's failure in quotation marks before the numbers.
    numbers = [each for each in rest if each.isdecimal()]
    request = request_line(_unescaped(match[2])) | {
        "host": authority,
        "user_agent": agent,
        "headers": {"x-forwarded-for": forwarded},
        "client_ip": _istio_peer(match[4]),
    }
    fields = {"status": match[3], "bytes": numbers[1] if len(numbers) > 1 else None}
    return event_of(request, fields, any_time(match[1]))


def _istio_peer(rest: str) -> str:
    """The downstream address that Istio writes after the upstream cluster; `-` in Envoy's own."""
    behind = rest.rpartition('"')[2].split()
    return behind[3] if len(behind) > 3 else "-"


def _common(text: str, beyond: Beyond) -> bytes:
    """The common format, with the result of ``beyond`` for the tokens after the user agent."""
    match = _COMMON.fullmatch(text)
    if match is None:
        raise UnreadableLineError(
            'the line isn\'t like `client - user [time] "request" status bytes "referer" "agent"`'
        )
    head, time, line, status, size, rest = match.groups()
    observed_at = log_time(time)
    host, client, user = _head(head) if len(head) > _LONGEST_KEPT else _known_head(head)
    referer, agent, *others = [*_tokens(rest), "", ""]
    request, fields = beyond(others)
    request = request_line(_unescaped(line)) | request
    request |= {"client_ip": client, "referer": referer, "user_agent": agent}
    if host is not None:
        request.setdefault("host", host)
    fields |= {"status": status, "bytes": size, "user": user}
    return event_of(request, fields, observed_at)


def _head(head: str) -> tuple[str | None, str, str]:
    """Host, client and user from the text before the time.

    The client comes first, or after the virtual host's name (Debian's `vhost_combined`), or after
    the addresses named by proxies.  Nothing further right can be the client, since the visitor
    chooses the user.
    """
    tokens = _tokens(head)
    if len(tokens) < 3:
        raise UnreadableLineError("before the time, client, `-` and user are needed")
    host, clients = None, []
    if len(tokens) > 3 and not _is_client(tokens[0]) and _is_client(tokens[1]):
        first = tokens.pop(0)
        if first != "-":
            host = _host(first)
    while len(tokens) > 2 and _is_client(tokens[0]):
        clients.append(tokens.pop(0))
    if not clients:
        clients.append(tokens.pop(0))
    # An ingress writes the address a second time in brackets: `192.0.2.7 - [192.0.2.7] - -`.
    rest = [each for each in tokens if not each.startswith("[")]
    user = " ".join(each for each in rest[1:] if each != "-")
    return host, " ".join(clients), user or "-"


_known_head = lru_cache(maxsize=20_000)(_head)
"""Most lines begin like an earlier one."""


def _is_client(token: str) -> bool:
    parts = [part for part in token.split(",") if part.strip()]
    return bool(parts) and all(address_of(part) is not None for part in parts)


def _host(text: str) -> str:
    if _HOST.fullmatch(text) is None:
        raise UnreadableLineError(f"`{text[:60]}` before the client isn't the name of a host")
    name, _, port = text.rpartition(":")
    return name if port.isdecimal() and name else text


def _forwarded(others: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    first = others[0] if others else ""
    if address_of(first.partition(",")[0]) is None:
        return {}, {}
    return {"headers": {"x-forwarded-for": first}}, {}


def _router(others: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    if len(others) < 4 or not others[3].endswith("ms"):
        raise UnreadableLineError(
            "the user agent isn't followed by Traefik's count, router, server and duration"
        )
    return {}, {"router": others[1], "duration_ms": others[3].removesuffix("ms")}


def _tokens(text: str) -> list[str]:
    return [
        _unescaped(match[1]) if match[1] is not None else match[2]
        for match in _TOKEN.finditer(text)
    ]


def _unescaped(text: str) -> str:
    """A quoted text as it was before logging; ``\\xHH`` are bytes of UTF-8."""
    if "\\" not in text:
        return text
    return _ESCAPES.sub(_sent, text)


def _sent(found: re.Match[str]) -> str:
    escaped = found[0]
    if escaped.startswith("\\x"):
        return bytes.fromhex(escaped.replace("\\x", "")).decode("utf-8", "replace")
    return _CONTROLS.get(escaped[1], escaped[1])
