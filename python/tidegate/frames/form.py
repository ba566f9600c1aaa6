"""The names of columns, and the members of an event that they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from tidegate.errors import EventError
from tidegate.event_form import (
    MEMBERS,
    MEMBERS_OF_AGENT,
    MEMBERS_OF_GEO,
    MEMBERS_OF_REQUEST,
    REQUEST_MAPS,
    nearest,
)
from tidegate.frames.rows import quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

Kind: TypeAlias = Literal["text", "moment", "object", "value", "variable"]
"""``object``: a struct, a map, or a text that is a JSON object. ``value``: a text, a number, a bool
or a list of them. ``variable``: a declared variable, whose moments are read too."""
Path: TypeAlias = "tuple[str, ...]"

OBJECTS = ("request", "fields", "agent", "geo")
"""Members that are objects."""
MAPS = tuple(f"request.{name}" for name in REQUEST_MAPS)
KNOWN = (
    *MEMBERS,
    *(f"request.{name}" for name in MEMBERS_OF_REQUEST),
    *(f"agent.{name}" for name in MEMBERS_OF_AGENT),
    *(f"geo.{name}" for name in MEMBERS_OF_GEO),
)
"""Columns without a name of their own in them."""


@attrs.frozen
class Member:
    """The member of an event that a column has.

    Attributes:
        column: name of the column.
        path: names of the members that lead to it.
        kind: the values it may have.
    """

    column: str
    path: Path
    kind: Kind


def members_of(columns: Sequence[str], variables: Collection[str]) -> list[Member]:
    """The member of each column, in order.

    Args:
        columns: their names.
        variables: names of declared variables.

    Raises:
        EventError: a name is unknown, there twice, or the name of a part of another column.
    """
    members = [_member(name, variables) for name in columns]
    places: dict[Path, str] = {}
    for member in members:
        if member.path in places:
            raise EventError(f"the frame has two columns `{member.column}`; rename or drop one")
        places[member.path] = member.column
    for member in members:
        for length in range(1, len(member.path)):
            whole = places.get(member.path[:length])
            if whole is not None:
                message = f"column `{member.column}` is a part of column `{whole}`; drop one"
                raise EventError(message)
    return members


def _member(column: str, variables: Collection[str]) -> Member:
    if column in variables:
        return Member(column, (column,), "variable")
    if column in OBJECTS or column in MAPS:
        return Member(column, tuple(column.split(".")), "object")
    if column == "observed_at":
        return Member(column, (column,), "moment")
    if column == "geo.asn":
        return Member(column, ("geo", "asn"), "value")
    if column in KNOWN:
        return Member(column, tuple(column.split(".")), "text")
    for whole in ("fields", *MAPS):
        name = column.removeprefix(f"{whole}.")
        if name not in (column, ""):
            return Member(column, (*whole.split("."), name), "value")
    meant = nearest(column, KNOWN)
    hint = f"did you mean `{meant}`?" if meant else f"drop it, or name it `fields.{column}`"
    raise EventError(f"column `{column}` isn't a member of an event; {hint}")


def literals(paths: Sequence[Path]) -> tuple[list[tuple[int, str]], str]:
    """The JSON around the values of an object with these members.

    Returns:
        The number of each path, in the order of the text, with the text before its value; and the
        text after the last value.
    """
    tree: dict[str, object] = {}
    for number, path in enumerate(paths):
        inner = tree
        for name in path[:-1]:
            inner = inner.setdefault(name, {})  # type: ignore[assignment]
        inner[path[-1]] = number
    before, found = "", []
    for part in _parts(tree):
        if isinstance(part, int):
            found.append((part, before))
            before = ""
        else:
            before += part
    return found, before


def _parts(tree: dict[str, object]) -> Iterator[str | int]:
    yield "{"
    for position, (name, inner) in enumerate(tree.items()):
        yield f"{',' if position else ''}{quoted(name)}:"
        if isinstance(inner, dict):
            yield from _parts(inner)
        elif isinstance(inner, int):
            yield inner
    yield "}"
