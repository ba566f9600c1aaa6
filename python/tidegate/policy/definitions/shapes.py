"""The allowed values of a definition's member, declared once next to the member.

A shape is data. ``reader`` checks documents with it, ``writer`` and the documentation are derived
from it, and no bound is stated anywhere else.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEY = "tidegate.shape"


@attrs.frozen
class Text:
    """One line of text (or several if ``multiline``), with a maximum number of code points."""

    maximum: int = 200
    minimum: int = 0
    multiline: bool = False
    printable: bool = True


@attrs.frozen
class Identifier:
    """A UUID in its usual text form."""


@attrs.frozen
class Slug:
    """The name that expressions and references use; derived from the name if left out."""

    kind: str


@attrs.frozen
class Boolean:
    pass


@attrs.frozen
class Integer:
    minimum: int
    maximum: int


@attrs.frozen
class Number:
    minimum: float
    maximum: float


@attrs.frozen
class Choice:
    values: tuple[str, ...]


@attrs.frozen
class Expression:
    """Text of an expression; ``purpose`` determines its fields and types."""

    purpose: str


@attrs.frozen
class Reference:
    """The slug of another object of the same document."""

    section: str


@attrs.frozen
class Network:
    """An address or a network."""


@attrs.frozen
class Moment:
    """A time, as RFC 3339 writes it: ``2026-11-28T14:00:00Z``."""


@attrs.frozen
class Origin:
    """``scheme://host[:port]`` of an http or https URL."""


@attrs.frozen
class UrlTemplate:
    """An absolute http or https URL."""


@attrs.frozen
class SecureUrl:
    """An absolute https URL."""


@attrs.frozen
class Headers:
    """Response headers: token names, visible ASCII values, no hop-by-hop header."""

    maximum: int


@attrs.frozen
class Labels:
    """Short texts by names that the author chooses."""

    maximum: int


@attrs.frozen
class Anything:
    """Any value, read as plain data."""


@attrs.frozen
class Map:
    """An object with names chosen by the author, each with a value of one shape."""

    item: Shape
    maximum: int


@attrs.frozen
class Many:
    """A list of one shape; ``unique`` rejects a repeated scalar."""

    item: Shape
    maximum: int
    minimum: int = 0
    unique: bool = False


@attrs.frozen
class Part:
    """An object with its own members, described by an attrs class."""

    type: type[attrs.AttrsInstance]


Shape: TypeAlias = (
    Text
    | Identifier
    | Slug
    | Boolean
    | Integer
    | Number
    | Choice
    | Expression
    | Reference
    | Network
    | Moment
    | Origin
    | UrlTemplate
    | SecureUrl
    | Headers
    | Labels
    | Anything
    | Map
    | Many
    | Part
)


def member(shape: Shape) -> dict[str, Shape]:
    """Attrs metadata that gives a member its shape."""
    return {_KEY: shape}


@cache
def members(model: type[attrs.AttrsInstance]) -> Mapping[str, attrs.Attribute[object]]:
    """The members of a model class that a document may contain, in order.

    A member with the name of a Python keyword is an attribute with ``_`` at its end.
    """
    found = (each for each in attrs.fields(model) if _KEY in each.metadata)
    return {each.name.removesuffix("_"): each for each in found}


def shape_of(attribute: attrs.Attribute[object]) -> Shape:
    """The shape of one member."""
    shape: Shape = attribute.metadata[_KEY]
    return shape
