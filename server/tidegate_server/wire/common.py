"""Common parts of the types of all resources."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeAlias

import attrs
from msgspec import UNSET, Meta, UnsetType

from tidegate.limits import DEFAULT
from tidegate.policy.document.forms import LABEL_NAME
from tidegate_server.http.convert import member_types

END = r"$(?!\n)"
"""The end of a text in a pattern, for Python and JSON Schema: Python's ``$`` allows a newline."""

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]
Slug: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        pattern=r"^[a-z0-9]+(-[a-z0-9]+)*" + END,
        description="what expressions and documents call it; made from the name when left out",
    ),
]
Identifier: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        pattern=r"^[a-z_][a-z0-9_]*" + END,
        description="what expressions call it; made from the name when left out",
    ),
]
Description: TypeAlias = Annotated[str, Meta(max_length=2_000)]
LabelName: TypeAlias = Annotated[str, Meta(pattern=f"^{LABEL_NAME}" + END)]
Labels: TypeAlias = Annotated[
    dict[LabelName, Annotated[str, Meta(max_length=200)]],
    Meta(max_length=16, description="short texts by names of your own; a change replaces them all"),
]
Priority: TypeAlias = Annotated[
    int, Meta(ge=-1_000_000, le=1_000_000, description="lower first; ties by creation")
]
Expression: TypeAlias = Annotated[str, Meta(min_length=1, max_length=DEFAULT.source_bytes)]
Time: TypeAlias = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Revision: TypeAlias = Annotated[
    int, Meta(ge=1, description="counts the changes of the object; also its ETag")
]


def time_text(nanoseconds: int) -> str:
    """Return a time in RFC 3339 format, in UTC, to the millisecond."""
    moment = datetime.fromtimestamp(nanoseconds // 1_000_000 / 1_000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def optional_time(nanoseconds: int | None) -> str | None:
    """Do the same as :func:`time_text`, if there is a time."""
    return None if nanoseconds is None else time_text(nanoseconds)


def partial(shape: Any, without: tuple[str, ...] = ()) -> Any:
    """Return a class with the same members, each optional: the body of a PATCH."""
    members = {
        name: attrs.field(default=UNSET, type=kind | UnsetType)
        for name, kind in member_types(shape).items()
        if name not in without
    }
    name = shape.__name__.removesuffix("Create") + "Change"
    made = attrs.make_class(name, members, frozen=True, kw_only=True)
    made.__doc__ = "Omitted members don't change."
    return made


def given(body: Any) -> dict[str, Any]:
    """Return the members of a change that were written."""
    values = {each.name: getattr(body, each.name) for each in attrs.fields(type(body))}
    return {name: value for name, value in values.items() if value is not UNSET}


@attrs.frozen(kw_only=True)
class Versioned:
    """The common members of all objects."""

    created_at: Time
    updated_at: Time
    revision: Revision


@attrs.frozen(kw_only=True)
class Health:
    status: Literal["ok", "ready"]
