"""Secret key parts and counted values, and their stored form (docs/decision.md, "Keys").

A part is a secret if its expression reads a member with a secret's name, or a whole map that may
contain such members.  Its text is stored as the redactor stores the member in the event, so that
the recorded event has the same key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs
import orjson

from tidegate.language.tree import checked
from tidegate.language.tree.schema import FIELD_MODEL
from tidegate.language.tree.walk import children

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tidegate.evaluation.secrets.names import Names
    from tidegate.policy.definitions.keys import Part

_MAPS = frozenset(
    {
        "request.headers",
        "request.query_params",
        "request.arguments",
        "request.cookies",
        "request.route_params",
        "request.body",
        "fields",
    }
)
"""Fields with author-chosen member names: read whole, they may contain a secret."""
_COOKIE_HEADERS = frozenset({"cookie", "set-cookie"})


class Redacts(Protocol):
    """The part of a redactor that keys need."""

    def secret(self, name: str, text: str) -> str: ...
    def text(self, name: str, text: str) -> str: ...
    def link(self, text: str) -> str: ...
    def redact(self, body: bytes) -> bytes: ...


@attrs.frozen
class Reading:
    """The name under which a redactor sees an expression's value, and whether it is a secret."""

    name: str
    is_secret: bool


PLAIN = Reading("", is_secret=False)
_FORWARDED = b"192.0.2.1"
_FROM_PROXY = b'{"request":{"headers":{"x-forwarded-for":"%s"}}}' % _FORWARDED


def reading(root: checked.Checked, names: Names) -> Reading:
    """The name under which a redactor sees an expression's value."""
    secret = secret_read(root, names)
    if secret is not None:
        return Reading(secret, is_secret=True)
    path = _path(root)
    return Reading(path[1][-1], is_secret=False) if path and path[1] else PLAIN


def secret_read(node: checked.Checked, names: Names) -> str | None:
    """The name of the first secret that an expression reads; None if it reads none."""
    path = _path(node)
    if path is not None:
        return _secret_in(*path, names)
    found = (secret_read(child, names) for child in children(node))
    return next((each for each in found if each is not None), None)


def unread(node: checked.Checked, is_kept: Callable[[tuple[str, ...]], bool]) -> str | None:
    """The name of the first member that an expression reads but that isn't stored; None if all are.

    Args:
        node: the expression.
        is_kept: whether a member is stored, by its path.
    """
    path = _path(node)
    if path is not None:
        field, members = path
        if field not in _MAPS or is_kept((*field.split("."), *members)):
            return None
        return members[0] if members else field.rpartition(".")[2]
    found = (unread(child, is_kept) for child in children(node))
    return next((each for each in found if each is not None), None)


def keeps_forwarded(redactor: Redacts | None) -> bool:
    """Whether stored events have the addresses in clear that proxies name."""
    return redactor is None or _FORWARDED in redactor.redact(_FROM_PROXY)


def kept_parts(
    redactor: Redacts | None, readings: Sequence[Reading], parts: Sequence[Part]
) -> tuple[Part, ...]:
    """The parts of a key as stored."""
    return tuple(kept_part(redactor, *each) for each in zip(readings, parts, strict=True))


def kept_part(redactor: Redacts | None, read: Reading, part: Part) -> Part:
    """A part of a key as stored: a secret becomes its hash, whatever its kind."""
    if isinstance(part, str):
        return kept_text(redactor, read, part)
    if redactor is None:
        return part
    text = orjson.dumps(part).decode()
    kept = kept_text(redactor, read, text)
    return part if kept == text else kept


def kept_text(redactor: Redacts | None, read: Reading, text: str) -> str:
    """The text of a key part, or a counted value, as stored."""
    if redactor is None or not text:
        return text
    return redactor.secret(read.name, text) if read.is_secret else redactor.text(read.name, text)


def _path(node: checked.Checked) -> tuple[str, list[str]] | None:
    """The field that an expression reads, and the member names on the way into it."""
    members: list[str] = []
    while True:
        match node:
            case checked.Field(name):
                return name, members[::-1]
            case checked.Select(operand, field):
                node = operand
                members.append(field)
            case checked.Index(operand, checked.Literal(str() as name)):
                node = operand
                members.append(name)
            case _:
                return None


def _secret_in(field: str, members: list[str], names: Names) -> str | None:
    """The name that makes a field's value a secret; None if it isn't one."""
    last = field.rpartition(".")[2]
    if field not in _MAPS:
        is_known = field in FIELD_MODEL or field.startswith(("actions.", "entity."))
        own = members if is_known else [*field.split("."), *members]
        return next(filter(names.may_be_secret, own), None)
    if not members:
        return last
    name = members[0]
    if field == "request.cookies":
        return None if names.is_clear(name) else name
    if field == "request.headers" and name.lower() in _COOKIE_HEADERS:
        return name
    if field == "fields" and name == "body":
        return name
    return next(filter(names.may_be_secret, members), None)
