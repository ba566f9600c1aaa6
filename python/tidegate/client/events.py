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
"""The service takes no larger one."""


@attrs.frozen
class EncodedEvent:
    """An event with its key, as the bytes that every attempt sends.

    The service compares what bodies say: the same key with another event would be refused.
    """

    event: Mapping[str, Any]
    idempotency_key: str
    body: bytes


def encode_event(event: Mapping[str, Any], source: str | None, world: World) -> EncodedEvent:
    """Write an event; one without an idempotency key is given one.

    Args:
        event: its members that are None are left out.
        source: for an event that names none.

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
        # Refused here, because a service that stops reading looks like one that is away,
        # and the fail mode must not be in a visitor's hand.
        problem = {
            "code": "body-too-large",
            "detail": f"the event has {len(body)} bytes, and may have {MAX_EVENT_BYTES}",
        }
        raise PayloadTooLargeError(413, problem)
    return EncodedEvent(event, members["idempotency_key"], body)


def known_members(event: Mapping[str, Any]) -> dict[str, Any]:
    """The members of an event that is to be decided on.

    Raises:
        EventError: it has one that means nothing, such as a misspelt one, or its ``request`` has.
    """
    unknown = unknown_member(event)
    if unknown is not None:
        raise no_such_member(unknown)
    return dict(event)


def stamp(event: Mapping[str, Any], world: World) -> Mapping[str, Any]:
    """An event that will wait before it is sent, with the time it was observed at.

    One that brings its idempotency key is left as it is: sent again under that key, it must
    be the same.
    """
    if event.get("observed_at") is not None or event.get("idempotency_key") is not None:
        return event
    return {**event, "observed_at": world.now()}
