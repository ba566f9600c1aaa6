"""Values of the language as short, readable text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from tidegate.language.tree import checked
from tidegate.policy.definitions.secrets import secret_read, unread
from tidegate.values import (
    Duration,
    Map,
    OptionalValue,
    Timestamp,
    TypeName,
    UInt,
    kind_of,
)
from tidegate.wire_values import to_wire

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tidegate.evaluation.secrets.names import Names
    from tidegate.evaluation.trace import Step
    from tidegate.policy.definitions.redaction import Redaction
    from tidegate.policy.definitions.secrets import Redacts

_LONGEST = 120
_MOST = 6
_DEEPEST = 3
_SECOND = 1_000_000_000


@attrs.frozen
class Later:
    """Secrets according to definitions newer than an explanation's.

    Attributes:
        redactor: their redactor.
        redaction: the names it uses.
        names: names of secrets.
    """

    redactor: Redacts
    redaction: Redaction
    names: Names

    def secret(self, node: checked.Checked) -> str | None:
        """The name of the first hidden member that an expression reads; None if there isn't one."""
        return secret_read(node, self.names) or unread(node, self._is_kept)

    def _is_kept(self, path: tuple[str, ...]) -> bool:
        return self.redaction.keeps(path) or self.names.is_clear(path[-1])


class Shown:
    """Shows an explanation's values, with secrets as hashes.

    Args:
        redactor: creates the hashes; without one everything is shown.
        names: names of secrets.
        later: secrets by later definitions, hidden too.
    """

    def __init__(
        self, redactor: Redacts | None, names: Names | None, later: Later | None = None
    ) -> None:
        self._redactors = [each for each in (redactor, later and later.redactor) if each]
        self._names = names
        self._later = later
        self._known: dict[int, str | None] = {}

    def secrets(self, steps: Sequence[Step]) -> list[str | None]:
        """For each step of one expression, the name of the secret in its value, or None.

        Everything inside a macro over a secret is secret too: its variables contain parts of it.
        """
        return list(self._secrets(steps))

    def _secrets(self, steps: Sequence[Step]) -> Iterator[str | None]:
        macro: tuple[int, str] | None = None
        for step in steps:
            if macro is not None and step.depth > macro[0]:
                yield macro[1]
                continue
            secret = self._read(step.node)
            binds = isinstance(
                step.node,
                checked.Comprehension | checked.Bind | checked.Slot | checked.OptionalMap,
            )
            macro = (step.depth, secret) if binds and secret is not None else None
            yield secret

    def _read(self, node: checked.Checked) -> str | None:
        if id(node) not in self._known:
            secret = None if self._names is None else secret_read(node, self._names)
            if secret is None and self._later is not None:
                secret = self._later.secret(node)
            self._known[id(node)] = secret
        return self._known[id(node)]

    def message(self, text: str, secrets: Sequence[str | None]) -> str | None:
        """An error message, which may quote a value; empty if there is a secret."""
        if any(secret is not None for secret in secrets):
            return None
        for redactor in self._redactors:
            text = redactor.text("", text)
        return clipped(text)

    def value(self, value: Any, secret: str | None) -> str:
        """A value as short text; for a secret its hash or, for a bool, the value."""
        if not self._redactors or value is None or isinstance(value, bool):
            return show(value)
        if secret is not None:
            text = value if isinstance(value, str) else show(value)
            return show(self._redactors[-1].secret(secret, text))
        for redactor in self._redactors:
            value = _kept(redactor, value)
        return show(value)


def _kept(redactor: Redacts, value: Any) -> Any:
    """A value of the language without secrets in its texts and numbers."""
    match value:
        case str():
            return redactor.text("", value)
        case bool():
            return value
        case int():
            digits = str(int(value))
            kept = redactor.text("", digits)
            return value if kept == digits else kept
        case list():
            return [_kept(redactor, each) for each in value]
        case Map():
            return Map((name, _kept(redactor, each)) for name, each in value.items())
    return value


def show(value: Any, depth: int = 0) -> str:
    """A value as an author would write it, truncated if long."""
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
    """A string in double quotes, with unprintable characters escaped."""
    quoted = escaped(orjson.dumps(text[:_LONGEST]).decode())
    return quoted if len(text) <= _LONGEST else f'{quoted[:-1]}…"'


def show_time(nanoseconds: int) -> str:
    """A time in UTC, to the millisecond."""
    moment = datetime.fromtimestamp(nanoseconds // _SECOND, UTC)
    millis = nanoseconds % _SECOND // 1_000_000
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{millis:03}Z"


def escaped(text: str) -> str:
    """A text that is safe to print on a terminal."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)


def clipped(text: str) -> str:
    """A text on one line, truncated if long."""
    line = escaped(" ".join(text.split()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _some(parts: Any, count: int, depth: int) -> str:
    if depth >= _DEEPEST:
        return "…" if count else ""
    shown = [part for part, _ in zip(parts, range(_MOST), strict=False)]
    return ", ".join([*shown, f"… {count - _MOST} more"] if count > _MOST else shown)
