"""Prefixes that log carriers put before a line: syslog, journald, Docker, Kubernetes.

All patterns are linear, and anchored at the beginning of a line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

_BYTE_ORDER_MARK = "\ufeff"
_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"
_PREFIXES = tuple(
    re.compile(pattern)
    for pattern in (
        # Kubernetes (CRI): time, stream, whether the line is complete.
        rf"{_ISO} (?:stdout|stderr) F ",
        # Syslog of RFC 5424: priority, version, time, host, program, process, message, data.
        r"<\d{1,3}>1 \S+ \S+ \S+ \S+ \S+ (?:-|(?:\[(?:[^\]\\]|\\.)*\])+) ?",
        # Syslog of RFC 3164, also as journald and rsyslog print it: time, host, program.
        rf"(?:<\d{{1,3}}>)?(?:[A-Z][a-z]{{2}} [ \d]\d (?:\d{{4}} )?\d\d:\d\d:\d\d(?:\.\d{{1,9}})?"
        rf"|{_ISO}) (?:[\w.:-]+ )?[\w./@-]+(?:\[\d+\])?: ?",
        r"<\d{1,3}>(?:[\w./-]+(?:\[\d+\])?: )?",
        # Names of containers and pods: docker compose, kubectl logs --prefix.
        r"[\w.-]+ +\| ",
        r"\[pod/[\w./-]+\] ",
        # Times from docker logs -t and kubectl logs --timestamps.
        rf"{_ISO} (?=\S)",
    )
)
_PARTIAL = re.compile(rf"{_ISO} (?:stdout|stderr) P ".encode())
_WHOLE = re.compile(rf"{_ISO} (?:stdout|stderr) F ".encode())
_MOST = 4
"""Most carriers in a row: a pod's log forwarded by rsyslog has two."""
_CARRIED = (("log", "stream"), ("MESSAGE", "__REALTIME_TIMESTAMP"), ("MESSAGE", "_HOSTNAME"))
"""The object member with the line, and a member that identifies the carrier: Docker, journald."""


def partial_content(line: bytes) -> bytes | None:
    """The content of the first part of a line split by Kubernetes; None for other lines."""
    match = _PARTIAL.match(line)
    return None if match is None else line[match.end() :].rstrip(b"\r\n")


def without_carrier(line: bytes) -> bytes:
    """The last part of a line split by Kubernetes."""
    match = _WHOLE.match(line)
    return line if match is None else line[match.end() :]


def bare(text: str) -> str:
    """A line without byte order mark, taken out of its carrier's object."""
    text = text.removeprefix(_BYTE_ORDER_MARK)
    if not text.startswith('{"'):
        return text
    if '"MESSAGE"' not in text and '"log"' not in text:
        return text
    try:
        found = orjson.loads(text)
    except ValueError:
        return text
    for name, carrier in _CARRIED:
        if isinstance(found, dict) and carrier in found and isinstance(found.get(name), str):
            return str(found[name]).strip()
    return text


def without_prefix(text: str) -> str | None:
    """A line without its carrier's prefix; None if it has no known one."""
    for pattern in _PREFIXES:
        match = pattern.match(text)
        if match is not None and match.end() < len(text):
            return text[match.end() :]
    return None


def readings(text: str) -> Iterator[str]:
    """A line as it is, then with one prefix after another removed."""
    rest: str | None = text
    for _ in range(_MOST + 1):
        if rest is None:
            return
        found = bare(rest)
        yield found
        rest = without_prefix(found)
