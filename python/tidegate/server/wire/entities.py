"""Entities: their state, and their active mitigations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import attrs
from msgspec import Meta

from tidegate.server.http.cursor import Paging
from tidegate.server.wire.common import Time, time_text
from tidegate.server.wire.decisions import (
    KeyPart,
    ModeName,
)

if TYPE_CHECKING:
    from tidegate.policy.state.standing import ActiveMitigation
    from tidegate.server.engines.compiled import Names


@attrs.frozen(kw_only=True)
class MitigationsQuery(Paging):
    pass


@attrs.frozen(kw_only=True)
class EntityMitigation:
    """A mitigation that an entity is under."""

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


def mitigation_answer(tenant_id: UUID, active: ActiveMitigation, names: Names) -> EntityMitigation:
    """A mitigation in the form of the answer."""
    return EntityMitigation(
        tenant_id=tenant_id,
        entity_id=UUID(active.entity_id),
        entity_definition_id=UUID(names.entities[active.definition]),
        definition=active.definition,
        key=active.key,
        policy_id=UUID(names.policies[active.policy]),
        policy=active.policy,
        clause=active.clause,
        mitigation_id=UUID(names.mitigations[active.mitigation]),
        mitigation=active.mitigation,
        mode=active.mode,
        expires_at=time_text(active.expires_at),
    )


@attrs.frozen(kw_only=True)
class EntityWindow:
    """How far a window is filled now."""

    policy_id: UUID
    policy: str
    clause: str
    value: int
    threshold: int


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
    """The active mitigations that are lifted; what is left out does not matter."""

    policy_id: UUID | None = None
    clause: str | None = None
    entity_definition_id: UUID | None = None
    mode: ModeName | None = None
    reason: Annotated[str, Meta(min_length=1, max_length=500, description="for the audit")]


@attrs.frozen(kw_only=True)
class MitigationsLifted:
    lifted: int
    complete: Annotated[
        bool, Meta(description="false when there are more: the same call goes on with them")
    ]
