"""The event members that expressions read (docs/fields.md, "Only what definitions read").

A member is read by name if an expression contains its name: ``request.headers["x-app"]``,
``fields.plan``, ``has(request.body.user)``, ``"q" in request.query_params``. Any other use of a map
may read all its members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from tidegate.evaluation.encoder import sources
from tidegate.language.tree import checked
from tidegate.language.tree.schema import FIELD_MODEL
from tidegate.language.tree.walk import children
from tidegate.types import DYN, MapType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.evaluation.encoder import Source

_LONGEST_PLACE = 2
"""Path length of an object with author-chosen member names, such as ``request.headers``; its
members' paths are longer."""


@attrs.frozen
class Read:
    """An event member that an expression reads, with everything inside it.

    Attributes:
        path: the names on the way to the member.
        node: the field that is read whole, if the member is an object with arbitrary names.
    """

    path: Source
    node: checked.Field | None = attrs.field(default=None, eq=False)


def reads(root: checked.Checked) -> Iterator[Read]:
    """The event members that an expression reads."""
    field, names = _access(root)
    if field is None:
        for child in children(root):
            yield from reads(child)
        return
    kind = FIELD_MODEL.get(field.name)
    for path in sources(field.name):
        if names and (isinstance(kind, MapType) or kind == DYN):
            yield Read((*path, *names))
        else:
            is_whole = len(path) <= _LONGEST_PLACE
            yield Read(path, field if is_whole else None)


def _access(node: checked.Checked) -> tuple[checked.Field | None, list[str]]:
    """The field that a node is part of, and the member names on the way into it.

    A numeric index leads to an array element, which has no name.
    """
    names: list[str] = []
    while True:
        match node:
            case checked.Field():
                return node, names[::-1]
            case checked.Select(operand, name) | checked.Has(operand, name):
                names.append(name)
            case checked.Index(operand, checked.Literal(str() as name)):
                names.append(name)
            case checked.Index(operand, checked.Literal()):
                pass
            case checked.Call(
                "in", _, (checked.Literal(str() as name), checked.Field() as operand)
            ):
                if not isinstance(FIELD_MODEL.get(operand.name), MapType):
                    return None, []
                names.append(name)
            case _:
                return None, []
        node = operand
