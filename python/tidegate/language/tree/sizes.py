"""Bounds on the size of an expression's values: the basis of the cost estimate.

The sizes are *declared*: the ones that a web host lets through in practice. They are below the hard
limits of one event, which would make every macro over a map look unaffordable
(docs/decisions/0001-cost-estimate.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from tidegate.types import BYTES, DYN, STRING, ListType, MapType, OptionalType, Type
from tidegate.values import Map, OptionalValue, utf8_length

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.language.tree.schema import Schema

MAX_MEMBERS = 64
"""Headers, cookies or parameters of one request: three times the number that browsers send."""
MAX_TEXT = 8 * 1024
"""One header, URL or field: the line limit of common servers."""
MAX_PARTS = 256
"""Most parts that a text is split into, or elements of a list in a body."""


@attrs.frozen
class Size:
    """Bounds on a value.

    Attributes:
        text: bytes, if it is a string or bytes.
        count: elements, if it is a list or map.
        total: bytes of all its elements together.
        part: the largest element, if it is known to be an aggregate itself.
    """

    text: int = 0
    count: int = 0
    total: int = 0
    part: Size | None = None

    def largest(self) -> Size:
        """The largest single element; for a body of unknown shape, nearly all of it."""
        if self is ANYTHING:
            return ANYTHING
        return self.part or Size(min(self.total, MAX_TEXT))

    def average(self) -> Size:
        """An average element when all are visited: all bytes together stay ``total``."""
        if not self.count:
            return NOTHING
        share = -(-self.total // self.count)
        if self.part is None or not self.part.count:
            return Size(share)
        return attrs.evolve(self.part, text=share, total=min(self.part.total, share))


NOTHING = Size()
NUMBER = Size(24)
"""The text of a number, time or address, if it is converted to one."""
TEXT = Size(MAX_TEXT)
_INNER = Size(MAX_TEXT, 16, MAX_TEXT)
ANYTHING = Size(MAX_TEXT, MAX_PARTS, 2 * MAX_TEXT, _INNER)
"""A value bounded only by the size of the event."""

_DECLARED: Mapping[str, Size] = {
    "request.method": Size(16),
    "request.protocol": Size(16),
    "request.scheme": Size(16),
    "request.host": Size(256),
    "request.arguments": Size(0, MAX_MEMBERS, MAX_TEXT, Size(0, 3, MAX_TEXT)),
    "request.query_params": Size(0, MAX_MEMBERS, MAX_TEXT),
    "request.headers": Size(0, MAX_MEMBERS, 2 * MAX_TEXT),
    "request.cookies": Size(0, MAX_MEMBERS, MAX_TEXT),
    "request.route_params": Size(0, 16, 1024),
    "request.client_ip": Size(48),
    "request.body": ANYTHING,
    "source": Size(256),
    "fields": Size(0, MAX_MEMBERS, 2 * MAX_TEXT),
    "derived.ip_subnet": Size(64),
    "derived.client_network": Size(64),
    "derived.client_ip_problem": Size(24),
    "derived.path_segments": Size(0, MAX_PARTS, MAX_TEXT),
    "derived.path_extension": Size(256),
    "derived.repeated_params": Size(0, MAX_MEMBERS, MAX_TEXT),
    "derived.repeated_cookies": Size(0, MAX_MEMBERS, MAX_TEXT),
    "derived.ua_family": Size(64),
    "derived.ua_os": Size(64),
    "derived.ua_device": Size(64),
    "derived.country": Size(16),
    "derived.as_org": Size(256),
    "agent.operator": Size(256),
    "agent.product": Size(256),
    "agent.purpose": Size(16),
    "agent.proof": Size(16),
    "agent.claims": Size(256),
    "agent.signature_problem": Size(64),
}


def of_field(name: str, schema: Schema) -> Size:
    """The declared size of a field; for one declared by the host, the size of its type."""
    known = _DECLARED.get(name)
    return known if known is not None else of_type(schema.fields.get(name, DYN))


def of_type(kind: Type) -> Size:
    """Bounds on the size of a value of a type."""
    match kind:
        case ListType(element):
            return _aggregate(of_type(element))
        case MapType(_, value):
            return _aggregate(of_type(value))
        case OptionalType(value):
            return of_type(value)
    if kind is STRING or kind is BYTES:
        return TEXT
    return ANYTHING if kind is DYN else NOTHING


def _aggregate(part: Size) -> Size:
    return Size(0, MAX_MEMBERS, 2 * MAX_TEXT, part if part.count else None)


def of_value(value: object) -> Size:
    """The exact size of a constant."""
    match value:
        case str():
            return Size(utf8_length(value))
        case bytes():
            return Size(len(value))
        case list():
            return _of_parts([of_value(each) for each in value], len(value))
        case Map():
            parts = [of_value(each) for entry in value.items() for each in entry]
            return _of_parts(parts, len(value))
        case OptionalValue() if value.is_present:
            return of_value(value.content)
        case _:
            return NOTHING


def _of_parts(parts: list[Size], count: int) -> Size:
    total = sum(part.text or part.total for part in parts)
    largest = max(parts, key=lambda part: (part.count, part.text), default=None)
    return Size(0, count, total, largest if largest and largest.count else None)


def joined(sizes: list[Size]) -> Size:
    """A list of values of these sizes."""
    return _of_parts(sizes, len(sizes))


def either(one: Size, other: Size) -> Size:
    """The size of a value that is one of two."""
    if one == other:
        return one
    parts = [part for part in (one.part, other.part) if part is not None]
    return Size(
        max(one.text, other.text),
        max(one.count, other.count),
        max(one.total, other.total),
        max(parts, key=lambda part: part.count) if parts else None,
    )
