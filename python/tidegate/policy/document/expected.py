"""The kind of value that is expected at each place of a document, by the shapes of the model.

The composers count by it what does not fit, so that the reading of a document that is wrong in
very many places ends at once.  The reader says what is wrong, and checks the values themselves.
"""

from __future__ import annotations

from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from tidegate.policy.definitions import shapes
from tidegate.policy.definitions.model import Clause, Definitions

if TYPE_CHECKING:
    from collections.abc import Mapping

API_VERSION_MEMBER = "apiVersion"
Kind: TypeAlias = Literal["object", "free", "list", "scalar", "any"]


@attrs.frozen(eq=False)
class Expected:
    """The value at one place.

    Attributes:
        kind: ``free`` is an object with names of the author's choice, and everything fits ``any``.
        members: of an object.
        required: names of those that have to be there.
        item: each item of a list, or each value of a free object.
        maximum: number of items, or of names of the author's choice.
        types: of a scalar.
        checked: the shape, where a scalar of these types may not fit it.
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
        """The value of a member; None where there is no such member."""
        if self.kind == "any":
            return self
        return self.item if self.kind == "free" else self.members.get(name)


ANY = Expected("any")
MAX_FREE = 100
"""Members of an object with names of the author's choice that are read without being counted."""


@cache
def expected(shape: shapes.Shape) -> Expected:
    """The value of a shape."""
    match shape:
        case shapes.Part(type=model):
            return _object(model)
        case shapes.Many(item=item, maximum=maximum):
            return Expected("list", item=expected(item), maximum=maximum)
        case shapes.Headers():
            return Expected("free", item=expected(shapes.Text()), maximum=MAX_FREE)
        case shapes.Boolean():
            return Expected("scalar", types=(bool,))
        case shapes.Integer():
            return Expected("scalar", types=(int,), checked=shape)
        case shapes.Number():
            return Expected("scalar", types=(int, float), checked=shape)
        case shapes.Text(minimum=0):  # the reader alone looks at each of a million entries
            return Expected("scalar", types=(str,))
    return Expected("scalar", types=(str,), checked=shape)


def _object(model: type[attrs.AttrsInstance]) -> Expected:
    known = shapes.members(model)
    members = {
        name: _or_null(expected(shapes.shape_of(attribute))) for name, attribute in known.items()
    }
    # Slugs and ids are made from a name where they are left out.
    required = frozenset(
        name
        for name, attribute in known.items()
        if attribute.default is attrs.NOTHING
        and not isinstance(shapes.shape_of(attribute), (shapes.Slug, shapes.Identifier))
        and not (model is Clause and name == "name")
    )
    return Expected("object", members=members, required=required)


def _or_null(inner: Expected) -> Expected:
    """The same for a member, which may be left empty."""
    return attrs.evolve(inner, types=(*inner.types, NoneType))


@cache
def whole_document() -> Expected:
    """A document."""
    made = _object(Definitions)
    tenant = {"tenant"}
    members = {API_VERSION_MEMBER: ANY, **made.members}
    return attrs.evolve(made, members=members, required=made.required - tenant)
