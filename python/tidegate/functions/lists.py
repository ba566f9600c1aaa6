"""Lists and maps: sizes, parts, order, and lists as sets."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from tidegate.functions import failures
from tidegate.functions.registry import overload
from tidegate.values import Map, OptionalValue, is_number, kind_of, utf8_length

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.values import Charge

ORDERED = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
"""Kinds of values that can be sorted."""


@overload("size(list(A)) -> int", "list(A).size() -> int")
def size_of_list(elements: list[Any]) -> int:
    """``size([1, 2]) == 2``."""
    return len(elements)


@overload("size(map(A, B)) -> int", "map(A, B).size() -> int")
def size_of_map(entries: Map) -> int:
    """``size({"a": 1}) == 1``: the entries that are there, in a total map too."""
    return len(entries)


# --- parts --------------------------------------------------------------------------------


@overload("list(A).first() -> optional_type(A)")
def first(elements: list[Any]) -> OptionalValue:
    """``[1, 2].first().value() == 1``; nothing for an empty list."""
    return OptionalValue(elements[0]) if elements else OptionalValue()


@overload("list(A).last() -> optional_type(A)")
def last(elements: list[Any]) -> OptionalValue:
    """``[1, 2].last().value() == 2``; nothing for an empty list."""
    return OptionalValue(elements[-1]) if elements else OptionalValue()


@overload("list(A).slice(int, int) -> list(A)")
def slice_of(elements: list[Any], start: int, end: int) -> list[Any]:
    """``[1, 2, 3].slice(0, 2) == [1, 2]``: from ``start`` up to ``end``.

    ``index_out_of_range`` unless 0 <= start <= end <= size.
    """
    if not 0 <= start <= len(elements):
        raise failures.index_out_of_range(start)
    if not start <= end <= len(elements):
        raise failures.index_out_of_range(end)
    return elements[start:end]


@overload("list(A).reverse() -> list(A)")
def reverse(elements: list[Any]) -> list[Any]:
    """``[1, 2].reverse() == [2, 1]``."""
    return elements[::-1]


@overload("list(list(A)).flatten() -> list(A)", "list(dyn).flatten() -> list(dyn)")
def flatten(elements: list[Any], *, charge: Charge) -> list[Any]:
    """``[[1], [2, 3]].flatten() == [1, 2, 3]``: one level; elements that aren't lists stay."""
    return _flattened(elements, 1, charge)


@overload("list(dyn).flatten(int) -> list(dyn)")
def flatten_levels(elements: list[Any], levels: int, *, charge: Charge) -> list[Any]:
    """``[[1], [[2]]].flatten(2) == [1, 2]``; ``invalid_argument`` for a negative number."""
    if levels < 0:
        raise failures.invalid_argument("the number of levels is negative")
    return _flattened(elements, levels, charge)


def _flattened(elements: list[Any], levels: int, charge: Charge) -> list[Any]:
    flat: list[Any] = []
    for element in elements:
        charge(1)
        if levels > 0 and isinstance(element, list):
            flat += _flattened(element, levels - 1, charge)
        else:
            flat.append(element)
    return flat


@overload("lists.range(int) -> list(int)")
def numbers_below(count: int, *, charge: Charge) -> list[int]:
    """``lists.range(3) == [0, 1, 2]``; empty for a negative number."""
    charge(max(count, 0))
    return list(range(count))


# --- order --------------------------------------------------------------------------------


@overload(*(f"list({kind}).sort() -> list({kind})" for kind in ORDERED))
def sort(elements: list[Any], *, charge: Charge) -> list[Any]:
    """``[3, 1, 2].sort() == [1, 2, 3]``; equal elements keep their order.

    ``no_such_overload`` unless all are of one kind that has an order, ``invalid_argument`` for NaN.
    """
    return sorted_by(elements, elements, charge)


def sorted_by(elements: list[Any], keys: list[Any], charge: Charge) -> list[Any]:
    """The elements in the order of their keys; see ``sort``."""
    charge(len(keys).bit_length() * sum(1 + _text_units(key) for key in keys))
    kinds = set(map(kind_of, keys))
    if len(kinds) > 1 or not kinds.issubset(ORDERED):
        raise failures.no_such_overload("what is sorted must be of one kind that has an order")
    if any(isinstance(key, float) and math.isnan(key) for key in keys):
        raise failures.invalid_argument("NaN has no place in an order")
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return [elements[place] for place in order]


# --- sets ---------------------------------------------------------------------------------


@overload("list(A).distinct() -> list(A)")
def distinct(elements: list[Any], *, charge: Charge) -> list[Any]:
    """``[2, 1, 2.0].distinct() == [2, 1]``: each value once, at its first place."""
    found: dict[Hashable, Any] = {}
    for element in elements:
        found.setdefault(_weighed(element, charge), element)
    return list(found.values())


@overload("sets.contains(list(A), list(A)) -> bool")
def set_contains(whole: list[Any], part: list[Any], *, charge: Charge) -> bool:
    """``sets.contains([1, 2, 3], [3, 1])``: whether the first list has each value of the second."""
    return _members(whole, charge) >= _members(part, charge)


@overload("sets.equivalent(list(A), list(A)) -> bool")
def are_equivalent(one: list[Any], other: list[Any], *, charge: Charge) -> bool:
    """``sets.equivalent([1, 2], [2, 1, 1u])``: whether each list has each value of the other."""
    return _members(one, charge) == _members(other, charge)


@overload("sets.intersects(list(A), list(A)) -> bool")
def intersect(one: list[Any], other: list[Any], *, charge: Charge) -> bool:
    """``sets.intersects([1, 2], [2, 3])``: whether some value is in both lists."""
    return not _members(one, charge).isdisjoint(_members(other, charge))


def _members(elements: Iterable[Any], charge: Charge) -> set[Hashable]:
    return {_weighed(element, charge) for element in elements}


def _weighed(value: Any, charge: Charge) -> Hashable:
    """The identity of a value: equal for two values where ``==`` is true of them.

    1 is charged for the value and for each of its parts, and the units of its text.
    """
    charge(1 + _text_units(value))
    if is_number(value):
        # Nothing equals NaN, not even itself.
        return object() if value != value else ("number", value)
    if isinstance(value, list):
        return ("list", *(_weighed(each, charge) for each in value))
    if isinstance(value, Map):
        entries = ((_weighed(key, charge), _weighed(each, charge)) for key, each in value.items())
        return ("map", frozenset(entries))
    if isinstance(value, OptionalValue):
        inside = [_weighed(value.content, charge)] if value.is_present else []
        return ("optional", *inside)
    return (kind_of(value), value)


def _text_units(value: Any) -> int:
    """The units of a text or of bytes, 0 for anything else."""
    if isinstance(value, str):
        return utf8_length(value) // 16
    return len(value) // 16 if isinstance(value, bytes) else 0
