"""Decisions: search results, full decisions, explanations."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

import attrs
import msgspec
from msgspec import Meta

from tidegate.policy.explain.parts import (
    ActionExplanation,
    EntityExplanation,
    ExpressionExplanation,
    OverrideExplanation,
    PolicyExplanation,
)
from tidegate.policy.shown_proof import Part, ProofStatus
from tidegate_server.http.cursor import Paging
from tidegate_server.wire.common import Time
from tidegate_server.wire.period import Period

ActionName: TypeAlias = Literal["allow", "challenge", "block"]
Reason: TypeAlias = Literal[
    "no-match",
    "policy",
    "active-mitigation",
    "budget-exceeded",
    "challenge-proof",
    "banned",
    "exempt",
]
ModeName: TypeAlias = Literal["Monitor", "Challenge", "Block"]
KeyPart: TypeAlias = str | int | bool


@attrs.frozen(kw_only=True)
class DecisionsQuery(Paging, Period):
    action: ActionName | None = None
    reason: Reason | None = None
    policy_id: Annotated[UUID | None, Meta(description="a clause of this policy fired")] = None
    answered_by: Annotated[UUID | None, Meta(description="this policy gave the answer")] = None
    entity_id: UUID | None = None
    path: (
        Annotated[
            str, Meta(max_length=1_024, description="of the request; a prefix if it ends in `*`")
        ]
        | None
    ) = None
    api_key_id: UUID | None = None


@attrs.frozen(kw_only=True)
class FiredPolicy:
    """A policy with a clause that fired, and the strongest mode of those."""

    policy_id: UUID
    mode: ModeName


@attrs.frozen(kw_only=True)
class DecisionSummary:
    """The part of a decision that a search shows."""

    decision_id: UUID
    tenant_id: UUID
    received_at: Time
    observed_at: Time
    action: ActionName
    reason: Reason
    policy_id: UUID | None
    clause: Annotated[
        str | None, Meta(description="gave the answer; else the first of those that fired")
    ]
    mode: Annotated[ModeName | None, Meta(description="the strongest of those that fired")]
    method: str | None
    path: str | None
    client_ip: Annotated[str | None, Meta(description="the address that rules saw")]
    user_agent: str | None
    api_key_id: UUID | None
    entity_ids: tuple[UUID, ...]
    fired: tuple[FiredPolicy, ...]
    damaged: Annotated[
        bool,
        Meta(description="its record cannot be read: shown are the members by which it is found"),
    ]


@attrs.frozen
class DecidedBy:
    """The daemon that made and forwarded a decision, and its number there."""

    daemon_id: UUID
    number: int


@attrs.frozen(kw_only=True)
class DecidedEntity:
    """An actor that the event belongs to."""

    entity_id: UUID
    entity_definition_id: UUID | None
    definition: str
    key: tuple[KeyPart, ...]


@attrs.frozen(kw_only=True)
class WindowValue:
    """The count of a window, with this event."""

    value: int
    threshold: int


@attrs.frozen(kw_only=True)
class FiredClause:
    """A clause that fired; ``active`` when only its mitigation of an earlier event did."""

    policy_id: UUID | None
    policy: str
    clause: str
    mitigation_id: UUID | None
    mode: ModeName
    entity_id: UUID | None
    window: WindowValue | None
    active: bool


@attrs.frozen(kw_only=True)
class ExpressionError:
    """An expression that failed."""

    place: str
    code: str


@attrs.frozen(kw_only=True)
class ShownProof:
    """The proof of a challenge in the event.

    Members other than the status are only there if the token is valid.
    """

    status: ProofStatus
    pass_id: UUID | None
    expires_at: Time | None
    network: Annotated[str | None, Meta(description="from which it was shown, /24 or /48")]
    differs: Annotated[
        tuple[Part, ...],
        Meta(description="what of the client was not as when the challenge was solved"),
    ]


@attrs.frozen(kw_only=True)
class Decision:
    """A decision in full.  Ids are null where the definitions of its time are no longer kept."""

    decision_id: UUID
    tenant_id: UUID
    api_key_id: UUID | None
    source: str | None
    endpoint: str
    observed_at: Time
    received_at: Time
    action: dict[str, Any]
    challenge_returns: Annotated[
        bool | None,
        Meta(
            description="whether a visitor who passes the challenge is sent back, by the settings"
            " of now; null where nobody was challenged"
        ),
    ]
    reason: Reason
    policy_id: UUID | None
    policy: str | None
    clause: str | None
    mitigation_id: UUID | None
    mitigation: str | None
    revision: Annotated[int, Meta(description="of the definition set that decided")]
    entities: tuple[DecidedEntity, ...]
    matched_actions: tuple[str, ...]
    fired_clauses: tuple[FiredClause, ...]
    errors: tuple[ExpressionError, ...]
    budget_ended_at: Annotated[
        tuple[str, ...],
        Meta(description="places at which the budget of the decision ended; mostly none"),
    ]
    client_ip: Annotated[
        str | None,
        Meta(
            description="the client's address that rules saw: the event's, or the one that a"
            " trusted proxy names; null without one, or if the tenant hides it"
        ),
    ]
    client_ip_problem: Annotated[
        str | None,
        Meta(
            description="why the client that the event names has no address: `empty`,"
            " `not-an-address`, `several-addresses` or `only-proxies`"
        ),
    ]
    proof: Annotated[
        ShownProof | None, Meta(description="null when the event showed no proof of a challenge")
    ]
    override_id: Annotated[
        UUID | None, Meta(description="the ban or exemption that answered; null when none did")
    ]
    duration_us: int
    trace_id: Annotated[
        str | None,
        Meta(description="of the call, by its `traceparent` (W3C Trace Context); null without one"),
    ]
    daemon: Annotated[DecidedBy | None, Meta(description="null where the service decided")]
    answer: Annotated[msgspec.Raw, Meta(description="what the caller was sent")]
    event: Annotated[
        msgspec.Raw,
        Meta(
            description="as it was received, secrets hashed; a number is written as it came, also"
            " one that no double holds",
            extra_json_schema={"type": "object", "additionalProperties": True},
        ),
    ]


@attrs.frozen(kw_only=True)
class Trace:
    """Every expression with the value of every node, every window, every reason."""

    time: str
    actions: tuple[ActionExplanation, ...]
    entities: tuple[EntityExplanation, ...]
    policies: tuple[PolicyExplanation, ...]
    headers: Annotated[
        tuple[ExpressionExplanation, ...],
        Meta(description="the expressions of the answer's headers"),
    ]
    override: OverrideExplanation | None


@attrs.frozen(kw_only=True)
class DecisionExplanation:
    """A recorded decision made again, by the definitions and the state of its time.

    ``reproduced`` says whether it equals the recorded one. If not, ``because`` has all known
    reasons, and the trace, if there is one, shows the differing decision.
    """

    decision_id: UUID
    tenant_id: UUID
    revision: int
    reproduced: bool
    because: tuple[str, ...]
    earlier_decisions: Annotated[int, Meta(description="that its state was made again from")]
    recorded: dict[str, Any]
    decision: dict[str, Any] | None
    trace: Trace | None
    text: Annotated[str | None, Meta(description="the trace in words")]


@attrs.frozen(kw_only=True)
class DecisionTest:
    """A policy test of a recorded decision, which comes to the same decision."""

    decision_id: UUID
    tenant_id: UUID
    revision: Annotated[int, Meta(description="of the definitions that the test was run with")]
    file: Annotated[str, Meta(description="a name for the file of the test")]
    definitions: Annotated[
        str, Meta(description="the file of the definitions that the test names, next to it")
    ]
    text: Annotated[str, Meta(description="the test, as `tidegate test` reads it")]
