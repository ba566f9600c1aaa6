"""The members of an event that expressions read (docs/fields.md, "Only what definitions read").

A member is read by name where an expression writes its name: ``request.headers["x-app"]``,
``fields.plan``, ``has(request.body.user)``, ``"q" in request.query_params``. Anything else that is
done with a map may read each of its members.
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
"""Names on the way to an object whose members have names of their own, such as
``request.headers``; the member of one has more."""


@attrs.frozen
class Read:
    """A member of an event that an expression reads, with all that is inside it.

    Attributes:
        path: the names on the way to the member.
        node: the field that is read whole, where the member is an object with any names.
    """

    path: Source
    node: checked.Field | None = attrs.field(default=None, eq=False)


def reads(root: checked.Checked) -> Iterator[Read]:
    """The members of an event that an expression reads."""
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
    """The field that a node is a part of, and the names of members on the way into it.

    An index that is a number leads to an element of an array, which has no name.
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
