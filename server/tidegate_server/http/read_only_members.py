"""Read-only members that are sent back in a write: one rule for every object.

A client that reads an object, changes it and writes all of it sends ids, times and the revision
too. Such a member is accepted if its value is true, and refused otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import Annotated, Any, get_args, get_origin

import attrs
import msgspec
from msgspec import Meta

from tidegate.policy.definitions.findings import pointer_to
from tidegate_server.http.convert import member_types
from tidegate_server.http.problems import ErrorDetail, Problem

CODE = "read-only-member"
"""The code of a finding about a changed read-only member."""
UNSTABLE = {"unstable": True}
"""``extra`` of the type of a member that changes without its object, and so isn't compared."""
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]")
_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def require_object(given: Mapping[str, Any], present: Any) -> None:
    """Refuse read-only members that differ from those of the object as it is answered.

    Raises:
        Problem: ``invalid-request``, with pointers into the object.
    """
    require(given, members(present, given), type(present))


def require(given: Mapping[str, Any], present: Mapping[str, Any], answer: Any) -> None:
    """Refuse read-only members that differ.

    Args:
        given: the members, by name.
        present: their present values; absent ones are still unknown.
        answer: the answer class with the members.

    Raises:
        Problem: ``invalid-request``, with a pointer for each.
    """
    errors = [
        ErrorDetail(
            detail=_detail(name, name in present),
            code=CODE,
            pointer=pointer_to("", name),
            hint="leave it out, or send it as it was answered",
        )
        for name, value in given.items()
        if not is_unstable(answer, name)
        and (name not in present or _meant(value) != _meant(present[name]))
    ]
    if errors:
        raise Problem("invalid-request", errors[0].detail, errors=errors)


def _detail(name: str, is_known: bool) -> str:
    if is_known:
        return f"`{name}` cannot be changed, and is another one"
    return f"`{name}` is set by the service, and cannot be chosen"


def members(answered: Any, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of an answer to compare with those sent back.

    Args:
        answered: the object as it is answered.
        wanted: the members that were sent back; others are left out.
    """
    kind: Any = type(answered)
    names = {each.name for each in attrs.fields(kind)} & wanted.keys()
    return {
        name: msgspec.to_builtins(getattr(answered, name))
        for name in names
        if not is_unstable(kind, name)
    }


def _meant(value: Any) -> Any:
    """Normalise a value that can be written in several ways, such as times and ids."""
    if not isinstance(value, str):
        return value
    if _TIME.match(value):
        with suppress(ValueError):
            return datetime.fromisoformat(value)
    return value.lower() if _ID.fullmatch(value) else value


@cache
def is_unstable(answer: Any, name: str) -> bool:
    """Tell whether a member of an answer changes without its object."""
    kind = member_types(answer)[name]
    if get_origin(kind) is not Annotated:
        return False
    metas = (each for each in get_args(kind)[1:] if isinstance(each, Meta))
    return any((each.extra or {}).items() >= UNSTABLE.items() for each in metas)
