"""The kind of value expected at each place of a document, from the model's shapes.

The parsers use it to count values that don't fit, so that reading a document with very many
mistakes stops early.  The reader says what is wrong, and checks the values themselves.
"""

from __future__ import annotations

from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from tidegate.policy.definitions import shapes
from tidegate.policy.definitions.model import Clause, Definitions
from tidegate.policy.document.forms import LABEL

if TYPE_CHECKING:
    from collections.abc import Mapping

API_VERSION_MEMBER = "apiVersion"
Kind: TypeAlias = Literal["object", "free", "list", "scalar", "any"]


@attrs.frozen(eq=False)
class Expected:
    """The expected value at one place.

    Attributes:
        kind: ``free`` is an object with names chosen by the author, and ``any`` accepts everything.
        members: members of an object.
        required: names of required members.
        item: each item of a list, or each value of a free object.
        maximum: most items, or most names chosen by the author.
        types: types of a scalar.
        checked: the shape, if a scalar of these types may not fit it.
    """

    kind: Kind
    members: Mapping[str, Expected] = attrs.field(factory=dict)
    required: frozenset[str] = frozenset()
    item: Expected | None = None
    maximum: int = 0
    types: tuple[type, ...] = ()
    checked: shapes.Shape | None = None

    @property
    def is_any_text(self) -> bool:
        """Whether every text fits, as far as can be told here."""
        return self.kind == "scalar" and self.types == (str,) and self.checked is None

    def member(self, name: str) -> Expected | None:
        """The value of a member; None if the member doesn't exist."""
        if self.kind == "any":
            return self
        return self.item if self.kind == "free" else self.members.get(name)


ANY = Expected("any")
MAX_FREE = 100
"""Members with author-chosen names that are read without being counted."""


@cache
def expected(shape: shapes.Shape) -> Expected:
    """The expected value for a shape."""
    match shape:
        case shapes.Part(type=model):
            return _object(model)
        case shapes.Many(item=item, maximum=maximum):
            return Expected("list", item=expected(item), maximum=maximum)
        case shapes.Headers():
            return Expected("free", item=expected(shapes.Text()), maximum=MAX_FREE)
        case shapes.Labels():
            return Expected("free", item=expected(LABEL), maximum=MAX_FREE)
        case shapes.Anything():
            return ANY
        case shapes.Map(item=item, maximum=maximum):
            return Expected("free", item=expected(item), maximum=maximum)
        case shapes.Boolean():
            return Expected("scalar", types=(bool,))
        case shapes.Integer():
            return Expected("scalar", types=(int,), checked=shape)
        case shapes.Number():
            return Expected("scalar", types=(int, float), checked=shape)
        case shapes.Text(minimum=0):  # only the reader checks each of a million entries
            return Expected("scalar", types=(str,))
    return Expected("scalar", types=(str,), checked=shape)


def _object(model: type[attrs.AttrsInstance]) -> Expected:
    known = shapes.members(model)
    members = {
        name: _or_null(expected(shapes.shape_of(attribute))) for name, attribute in known.items()
    }
    # Omitted slugs and ids are generated from a name.
    required = frozenset(
        name
        for name, attribute in known.items()
        if attribute.default is attrs.NOTHING
        and not isinstance(shapes.shape_of(attribute), (shapes.Slug, shapes.Identifier))
        and not (model is Clause and name == "name")
    )
    return Expected("object", members=members, required=required)


def _or_null(inner: Expected) -> Expected:
    """The expected value for a member, which may be left empty."""
    return attrs.evolve(inner, types=(*inner.types, NoneType))


@cache
def whole_document(model: type[attrs.AttrsInstance] = Definitions) -> Expected:
    """The expected value for a document of a model."""
    made = _object(model)
    tenant = {"tenant"}
    members = {API_VERSION_MEMBER: ANY, **made.members}
    return attrs.evolve(made, members=members, required=made.required - tenant)
