"""The scalar at a place of a document that has a tree."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import attrs

from tidegate.lsp.names import shape_at
from tidegate.policy.definitions.findings import pointer_to
from tidegate.policy.document.positions import document_offsets
from tidegate.policy.document.tree import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from tidegate.policy.definitions import shapes
    from tidegate.policy.document.tree import Node


@attrs.frozen
class Spot:
    """A scalar around an offset.

    Attributes:
        pointer: of the member.
        node: the value, or the name of the member if ``is_key``.
        shape: of the member; None outside the model.
        around: the object that has it.
        inside: how far into the value the offset is, in code points.
        offsets: the document's offset of each code point of the value, and of its end.
    """

    pointer: str
    node: Scalar
    is_key: bool
    shape: shapes.Shape | None
    around: Mapping | None
    inside: int
    offsets: list[int]

    @property
    def has_entity(self) -> bool:
        """Whether the object around names an entity."""
        entries = () if self.around is None else self.around.entries
        return any(
            key.value == "entity" and not (isinstance(value, Scalar) and value.value is None)
            for key, value in entries
        )


def spot_at(root: Node, text: str, offset: int) -> Spot | None:
    """The scalar at an offset; None between scalars."""
    node, pointer = root, ""
    path: list[str] = []
    around: Mapping | None = None
    while True:
        match node:
            case Scalar():
                return _spot(node, pointer, path, around, text, offset)
            case Mapping(entries):
                around = node
                for key, value in entries:
                    name = str(key.value)
                    if _holds(key, offset):
                        inner = [*path, name]
                        found = _spot(key, pointer_to(pointer, name), inner, node, text, offset)
                        return attrs.evolve(found, is_key=True)
                    if _holds(value, offset):
                        pointer = pointer_to(pointer, name)
                        path, node = [*path, name], value
                        break
                else:
                    return None
            case Sequence(items):
                at = next((at for at, each in enumerate(items) if _holds(each, offset)), None)
                if at is None:
                    return None
                pointer = pointer_to(pointer, at)
                path, node = [*path, "*"], items[at]


def _holds(node: Node, offset: int) -> bool:
    return node.start is not None and node.end is not None and node.start <= offset <= node.end


def _spot(
    node: Scalar, pointer: str, path: list[str], around: Mapping | None, text: str, offset: int
) -> Spot:
    offsets = document_offsets(node, text)
    inside = max(0, bisect_right(offsets, offset) - 1)
    return Spot(pointer, node, False, shape_at(path), around, inside, offsets)
