"""Access logs in lines of text: combined (Apache, nginx), Traefik's, and Amazon's load balancer's.

All patterns are linear: no line, however it is made, takes more than one pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

from tidegate.cli.inputs.event import UnreadableLineError, event_of, log_time, request_line

_COMMON = re.compile(
    r'(\S+) (\S+) ([^\[]+) \[([^\]]*)\] "((?:[^"\\]|\\.)*)" (\d{3}|-) (\d+|-)(.*)', re.DOTALL
)
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)', re.DOTALL)
_ESCAPE = re.compile(r'\\(?:x([0-9A-Fa-f]{2})|(["\\bnrtv]))')
_CONTROLS = {"b": "\b", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ALB_TOKENS = 14
"""A line of any age has at least this many; newer lines have more."""
_ALB_CREATED = 21


def combined(text: str) -> bytes:
    """Apache's combined and common forms; anything after the user agent is skipped.

    Raises:
        UnreadableLineError: the line has another form.
    """
    return _common(text, lambda _: ({}, {}))


def nginx(text: str) -> bytes:
    """nginx's combined form, and its common extension by ``"$http_x_forwarded_for"``.

    Raises:
        UnreadableLineError: the line has another form.
    """
    return _common(text, _forwarded)


def traefik_text(text: str) -> bytes:
    """Traefik's form: combined, then a count, the router, the server and the duration.

    Raises:
        UnreadableLineError: the line has another form.
    """
    return _common(text, _router)


def alb(text: str) -> bytes:
    """The form of Amazon's Application Load Balancer.

    Raises:
        UnreadableLineError: the line has another form.
    """
    tokens = _tokens(text)
    if len(tokens) < _ALB_TOKENS or "T" not in tokens[1] or not tokens[12]:
        raise UnreadableLineError(
            "the line has not the members of a load balancer's log: type, time, balancer, client,"
            f" target, ... ({len(tokens)} of {_ALB_TOKENS} are there)"
        )
    created = tokens[_ALB_CREATED] if len(tokens) > _ALB_CREATED else tokens[1]
    address = tokens[3].rpartition(":")[0].strip("[]")
    request = {"client_ip": address, "user_agent": tokens[13]}
    fields = {"status": tokens[8], "target_status": tokens[9], "bytes": tokens[11]}
    return event_of(request_line(tokens[12]) | request, fields, created)


def _common(
    text: str, beyond: Callable[[list[str]], tuple[dict[str, Any], dict[str, Any]]]
) -> bytes:
    """The common form, with what ``beyond`` makes of the tokens after the user agent."""
    match = _COMMON.fullmatch(text)
    if match is None:
        raise UnreadableLineError(
            'the line is not like `client - user [time] "request" status bytes "referer" "agent"`'
        )
    client, _, user, time, line, status, size, rest = match.groups()
    referer, agent, *others = [*_tokens(rest), "", ""]
    request, fields = beyond(others)
    request = request_line(_unescaped(line)) | request
    request |= {"client_ip": client, "referer": referer, "user_agent": agent}
    fields |= {"status": status, "bytes": size, "user": user}
    return event_of(request, fields, log_time(time))


def _forwarded(others: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    first = others[0] if others else ""
    if not _is_address(first.partition(",")[0].strip()):
        return {}, {}
    return {"headers": {"x-forwarded-for": first}}, {}


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _router(others: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    if len(others) < 4 or not others[3].endswith("ms"):
        raise UnreadableLineError(
            "what follows the user agent is not Traefik's count, router, server and duration"
        )
    return {}, {"router": others[1], "duration_ms": others[3].removesuffix("ms")}


def _tokens(text: str) -> list[str]:
    return [
        _unescaped(match[1]) if match[1] is not None else match[2]
        for match in _TOKEN.finditer(text)
    ]


def _unescaped(text: str) -> str:
    """A quoted text as it was before it was logged."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(
        lambda found: chr(int(found[1], 16)) if found[1] else _CONTROLS.get(found[2], found[2]),
        text,
    )
