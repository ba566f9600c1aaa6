"""Entity definitions that do not apply to events, and policies that for this reason cannot fire."""

from __future__ import annotations

from typing import Annotated

import attrs
from msgspec import Meta


@attrs.frozen(kw_only=True)
class LeftOutReason:
    reason: str
    events: int


@attrs.frozen(kw_only=True)
class EntityUse:
    """To how many events an entity definition applied, and why not to the others."""

    entity: str
    applied: int
    not_applied: int
    looked_at: Annotated[
        int, Meta(description="events that it did not apply to, of which the reason was looked for")
    ]
    why: tuple[LeftOutReason, ...]


@attrs.frozen(kw_only=True)
class StoppedPolicy:
    """A policy that could fire on none of the events."""

    policy: str
    because: str
