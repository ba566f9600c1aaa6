"""Entities: their state, their active mitigations, and how well their keys distinguish actors."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias
from uuid import UUID

import attrs
from msgspec import Meta

from tidegate_server.http.cursor import Paging
from tidegate_server.wire.common import Time
from tidegate_server.wire.decisions import (
    KeyPart,
    ModeName,
)
from tidegate_server.wire.definitions import EntityDefinitionCreate
from tidegate_server.wire.traffic import Looked, TrafficRange


@attrs.frozen(kw_only=True)
class MitigationsQuery(Paging):
    pass


@attrs.frozen(kw_only=True)
class EntityMitigation:
    """An active mitigation of an entity."""

    tenant_id: UUID
    entity_id: UUID
    entity_definition_id: UUID
    definition: str
    key: tuple[KeyPart, ...]
    policy_id: UUID
    policy: str
    clause: str
    mitigation_id: UUID
    mitigation: str
    mode: ModeName
    expires_at: Time


@attrs.frozen(kw_only=True)
class EntityWindow:
    """The present count of a window."""

    policy_id: UUID
    policy: str
    clause: str
    value: Annotated[int, Meta(description="the count, up to the threshold")]
    threshold: int
    duration_seconds: int
    falls_at: Annotated[
        Time | None,
        Meta(
            description="when the count falls next without another event; a window at its"
            " threshold is below it then; null when nothing is counted"
        ),
    ]


@attrs.frozen(kw_only=True)
class EntityLookup:
    """An entity, given by its values."""

    entity_definition_id: UUID
    key: Annotated[
        tuple[KeyPart, ...],
        Meta(
            min_length=1,
            max_length=8,
            description="the parts of its key; secrets in clear, or as the hashes that are kept",
        ),
    ]


@attrs.frozen(kw_only=True)
class EntityName:
    """The id and key of an entity, whether or not the engine knows it."""

    tenant_id: UUID
    entity_id: UUID
    entity_definition_id: UUID
    definition: str
    key: tuple[KeyPart, ...]


@attrs.frozen(kw_only=True)
class EntityState:
    """The state of an entity in the engine now."""

    tenant_id: UUID
    entity_id: UUID
    entity_definition_id: UUID
    definition: str
    key: tuple[KeyPart, ...]
    event_count: int
    first_seen_at: Time
    last_seen_at: Time
    windows: tuple[EntityWindow, ...]
    active_mitigations: tuple[EntityMitigation, ...]


@attrs.frozen(kw_only=True)
class LiftQuery:
    policy_id: Annotated[
        UUID | None,
        Meta(description="only what this policy has set; all of the entity if left out"),
    ] = None
    clause: (
        Annotated[str, Meta(max_length=200, description="only what this clause has set")] | None
    ) = None


@attrs.frozen(kw_only=True)
class MitigationsLift:
    """The active mitigations to lift; omitted members don't filter."""

    entity_id: UUID | None = None
    policy_id: UUID | None = None
    clause: str | None = None
    entity_definition_id: UUID | None = None
    mode: ModeName | None = None
    reason: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=500,
                description="for the audit; may be left out where `entity_id` is given",
            ),
        ]
        | None
    ) = None
    dry_run: Annotated[bool, Meta(description="count what would be lifted, and lift nothing")] = (
        False
    )


@attrs.frozen(kw_only=True)
class MitigationsLifted:
    lifted: int
    complete: Annotated[
        bool, Meta(description="false when there are more: the same call goes on with them")
    ]


KeyFinding: TypeAlias = Literal[
    "key-often-missing",
    "key-per-request",
    "key-too-broad",
    "key-shared",
    "key-forgeable",
    "key-short-lived",
]


@attrs.frozen(kw_only=True)
class KeyHealthQuery(TrafficRange):
    pass


@attrs.frozen(kw_only=True)
class KeyHealthTrial(TrafficRange):
    """An entity definition that isn't saved, and the events to try it on."""

    definition: EntityDefinitionCreate


@attrs.frozen(kw_only=True)
class KeyPartHealth:
    """A part of the key, over the events that the definition applies to."""

    expression: str
    fill_rate: Annotated[float | None, Meta(description="share of the events that have it")]
    distinct: Annotated[int, Meta(description="values")]
    failed: Annotated[int, Meta(description="events for which it fails")]


@attrs.frozen(kw_only=True)
class KeyGroup:
    """A key and its events."""

    key: tuple[KeyPart, ...]
    events: int


@attrs.frozen(kw_only=True)
class KeyBeside:
    """How keys of this definition and entities of another one appear in the same events."""

    entity_definition_id: UUID
    definition: str
    median: Annotated[int, Meta(description="of the other entities that a key is seen with")]
    p99: Annotated[int, Meta(description="99th percentile of the same")]
    reverse_median: Annotated[int, Meta(description="of the keys that another entity is seen with")]
    reverse_p99: int


@attrs.frozen(kw_only=True)
class KeyHealthFinding:
    code: KeyFinding
    detail: str


@attrs.frozen(kw_only=True)
class KeyHealth(Looked):
    """The figures of a key in recorded events; `matched` are the events that have one."""

    verdict: Annotated[str, Meta(description="one sentence")]
    findings: tuple[KeyHealthFinding, ...]
    not_applicable: Annotated[int, Meta(description="events that `match_expression` leaves out")]
    missing: Annotated[int, Meta(description="events without a key, for want of a part")]
    parts: tuple[KeyPartHealth, ...]
    distinct: Annotated[int, Meta(description="keys")]
    distinct_per_event: float | None
    largest_share: Annotated[float | None, Meta(description="of the events, of the largest key")]
    largest: Annotated[tuple[KeyGroup, ...], Meta(description="the ten largest")]
    newcomers_an_hour: Annotated[
        float | None, Meta(description="keys first seen in the newer half of the time looked at")
    ]
    beside: tuple[KeyBeside, ...]
    life_seconds: Annotated[
        float | None, Meta(description="median, of keys with two events or more")
    ]
    window_seconds: Annotated[
        int | None, Meta(description="the widest window of an active policy that counts by the key")
    ]
    memory_bytes: Annotated[int, Meta(description="of these keys with packed windows, about")]
