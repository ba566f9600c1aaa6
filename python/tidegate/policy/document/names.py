"""The names of members that some object of a document has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.policy.definitions import shapes
from tidegate.policy.definitions.model import Definitions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attrs import AttrsInstance

API_VERSION_MEMBER = "apiVersion"


def _names_in(model: type[AttrsInstance]) -> Iterator[str]:
    for name, attribute in shapes.members(model).items():
        yield name
        shape = shapes.shape_of(attribute)
        if isinstance(shape, shapes.Many):
            shape = shape.item
        if isinstance(shape, shapes.Part):
            yield from _names_in(shape.type)


def _with_free_names(model: type[AttrsInstance]) -> Iterator[str]:
    for name, attribute in shapes.members(model).items():
        shape = shapes.shape_of(attribute)
        if isinstance(shape, shapes.Headers):
            yield name
        if isinstance(shape, shapes.Many):
            shape = shape.item
        if isinstance(shape, shapes.Part):
            yield from _with_free_names(shape.type)


KNOWN = frozenset((API_VERSION_MEMBER, *_names_in(Definitions)))
FREE = frozenset(_with_free_names(Definitions))
"""Members whose objects have names of the author's choice."""
MAX_FREE = 100
"""Members of such an object, after which their names count like any other's."""
