"""Checks of an event before its decision: the definition of the native ones."""

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
"""The events that are decided on.

``strict``: those with something in ``request`` or ``fields`` and without unknown members of their
own or of ``request``; ``lenient``: unknown members are kept out quietly; ``any``: all, as a service
recorded them.
"""

Context: TypeAlias = "Mapping[str, Any] | bytes | PreparedContext"
"""An event as a caller gives it."""

RETURN_URL = r"^([Hh][Tt][Tt][Pp][Ss]?://[^\x00-\x20\x7f\\/?#]+([\\/?#][\s\S]*)?)?$"
"""An absolute http or https URL; the empty text stands for none.  What follows the host is what a
visitor asked for, and an attack is to be decided, not refused: so it may hold anything."""
_RETURN_URL = re.compile(RETURN_URL.removesuffix("$"))


class PreparedContext(Protocol):
    """An event already encoded for one set of rules; opaque."""


@attrs.frozen
class Envelope:
    """The members of an event that are about it; None for one that is absent.

    ``empty`` tells that neither ``request`` nor ``fields`` has a member that is not null.
    ``unknown`` is the path of the first member of the event or of its ``request`` that means
    nothing, None when there is none.
    """

    idempotency_key: str | None
    tenant_id: str | None
    source: str | None
    return_url: str | None
    empty: bool
    unknown: tuple[str, ...] | None


def envelope(event: Mapping[str, Any] | bytes, variables: Collection[str] = ()) -> Envelope:
    """Read an event as a decision would.

    Raises:
        EventError: the event is refused.
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
    """Refuse an event that is not to be decided on.

    Raises:
        EventError: the event is refused.
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
