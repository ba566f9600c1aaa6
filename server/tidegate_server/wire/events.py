"""Events, and the answers to them."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias
from uuid import UUID

import attrs
from msgspec import UNSET, Meta, UnsetType

from tidegate.evaluation.envelope import RETURN_URL
from tidegate_server.http.limits import MAX_IDEMPOTENCY_KEY
from tidegate_server.http.problems import ProblemDocument
from tidegate_server.wire.common import (
    Time,
)
from tidegate_server.wire.decisions import Reason

Value: TypeAlias = str | int | float | bool | None
Joined: TypeAlias = Value | list[Value]
"""A text, or what becomes one: the items of a list are joined."""
Texts: TypeAlias = Annotated[
    dict[str, Joined],
    Meta(max_length=256, description="texts, numbers, bools, or lists of them, by name"),
]


_OBSERVED_AT = "when the source saw the request; also other forms of ISO 8601 that have an offset"


@attrs.frozen(kw_only=True)
class EventRequest:
    """The request an event is about.  Other members are kept and not interpreted."""

    method: str | None = None
    protocol: str | None = None
    scheme: str | None = None
    host: str | None = None
    path: str | None = None
    query: str | None = None
    client_ip: str | None = None
    user_agent: str | None = None
    referer: str | None = None
    content_type: str | None = None
    headers: Texts | None = None
    query_params: Texts | None = None
    cookies: Texts | None = None
    route_params: Texts | None = None


@attrs.frozen(kw_only=True)
class AgentFinding:
    """The source's finding about the agent that sent the request; see docs/agents.md.

    Its values are checked where definitions read them, as all values of an event are.
    """

    proof: Annotated[Joined, Meta(description="`signature`, `range` or `dns`")] = None
    operator: Joined = None
    product: Annotated[Joined, Meta(description="its name; required with a proof")] = None
    purpose: Annotated[
        Joined,
        Meta(description="`search`, `training`, `user`, `monitoring`, `feed` or `other`"),
    ] = None
    claims: Annotated[Joined, Meta(description="the agent that the visitor says it is")] = None
    signature_problem: Joined = None


@attrs.frozen(kw_only=True)
class GeoFinding:
    """Where the client is; without it, the service looks it up in its address databases.

    Its values are checked where definitions read them, as all values of an event are.
    """

    country: Annotated[Joined, Meta(description="the code of ISO 3166 with two letters")] = None
    asn: Annotated[Joined, Meta(description="the number of the autonomous system")] = None
    as_org: Annotated[Joined, Meta(description="the organization that runs it")] = None


@attrs.frozen(kw_only=True)
class Event:
    """One event.  Other members are kept, and read where they are declared as variables."""

    tenant_id: Annotated[str | None, Meta(description="if given, the tenant of the key")] = None
    source: str | None = None
    observed_at: Annotated[Time | None, Meta(description=_OBSERVED_AT)] = None
    idempotency_key: Annotated[str, Meta(min_length=1, max_length=MAX_IDEMPOTENCY_KEY)] | None = (
        None
    )
    return_url: (
        Annotated[
            str, Meta(pattern=RETURN_URL, description="absolute, http or https; empty for none")
        ]
        | None
    ) = None
    request: EventRequest | None = None
    fields: Texts | None = None
    agent: AgentFinding | None = None
    geo: GeoFinding | None = None


@attrs.frozen(kw_only=True)
class ActiveMitigation:
    """The mitigation of the actor, from this event or an earlier one.

    It is the first Challenge or Block in the order of policies; ``Monitor`` when only mitigations
    of this mode fired.
    """

    decision: Literal["Monitor", "Challenge", "Block"]


_LOOKUP_ENTITY = (
    "entity of the first entity definition that applies to the event; null when none applies"
)


@attrs.frozen(kw_only=True)
class BeaconAnswer:
    item_id: UUID
    lookup_entity_id: Annotated[UUID | None, Meta(description=_LOOKUP_ENTITY)]
    active_mitigation: ActiveMitigation | None


@attrs.frozen(kw_only=True)
class BatchItem:
    """The answer to one event of a batch, or the problem with it."""

    status: int
    item_id: UUID | UnsetType = UNSET
    lookup_entity_id: Annotated[UUID | UnsetType | None, Meta(description=_LOOKUP_ENTITY)] = UNSET
    active_mitigation: ActiveMitigation | UnsetType | None = UNSET
    problem: ProblemDocument | UnsetType = UNSET


@attrs.frozen(kw_only=True)
class ChallengeAction:
    redirect_url: str


@attrs.frozen(kw_only=True)
class BlockAction:
    status_code: int | UnsetType = UNSET
    body: str | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET


@attrs.frozen(kw_only=True)
class RuntimeAction:
    type: Literal["allow", "challenge", "block"]
    challenge: ChallengeAction | UnsetType = UNSET
    block: BlockAction | UnsetType = UNSET


@attrs.frozen(kw_only=True)
class RuntimeAnswer:
    action: RuntimeAction
    decision_id: UUID
    reason: Reason
