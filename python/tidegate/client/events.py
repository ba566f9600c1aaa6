"""Events as the client sends them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from tidegate.client.errors import PayloadTooLargeError
from tidegate.errors import EventError
from tidegate.event_form import NAIVE_MOMENT, no_such_member, unknown_member

if TYPE_CHECKING:
    from tidegate.client.world import World

MAX_EVENT_BYTES = 64 * 1024
"""The service rejects larger ones."""


@attrs.frozen
class EncodedEvent:
    """An event with its key, as the bytes sent in every attempt.

    The service compares the meaning of bodies: the same key with another event would be rejected.
    """

    event: Mapping[str, Any]
    idempotency_key: str
    body: bytes


def encode_event(event: Mapping[str, Any], source: str | None, world: World) -> EncodedEvent:
    """Encode an event, adding an idempotency key if it has none.

    Args:
        event: its members that are None are left out.
        source: origin label for an event without one.

    Raises:
        EventError: it cannot be written as JSON, or its ``observed_at`` has no time zone.
        PayloadTooLargeError: it is larger than ``MAX_EVENT_BYTES``.
    """
    members = {name: value for name, value in event.items() if value is not None}
    if source is not None:
        members.setdefault("source", source)
    if "idempotency_key" not in members:
        members["idempotency_key"] = world.new_key()
    observed_at = members.get("observed_at")
    if isinstance(observed_at, datetime) and observed_at.utcoffset() is None:
        raise EventError(NAIVE_MOMENT, "/observed_at")
    try:
        body = orjson.dumps(members, option=orjson.OPT_UTC_Z)
    except orjson.JSONEncodeError as error:
        raise EventError(f"the event cannot be written as JSON: {error}") from None
    if len(body) > MAX_EVENT_BYTES:
        # Rejected here: a service that stops reading looks like one that is away, and a visitor
        # must not be able to trigger the fail mode.
        problem = {
            "code": "body-too-large",
            "detail": f"the event has {len(body)} bytes, and may have {MAX_EVENT_BYTES}",
        }
        raise PayloadTooLargeError(413, problem)
    return EncodedEvent(event, members["idempotency_key"], body)


def known_members(event: Mapping[str, Any]) -> dict[str, Any]:
    """The known members of an event to decide on.

    Raises:
        EventError: it or its ``request`` has an unknown member, such as a misspelt one.
    """
    unknown = unknown_member(event)
    if unknown is not None:
        raise no_such_member(unknown)
    return dict(event)


def stamp(event: Mapping[str, Any], world: World) -> Mapping[str, Any]:
    """An event that will be queued, stamped with the time of observation.

    An event with its own idempotency key is left unchanged: sent again under that key, it must be
    the same.
    """
    if event.get("observed_at") is not None or event.get("idempotency_key") is not None:
        return event
    return {**event, "observed_at": world.now()}
