"""Sizes of lists and maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.functions.registry import overload

if TYPE_CHECKING:
    from tidegate.values import Map


@overload("size(list(A)) -> int", "list(A).size() -> int")
def size_of_list(elements: list[Any]) -> int:
    """``size([1, 2]) == 2``."""
    return len(elements)


@overload("size(map(A, B)) -> int", "map(A, B).size() -> int")
def size_of_map(entries: Map) -> int:
    """``size({"a": 1}) == 1``: the entries that are there, in a total map too."""
    return len(entries)
