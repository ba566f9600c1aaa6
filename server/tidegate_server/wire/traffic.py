"""Previews over recorded traffic: the matches of an expression or a policy's draft."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias
from uuid import UUID

import attrs
from msgspec import Meta

from tidegate_server.wire.common import Expression, Name, Time
from tidegate_server.wire.decisions import ActionName, DecisionSummary, KeyPart, ModeName, Reason
from tidegate_server.wire.definitions import PolicyCreate
from tidegate_server.wire.documents import DefinitionFindings, DefinitionWarning
from tidegate_server.wire.period import Clock, Span
from tidegate_server.wire.replay import EntityUse, StoppedPolicy

MAX_NEWEST = 100_000
MAX_FACETS = 12
AgentProof: TypeAlias = Literal["signature", "range", "dns", "name", "none"]
Condition: TypeAlias = Literal["action", "scope", "condition", "match"]


@attrs.frozen(kw_only=True, slots=False)
class TrafficRange(Span):
    """The newest events, optionally within a period."""

    newest: Annotated[int, Meta(ge=1, le=MAX_NEWEST, description="events looked at")] = 10_000


@attrs.frozen(kw_only=True)
class LintQuery(TrafficRange):
    pass


@attrs.frozen(kw_only=True, slots=False)
class TrafficSelection(TrafficRange):
    """Events of a period, or the newest; of these, the ones that match the expression."""

    expression: Annotated[
        Expression | None, Meta(description="a condition on the event; left out, all are meant")
    ] = None
    purpose: Condition = "condition"


@attrs.frozen(kw_only=True)
class TrafficFacets(TrafficSelection):
    fields: Annotated[
        tuple[Expression, ...],
        Meta(
            min_length=1,
            max_length=MAX_FACETS,
            description="expressions whose values are counted",
            examples=[["request.path", 'fields["account"]']],
        ),
    ]
    top: Annotated[int, Meta(ge=1, le=20, description="values of each that are answered")] = 20


@attrs.frozen(kw_only=True)
class TrafficMatch(TrafficSelection):
    policy: Annotated[
        PolicyCreate | None,
        Meta(
            description="a draft in place of the expression: it decides alone, as if active, over"
            " the events in their order"
        ),
    ] = None
    samples: Annotated[int, Meta(ge=0, le=100)] = 20
    by: Annotated[
        tuple[Expression, ...],
        Meta(max_length=MAX_FACETS, description="expressions whose values are counted"),
    ] = ()


@attrs.frozen(kw_only=True)
class FacetValue:
    value: Annotated[KeyPart, Meta(description="text has its first 200 characters")]
    literal: Annotated[
        str | None,
        Meta(
            description="the value as an expression has it; null where none would compare with it,"
            " for a redacted value and one that was cut"
        ),
    ]
    count: int


@attrs.frozen(kw_only=True)
class Facet:
    """The values of an expression over the matched events, most frequent first."""

    expression: str
    distinct: Annotated[int, Meta(description="values")]
    failed: Annotated[int, Meta(description="events for which the expression fails")]
    present: Annotated[int, Meta(description="events that have a value, and not an empty one")]
    values: tuple[FacetValue, ...]


@attrs.frozen(kw_only=True)
class Looked:
    """How far a preview got within its second."""

    looked_at: Annotated[int, Meta(description="events")]
    complete: Annotated[bool, Meta(description="whether all events that were asked for were read")]
    since: Annotated[Time | None, Meta(description="when the first of these was observed")]
    until: Annotated[Time | None, Meta(description="when the last of these was observed")]
    matched: int


@attrs.frozen(kw_only=True)
class LintFound(Looked):
    """Parts of definitions that have no effect, and what events show about the definitions."""

    definitions: Annotated[
        tuple[DefinitionFindings, ...],
        Meta(description="the objects with findings, in document order"),
    ]
    general: Annotated[
        tuple[DefinitionWarning, ...],
        Meta(description="about no object alone, such as that there are too few events"),
    ]


@attrs.frozen(kw_only=True)
class EntitiesQuery(TrafficRange):
    entity_definition_id: Annotated[
        UUID | None, Meta(description="only entities of this definition")
    ] = None
    limit: Annotated[int, Meta(ge=1, le=100, description="entities that are answered")] = 20


@attrs.frozen(kw_only=True)
class EntityTraffic:
    """The events of an entity, of those that were read."""

    entity_id: UUID
    entity_definition_id: UUID
    definition: str
    key: tuple[KeyPart, ...]
    events: int
    challenge: Annotated[int, Meta(description="events that were challenged")]
    block: Annotated[int, Meta(description="events that were blocked")]
    last_seen_at: Annotated[Time, Meta(description="when its newest event was observed")]


@attrs.frozen(kw_only=True)
class AnswerStep:
    """The answers to the events of one time step."""

    start: Time
    total: int
    allow: int
    challenge: int
    block: int


@attrs.frozen(kw_only=True)
class EntitiesFound(Looked):
    entities: Annotated[
        tuple[EntityTraffic, ...], Meta(description="those with the most events first")
    ]
    step: Annotated[int, Meta(description="seconds of a step of the timeline")]
    timeline: Annotated[
        tuple[AnswerStep, ...], Meta(description="the events that were read, by the time observed")
    ]


@attrs.frozen(kw_only=True)
class FacetsFound(Looked):
    facets: tuple[Facet, ...]


@attrs.frozen(kw_only=True)
class AgentsQuery(TrafficRange):
    limit: Annotated[int, Meta(ge=1, le=100, description="agents that are answered")] = 100


@attrs.frozen(kw_only=True)
class AgentTraffic:
    """The events of an agent with one kind of proof, of those that were read."""

    claims: Annotated[str, Meta(description="the agent that its visitor says it is")]
    operator: str
    product: str
    purpose: str
    proof: AgentProof
    imitates: Annotated[
        bool,
        Meta(description="whether it only uses the name, and the operator publishes its addresses"),
    ]
    expression: Annotated[
        str | None,
        Meta(description="the condition that its events match; null for a redacted or long value"),
    ]
    events: int
    invalid_signatures: Annotated[
        int, Meta(description="events with a signature that proves nothing")
    ]
    challenge: Annotated[int, Meta(description="events that were challenged")]
    block: Annotated[int, Meta(description="events that were blocked")]
    last_seen_at: Annotated[Time, Meta(description="when its newest event was observed")]


@attrs.frozen(kw_only=True)
class AgentsFound(Looked):
    failed: Annotated[int, Meta(description="events whose agent can't be read")]
    distinct: Annotated[int, Meta(description="agents that were found")]
    agents: Annotated[
        tuple[AgentTraffic, ...],
        Meta(description="imitators first, then those with the most events"),
    ]


@attrs.frozen(kw_only=True)
class FailureCount:
    """Events for which the expression failed, by the code of the error."""

    code: str
    count: int


@attrs.frozen(kw_only=True)
class EntityCount:
    """The number of entities of a definition among the matched events."""

    definition: str
    count: int


@attrs.frozen(kw_only=True)
class OutcomeCount:
    """Matched events by the answer of that time and the answer of the draft."""

    recorded: ActionName
    draft: Annotated[ActionName | None, Meta(description="null without a draft")]
    count: int


@attrs.frozen(kw_only=True)
class MatchStep:
    """The events of a step of time."""

    start: Time
    looked_at: int
    matched: int


@attrs.frozen(kw_only=True)
class ClauseCount:
    """The effect of a draft's clause: events for which it fired, and entities it fired for."""

    clause: str
    fired: int
    entities: int


@attrs.frozen(kw_only=True)
class TrafficFound(Looked):
    in_scope: Annotated[int | None, Meta(description="of the draft; null without one")]
    clauses: tuple[ClauseCount, ...]
    left_out: Annotated[
        tuple[EntityUse, ...],
        Meta(description="entity definitions that the draft's clauses name; none without a draft"),
    ]
    could_not_fire: Annotated[
        tuple[StoppedPolicy, ...],
        Meta(description="the draft, if it could fire on none of the events, and why"),
    ]
    errors: tuple[FailureCount, ...]
    entities: tuple[EntityCount, ...]
    outcomes: tuple[OutcomeCount, ...]
    step: Annotated[int, Meta(description="seconds of a step of the timeline")]
    timeline: tuple[MatchStep, ...]
    samples: tuple[DecisionSummary, ...]
    by: tuple[Facet, ...]


@attrs.frozen(kw_only=True)
class DecisionSearch(Span):
    """A search for decisions; omitted members don't filter."""

    time: Clock = "observed"
    action: ActionName | None = None
    reason: Reason | None = None
    policy_id: Annotated[UUID | None, Meta(description="a clause of this policy fired")] = None
    answered_by: Annotated[UUID | None, Meta(description="this policy gave the answer")] = None
    clause: Annotated[Name | None, Meta(description="a clause of this name fired")] = None
    mode: Annotated[
        ModeName | None, Meta(description="the strongest mode of the policy that fired")
    ] = None
    errors: Annotated[bool | None, Meta(description="whether an expression failed")] = None
    entity_id: UUID | None = None
    api_key_id: UUID | None = None
    path: (
        Annotated[str, Meta(max_length=1_024, description="a prefix if it ends in `*`")] | None
    ) = None
    path_prefix: Annotated[str, Meta(max_length=1_024)] | None = None
    method: Annotated[str, Meta(max_length=32)] | None = None
    client_ip: (
        Annotated[
            str, Meta(max_length=64, description="an address, or a network as `192.0.2.0/24`")
        ]
        | None
    ) = None
    expression: Annotated[Expression | None, Meta(description="a condition on the event")] = None
    limit: Annotated[int, Meta(ge=1, le=500, description="decisions of a page")] = 50
    cursor: (
        Annotated[str, Meta(max_length=2_048, description="of the page before; else the same body")]
        | None
    ) = None


@attrs.frozen(kw_only=True)
class DecisionsFound:
    """A page of decisions, newest first."""

    decisions: tuple[DecisionSummary, ...]
    cursor: Annotated[str | None, Meta(description="of the next page; null after the last")]
    searched_back_to: Annotated[
        Time | None,
        Meta(description="decisions received earlier weren't searched; null if all were"),
    ]
