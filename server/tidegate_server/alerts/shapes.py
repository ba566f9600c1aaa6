"""The shapes of alerts in requests and answers."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias
from uuid import UUID

import attrs
from msgspec import UNSET, Meta, UnsetType

from tidegate_server.alerts.rule import Comparison, Metric
from tidegate_server.http.convert import answered_as
from tidegate_server.http.read_only_members import UNSTABLE
from tidegate_server.wire.common import Name, Time, Versioned, partial

MAX_DESTINATIONS = 5
MAX_DAYS = 30
Threshold: TypeAlias = Annotated[
    float,
    Meta(ge=0, le=1_000_000_000, description="decisions, percent or seconds, by the metric"),
]
TimesUsual: TypeAlias = Annotated[
    float,
    Meta(
        gt=0,
        le=1_000,
        description=(
            "a multiple of the usual value, the mean of the hour before, that must be passed too;"
            " null to compare with the threshold alone"
        ),
    ),
]
OverMinutes: TypeAlias = Annotated[
    int, Meta(ge=1, le=60, description="length of the window; 1 for values of the moment")
]
QuietMinutes: TypeAlias = Annotated[
    int, Meta(ge=0, le=10_080, description="least time between two messages that it fires")
]


@attrs.frozen(kw_only=True)
class Destination:
    """A receiver of messages."""

    kind: Annotated[
        Literal["webhook", "slack", "teams", "email"],
        Meta(description="`webhook` is signed according to Standard Webhooks"),
    ]
    to: Annotated[
        str,
        Meta(min_length=3, max_length=2_000, description="an https:// address, or of a mailbox"),
    ]


Destinations: TypeAlias = Annotated[tuple[Destination, ...], Meta(max_length=MAX_DESTINATIONS)]


@attrs.frozen(kw_only=True)
class ConditionWrite:
    """A condition; members that are left out have the defaults of the metric."""

    metric: Metric
    comparison: Comparison | UnsetType = UNSET
    threshold: Threshold | UnsetType = UNSET
    times_usual: TimesUsual | UnsetType | None = UNSET
    over_minutes: OverMinutes | UnsetType = UNSET


@attrs.frozen(kw_only=True)
class AlertCreate(ConditionWrite):
    """An alert; members of the condition that are left out have the defaults of the metric."""

    name: Name
    enabled: bool = True
    quiet_minutes: QuietMinutes = 60
    destinations: Destinations = ()


AlertChange = partial(AlertCreate, without=("metric",))


@attrs.frozen(kw_only=True)
class Alert(Versioned):
    alert_id: UUID
    tenant_id: UUID
    name: str
    enabled: bool
    metric: Metric
    comparison: Comparison
    threshold: float
    times_usual: float | None
    over_minutes: int
    quiet_minutes: int
    destinations: tuple[Destination, ...]
    evaluated: Annotated[
        bool,
        Meta(extra=UNSTABLE, description="whether the service evaluates alerts, and this one"),
    ]
    firing_since: Annotated[Time | None, Meta(extra=UNSTABLE)]
    value: Annotated[
        float | None, Meta(extra=UNSTABLE, description="while it fires: the last value")
    ]
    messages_waiting: Annotated[
        int, Meta(extra=UNSTABLE, description="messages that a receiver hasn't taken yet")
    ]
    messages_dropped: Annotated[
        int, Meta(extra=UNSTABLE, description="messages that no receiver took in a day")
    ]
    delivery_error: Annotated[
        str | None, Meta(extra=UNSTABLE, description="why the last attempt failed")
    ]
    signing_secrets: Annotated[
        dict[str, str],
        Meta(extra=UNSTABLE, description="what signs messages to a webhook, by its address"),
    ]


answered_as(Alert, AlertCreate, AlertChange)


@attrs.frozen(kw_only=True)
class AlertPreview(ConditionWrite):
    """A condition to try over the past."""

    quiet_minutes: QuietMinutes = 60
    days: Annotated[int, Meta(ge=1, le=MAX_DAYS)] = 7


@attrs.frozen(kw_only=True)
class Firing:
    """One time that an alert would have fired, as its messages would have said."""

    since: Time
    resolved_at: Annotated[Time | None, Meta(description="null if it would still fire")]
    value: float
    usual: float | None
    condition: str


@attrs.frozen(kw_only=True)
class AlertPreviewed:
    since: Time
    until: Time
    recorded: Annotated[bool, Meta(description="false if the past of the metric isn't recorded")]
    total: int
    firings: Annotated[tuple[Firing, ...], Meta(description="the newest 100, newest first")]
