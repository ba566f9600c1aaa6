"""Values of the language as short text, for people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson

from tidegate.values import (
    Duration,
    Map,
    OptionalValue,
    Timestamp,
    TypeName,
    UInt,
    kind_of,
    to_wire,
)

_LONGEST = 120
_MOST = 6
_DEEPEST = 3
_SECOND = 1_000_000_000


def show(value: Any, depth: int = 0) -> str:
    """A value as an author would write it, cut where it gets long."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return show_text(value)
        case UInt():
            return f"{int(value)}u"
        case list():
            return f"[{_some((show(each, depth + 1) for each in value), len(value), depth)}]"
        case Map():
            entries = (f"{show(k, depth + 1)}: {show(v, depth + 1)}" for k, v in value.items())
            return f"{{{_some(entries, len(value), depth)}}}"
        case Timestamp():
            return show_time(value.nanoseconds)
        case Duration():
            return f"{value.nanoseconds / _SECOND:g}s"
        case TypeName():
            return value.name
        case OptionalValue():
            return (
                f"optional.of({show(value.content, depth + 1)})"
                if value.is_present
                else "optional.none()"
            )
        case bytes():
            return clipped(repr(value))
    return str(to_wire(value)["value"]) if kind_of(value) else repr(value)


def show_text(text: str) -> str:
    """A string in double quotes; what is not printable is escaped."""
    quoted = escaped(orjson.dumps(text[:_LONGEST]).decode())
    return quoted if len(text) <= _LONGEST else f'{quoted[:-1]}…"'


def show_time(nanoseconds: int) -> str:
    """A moment in UTC, to the millisecond."""
    moment = datetime.fromtimestamp(nanoseconds // _SECOND, UTC)
    millis = nanoseconds % _SECOND // 1_000_000
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{millis:03}Z"


def escaped(text: str) -> str:
    """A text that does nothing to a terminal but appear on it."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)


def clipped(text: str) -> str:
    """A text on one line, cut where it gets long."""
    line = escaped(" ".join(text.split()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _some(parts: Any, count: int, depth: int) -> str:
    if depth >= _DEEPEST:
        return "…" if count else ""
    shown = [part for part, _ in zip(parts, range(_MOST), strict=False)]
    return ", ".join([*shown, f"… {count - _MOST} more"] if count > _MOST else shown)
