"""The values that a member of a definition may hold, declared once beside the member.

A shape is data. ``reader`` checks documents by it, ``writer`` and the documentation are derived
from it, and nothing else states a bound again.
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
    """One line of text (or several when ``multiline``), bounded in code points."""

    maximum: int = 200
    minimum: int = 0
    multiline: bool = False
    printable: bool = True


@attrs.frozen
class Identifier:
    """A UUID in its usual text form."""


@attrs.frozen
class Slug:
    """The name expressions and references use; made from the name when left out."""

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
    """Text of an expression; ``purpose`` says which fields it sees and which types it may have."""

    purpose: str


@attrs.frozen
class Reference:
    """The slug of another object of the same document."""

    section: str


@attrs.frozen
class Network:
    """An address or a network."""


@attrs.frozen
class Origin:
    """``scheme://host[:port]`` of an http or https URL."""


@attrs.frozen
class UrlTemplate:
    """An absolute http or https URL."""


@attrs.frozen
class Headers:
    """Response headers: token names, visible ASCII values, no hop-by-hop header."""

    maximum: int


@attrs.frozen
class Many:
    """A list of one shape; ``unique`` refuses a repeated scalar."""

    item: Shape
    maximum: int
    minimum: int = 0
    unique: bool = False


@attrs.frozen
class Part:
    """An object with members of its own, described by an attrs class."""

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
    | Origin
    | UrlTemplate
    | Headers
    | Many
    | Part
)


def member(shape: Shape) -> dict[str, Shape]:
    """Attrs metadata that gives a member its shape."""
    return {_KEY: shape}


@cache
def members(model: type[attrs.AttrsInstance]) -> Mapping[str, attrs.Attribute[object]]:
    """The members of a model class that a document may write, in order."""
    return {each.name: each for each in attrs.fields(model) if _KEY in each.metadata}


def shape_of(attribute: attrs.Attribute[object]) -> Shape:
    """The shape of one member."""
    shape: Shape = attribute.metadata[_KEY]
    return shape
