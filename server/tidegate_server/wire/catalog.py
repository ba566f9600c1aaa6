"""The field catalog."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

import attrs
from msgspec import Meta

from tidegate_server.http.cursor import Paging
from tidegate_server.wire.common import Time
from tidegate_server.wire.traffic import FacetValue


@attrs.frozen(kw_only=True)
class CatalogQuery(Paging):
    values: Annotated[
        bool,
        Meta(
            description="with the most frequent values, and the fill rates of declared and derived"
            " fields and of actions, over the newest events"
        ),
    ] = False


@attrs.frozen(kw_only=True)
class CatalogField:
    """A field that expressions and keys of entities can read."""

    tenant_id: UUID
    name: str
    expression: Annotated[
        str,
        Meta(
            description="the expression that reads it, which conditions and keys of entities take",
            examples=['request.headers["x-app"]'],
        ),
    ]
    type: Annotated[
        str,
        Meta(description="of the values as sent; expressions read a captured value as text"),
    ]
    group: Literal["captured", "derived", "action"]
    description: str
    example: str | None
    events: Annotated[
        int | None, Meta(description="events that the figures are made from; all there were")
    ]
    present: Annotated[int | None, Meta(description="of these, events that have it and not empty")]
    fill_rate: Annotated[float | None, Meta(description="share of the events that have it, 0 to 1")]
    distinct_estimate: Annotated[
        int | None,
        Meta(description="about how many values it has; the typical error is 1.6 %"),
    ]
    last_seen_at: Time | None
    top_values: Annotated[
        tuple[FacetValue, ...] | None,
        Meta(
            description="the five most frequent over the newest events; null when they were not"
            " asked for, could not be counted in a second, or the role may not read events"
        ),
    ] = None
