"""The field catalog."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs
from msgspec import Meta

from tidegate.server.wire.common import Time


@attrs.frozen(kw_only=True)
class CatalogField:
    """A field that expressions and keys of entities can read."""

    name: str
    type: str
    group: Literal["captured", "derived", "action"]
    description: str
    example: str | None
    fill_rate: Annotated[float | None, Meta(description="share of events that have it, 0 to 1")]
    distinct_estimate: int | None
    last_seen_at: Time | None
