"""Checks of an event before its decision; the native ones must match them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Literal, Protocol, TypeAlias

import attrs

from tidegate.errors import EventError
from tidegate.evaluation.event import read_event
from tidegate.evaluation.json_text import Node, pointer
from tidegate.event_form import no_such_member, unknown_member

Strictness: TypeAlias = Literal["strict", "lenient", "any"]
"""Which events are decided on.

``strict``: those with something in ``request`` or ``fields``, and without unknown members at the
top or in ``request``; ``lenient``: unknown members are ignored; ``any``: all, as recorded by a
service.
"""

Context: TypeAlias = "Mapping[str, Any] | bytes | PreparedContext"
"""An event as given by a caller."""

RETURN_URL = r"^([Hh][Tt][Tt][Pp][Ss]?://[^\x00-\x20\x7f\\/?#]+([\\/?#][\s\S]*)?)?$"
"""An absolute http or https URL; the empty text means none.  The part after the host is the
visitor's request, and an attack should be decided, not rejected, so it may contain anything."""
_RETURN_URL = re.compile(RETURN_URL.removesuffix("$"))


class PreparedContext(Protocol):
    """An event already encoded for one set of rules; opaque."""


@attrs.frozen
class Envelope:
    """The event's members about the event itself; None for an absent one.

    ``empty``: neither ``request`` nor ``fields`` has a non-null member. ``unknown`` is the path of
    the first unknown member of the event or of its ``request``; None if there isn't one.
    """

    idempotency_key: str | None
    tenant_id: str | None
    source: str | None
    return_url: str | None
    empty: bool
    unknown: tuple[str, ...] | None


def envelope(event: Mapping[str, Any] | bytes, variables: Collection[str] = ()) -> Envelope:
    """Read an event as for a decision.

    Raises:
        EventError: the event is rejected.
    """
    read = read_event(event, frozenset(variables))
    parts = [read.members[name] for name in ("request", "fields") if name in read.members]
    return Envelope(
        idempotency_key=read.texts.get("idempotency_key"),
        tenant_id=read.texts.get("tenant_id"),
        source=read.texts.get("source"),
        return_url=read.texts.get("return_url"),
        empty=not any(
            member.kind != "null" for part in parts for member in (part.content or {}).values()
        ),
        unknown=unknown_member(
            event if isinstance(event, Mapping) else _names(read.members), variables
        ),
    )


def admit(
    event: Mapping[str, Any] | bytes, strictness: Strictness, variables: Collection[str] = ()
) -> None:
    """Reject an event that should not be decided on.

    Raises:
        EventError: the event is rejected.
    """
    if strictness == "any":
        return
    found = envelope(event, variables)
    if strictness == "strict" and found.unknown is not None:
        raise no_such_member(found.unknown)
    if found.empty:
        raise EventError("`request` or `fields` must hold something")
    if not _RETURN_URL.fullmatch(found.return_url or ""):
        raise EventError("must be an absolute http or https URL", pointer(["return_url"]))


def _names(members: Mapping[str, Node]) -> Mapping[str, Any]:
    """The members of an event by name, and those of ``request`` too."""
    return {name: node.content if node.kind == "object" else None for name, node in members.items()}
