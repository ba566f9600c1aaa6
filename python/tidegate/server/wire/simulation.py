"""A policy tried on one event."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import attrs
from msgspec import Meta

from tidegate.server.wire.decisions import (
    Trace,
)
from tidegate.server.wire.definitions import PolicyCreate
from tidegate.server.wire.documents import DefinitionWarning

SimulatedEvent: TypeAlias = Annotated[
    dict[str, Any], Meta(description="in the shape of a runtime request")
]


@attrs.frozen(kw_only=True)
class Simulation:
    event: SimulatedEvent
    policy: Annotated[
        PolicyCreate | None,
        Meta(description="in place of the saved policy; saved as it is if null"),
    ] = None


@attrs.frozen(kw_only=True)
class SimulationResult:
    """The decision on an event now, if the policy were active; nothing is recorded."""

    decision: dict[str, Any]
    fired: Annotated[bool, Meta(description="whether a clause of the policy fired")]
    trace: Trace
    text: Annotated[str, Meta(description="the trace in words")]
    warnings: Annotated[
        tuple[DefinitionWarning, ...],
        Meta(description="about the challenges of the policy, from what was recorded lately"),
    ]
