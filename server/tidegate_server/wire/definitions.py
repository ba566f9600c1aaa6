"""Definitions: actions, entity definitions, mitigations, policies, lists, overrides.

The bounds equal those of ``policy.model``; a test compares the two.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias
from uuid import UUID

import attrs
from msgspec import UNSET, Meta, UnsetType

from tidegate.limits import MAX_THRESHOLD
from tidegate_server.http.convert import answered_as
from tidegate_server.http.read_only_members import UNSTABLE
from tidegate_server.wire.common import (
    Description,
    Expression,
    Identifier,
    Labels,
    Name,
    Priority,
    Slug,
    Time,
    Versioned,
    partial,
)
from tidegate_server.wire.documents import DefinitionWarning

Warnings: TypeAlias = Annotated[
    tuple[DefinitionWarning, ...] | UnsetType,
    Meta(description="in the answer to a write: probable mistakes", extra=UNSTABLE),
]


@attrs.frozen(kw_only=True)
class ActionCreate:
    name: Name
    slug: Identifier | None = None
    description: Description = ""
    labels: Labels = attrs.field(factory=dict)
    enabled: bool = True
    expression: Expression
    fail_mode: Literal["last-known", "open", "closed"] | None = None


ActionChange = partial(ActionCreate, without=("slug",))


@attrs.frozen(kw_only=True)
class Action(Versioned):
    action_id: UUID
    tenant_id: UUID
    name: str
    slug: str
    description: str
    labels: dict[str, str]
    enabled: bool
    expression: str
    fail_mode: Literal["last-known", "open", "closed"] | None
    warnings: Warnings = UNSET


answered_as(Action, ActionCreate, ActionChange)


@attrs.frozen(kw_only=True)
class EntityDefinitionCreate:
    name: Name
    slug: Slug | None = None
    description: Description = ""
    labels: Labels = attrs.field(factory=dict)
    enabled: bool = True
    priority: Priority = 100
    key_fields: Annotated[tuple[Expression, ...], Meta(min_length=1, max_length=8)]
    match_expression: Expression | None = None
    on_missing_key: Literal["skip", "blank"] = "skip"


EntityDefinitionChange = partial(EntityDefinitionCreate, without=("slug",))


@attrs.frozen(kw_only=True)
class EntityDefinition(Versioned):
    entity_definition_id: UUID
    tenant_id: UUID
    name: str
    slug: str
    description: str
    labels: dict[str, str]
    enabled: bool
    priority: int
    key_fields: tuple[str, ...]
    match_expression: str | None
    on_missing_key: Literal["skip", "blank"]
    warnings: Warnings = UNSET


answered_as(EntityDefinition, EntityDefinitionCreate, EntityDefinitionChange)


@attrs.frozen(kw_only=True)
class Challenge:
    provider: Literal["pow", "turnstile"] = "pow"
    difficulty: Annotated[int, Meta(ge=1, le=10)] = 4
    default_return_url_template: Annotated[str, Meta(max_length=2_048)] | None = None


@attrs.frozen(kw_only=True)
class Block:
    status_code: Annotated[int, Meta(ge=400, le=599)] = 403
    body: Annotated[str, Meta(max_length=65_536)] = ""
    headers: Annotated[dict[str, str], Meta(max_length=20)] = attrs.field(factory=dict)
    computed_headers: Annotated[dict[str, Expression], Meta(max_length=4)] = attrs.field(
        factory=dict
    )


@attrs.frozen(kw_only=True)
class MitigationCreate:
    name: Name
    slug: Slug | None = None
    description: Description = ""
    labels: Labels = attrs.field(factory=dict)
    enabled: bool = True
    mode: Literal["Monitor", "Challenge", "Block"]
    ttl_seconds: Annotated[int, Meta(ge=0, le=2_592_000)] = 600
    challenge: Challenge | None = None
    block: Block | None = None


MitigationChange = partial(MitigationCreate, without=("slug",))


@attrs.frozen(kw_only=True)
class Mitigation(Versioned):
    mitigation_id: UUID
    tenant_id: UUID
    name: str
    slug: str
    description: str
    labels: dict[str, str]
    enabled: bool
    mode: Literal["Monitor", "Challenge", "Block"]
    ttl_seconds: int
    challenge: Challenge | None
    block: Block | None
    warnings: Warnings = UNSET


answered_as(Mitigation, MitigationCreate, MitigationChange)


@attrs.frozen(kw_only=True)
class Window:
    duration_seconds: (
        Annotated[int, Meta(ge=1, le=86_400)] | Annotated[float, Meta(ge=1, le=86_400)]
    )
    threshold: Annotated[int, Meta(ge=1, le=MAX_THRESHOLD)]
    measure: Literal["count", "distinct"] = "count"
    field: Expression | None = None


@attrs.frozen(kw_only=True)
class Clause:
    name: Name | None = None
    expression: Expression | None = None
    action_ids: Annotated[tuple[UUID, ...], Meta(max_length=16)] = ()
    entity_definition_id: UUID | None = None
    mitigation_id: UUID | None = None
    window: Window | None = None
    final: bool = False


@attrs.frozen(kw_only=True)
class PolicyCreate:
    name: Name
    slug: Slug | None = None
    description: Description = ""
    labels: Labels = attrs.field(factory=dict)
    enabled: bool = True
    status: Literal["draft", "active", "retired"] = "active"
    priority: Priority = 100
    expression: Expression | None = None
    clauses: Annotated[tuple[Clause, ...], Meta(min_length=1, max_length=50)]


PolicyChange = partial(PolicyCreate, without=("slug",))


@attrs.frozen(kw_only=True, slots=False)  # another base class
class SavedPolicy:
    """A policy at one version: the members that a save sets."""

    policy_id: UUID
    tenant_id: UUID
    name: str
    slug: str
    description: str
    labels: dict[str, str]
    enabled: bool
    status: Literal["draft", "active", "retired"]
    priority: int
    expression: str | None
    clauses: tuple[Clause, ...]


@attrs.frozen(kw_only=True)
class Policy(SavedPolicy, Versioned):
    warnings: Warnings = UNSET


answered_as(Policy, PolicyCreate, PolicyChange)


@attrs.frozen(kw_only=True)
class PoliciesOrder:
    policy_ids: Annotated[
        tuple[UUID, ...],
        Meta(
            min_length=1,
            max_length=10_000,
            description="those that come first, in this order; the others follow as they stood",
        ),
    ]


@attrs.frozen(kw_only=True)
class OrderedPolicy:
    """The place of a policy."""

    policy_id: UUID
    tenant_id: UUID
    name: str
    priority: int


@attrs.frozen(kw_only=True)
class MissingReference:
    """A reference to an object that no longer exists."""

    pointer: Annotated[str, Meta(description="the member that would have its id")]
    kind: str
    slug: str


@attrs.frozen(kw_only=True)
class PolicyVersion:
    """A policy as it was saved; versions count from one.

    A save keeps references by slug. They are answered by the ids that the slugs have now, as a
    restore would read them.
    """

    tenant_id: UUID
    policy_id: UUID
    version: int
    created_at: Time
    created_by: Annotated[str, Meta(description="the operator")]
    policy: SavedPolicy
    missing_references: Annotated[
        tuple[MissingReference, ...],
        Meta(description="left out of the policy: the objects are gone; pointers into the policy"),
    ]


@attrs.frozen(kw_only=True)
class Restore:
    version: Annotated[int, Meta(ge=1, le=1_000_000_000)]


Entry: TypeAlias = Annotated[str, Meta(max_length=16_384)]
Entries: TypeAlias = Annotated[tuple[Entry, ...], Meta(max_length=100_000)]


@attrs.frozen(kw_only=True)
class ListSource:
    """The address at which the entries of a list are published."""

    url: Annotated[str, Meta(max_length=2_048, description="an https address")]
    format: Literal["prefixes", "lines", "json-pointer", "keys"]
    pointer: (
        Annotated[
            str, Meta(max_length=500, description="for `json-pointer`: leads to an array of texts")
        ]
        | None
    ) = None
    refresh_seconds: Annotated[int, Meta(ge=300, le=2_592_000)] = 86_400
    max_change_percent: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000,
            description="a refresh that changes the number of entries by more is refused",
        ),
    ] = 50


@attrs.frozen(kw_only=True)
class ListCreate:
    name: Name
    slug: Slug | None = None
    description: Description = ""
    labels: Labels = attrs.field(factory=dict)
    kind: Literal["ip", "string"]
    entries: Entries = ()
    source: ListSource | None = None


@attrs.frozen(kw_only=True)
class ListChange:
    name: Name | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    labels: Labels | UnsetType = UNSET
    kind: Literal["ip", "string"] | UnsetType = UNSET
    entries: Entries | UnsetType = UNSET
    source: ListSource | UnsetType | None = UNSET


@attrs.frozen(kw_only=True)
class ListSummary(Versioned):
    """A named list without its entries."""

    list_id: UUID
    tenant_id: UUID
    name: str
    slug: str
    description: str
    labels: dict[str, str]
    kind: Literal["ip", "string"]
    source: ListSource | None
    entry_count: int
    warnings: Warnings = UNSET


@attrs.frozen(kw_only=True)
class NamedList(ListSummary):
    entries: tuple[str, ...]


answered_as(NamedList, ListCreate, ListChange)


@attrs.frozen(kw_only=True)
class EntriesChange:
    """Entries to add and to remove, in this order; present entries stay as they are."""

    add: Entries = ()
    remove: Entries = ()


@attrs.frozen(kw_only=True)
class RefusedRefresh:
    """A refresh that left the list as it was."""

    at: Time
    code: str
    detail: str


@attrs.frozen(kw_only=True)
class ListRefreshStatus:
    """The refreshes of a list from its present source."""

    tenant_id: UUID
    list_id: UUID
    enabled: Annotated[
        bool, Meta(description="whether the service fetches lists: the setting `lists.refresh`")
    ]
    refreshed_at: Annotated[
        Time | None, Meta(description="when its entries were last what is published")
    ]
    refused: Annotated[
        RefusedRefresh | None, Meta(description="the last refused refresh, even before a good one")
    ]


MAX_OVERRIDE_SECONDS = 366 * 86_400
OverrideKind: TypeAlias = Literal["ban", "allow"]
OverrideReason: TypeAlias = Annotated[str, Meta(min_length=1, max_length=500)]
OverrideNetwork: TypeAlias = Annotated[
    str, Meta(max_length=64, description="an address or a network")
]
Seconds: TypeAlias = Annotated[
    int, Meta(ge=1, le=MAX_OVERRIDE_SECONDS, description="from now until it ends")
]
Wide: TypeAlias = Annotated[
    bool, Meta(description="the network may be wider than /8 (IPv4) or /19 (IPv6)")
]


@attrs.frozen(kw_only=True)
class OverrideCreate:
    """A ban or an exemption that begins now; it is for a network or for an entity."""

    kind: OverrideKind
    network: OverrideNetwork | None = None
    entity_id: UUID | None = None
    duration_seconds: Seconds
    reason: OverrideReason
    wide: Wide = False
    name: Annotated[Name | None, Meta(description="made from the target by default")] = None


@attrs.frozen(kw_only=True)
class OverrideChange:
    """Omitted members don't change."""

    duration_seconds: Seconds | UnsetType = UNSET
    reason: OverrideReason | UnsetType = UNSET


@attrs.frozen(kw_only=True)
class OverrideMembers:
    """The members of an override as it is stored."""

    name: Name
    slug: Slug | None = None
    kind: OverrideKind
    network: str | None = None
    entity_id: UUID | None = None
    starts_at: Time | None = None
    ends_at: Time
    reason: OverrideReason
    author: Annotated[str, Meta(max_length=200)] = ""
    wide: bool = False


@attrs.frozen(kw_only=True)
class Override(Versioned):
    """A ban or an exemption; it applies to events received from its start until its end."""

    override_id: UUID
    tenant_id: UUID
    name: str
    slug: str
    kind: OverrideKind
    network: str | None
    entity_id: UUID | None
    starts_at: Time | None
    ends_at: Time
    reason: str
    author: Annotated[str, Meta(description="who made it")]
    wide: bool
    warnings: Warnings = UNSET


answered_as(Override, OverrideCreate, OverrideChange)
