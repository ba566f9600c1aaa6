"""What goes over the wire: requests and answers, kept apart from the classes of the domain.

Objects refer to each other by id here, and by slug inside; times are RFC 3339 texts.  Bounds of
definitions are those of ``policy.model``; a test holds the two together.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

import attrs
from msgspec import UNSET, Meta, UnsetType

from tidegate.server.conversion import member_types
from tidegate.server.paging import Paging

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]
Slug: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        description="what expressions and documents call it; made from the name when left out",
    ),
]
Description: TypeAlias = Annotated[str, Meta(max_length=2_000)]
Priority: TypeAlias = Annotated[
    int, Meta(ge=-1_000_000, le=1_000_000, description="lower first; ties by creation")
]
Expression: TypeAlias = Annotated[str, Meta(min_length=1, max_length=65_536)]
Time: TypeAlias = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Revision: TypeAlias = Annotated[
    int, Meta(ge=1, description="counts the changes of the object; also its ETag")
]


def time_text(nanoseconds: int) -> str:
    """A time as RFC 3339 has it, in UTC, to the millisecond."""
    moment = datetime.fromtimestamp(nanoseconds // 1_000_000 / 1_000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def optional_time(nanoseconds: int | None) -> str | None:
    """As :func:`time_text`, where there is a time."""
    return None if nanoseconds is None else time_text(nanoseconds)


def partial(shape: Any, without: tuple[str, ...] = ()) -> Any:
    """A class of the same members, each of which may be left out: the body of a PATCH."""
    members = {
        name: attrs.field(default=UNSET, type=kind | UnsetType)
        for name, kind in member_types(shape).items()
        if name not in without
    }
    name = shape.__name__.removesuffix("Create") + "Change"
    made = attrs.make_class(name, members, frozen=True, kw_only=True)
    made.__doc__ = "What is left out stays as it is."
    return made


def given(body: Any) -> dict[str, Any]:
    """The members of a change that were written."""
    values = {each.name: getattr(body, each.name) for each in attrs.fields(type(body))}
    return {name: value for name, value in values.items() if value is not UNSET}


@attrs.frozen(kw_only=True)
class Versioned:
    """What every object carries."""

    created_at: Time
    updated_at: Time
    revision: Revision


# --- tenants and those who operate them --------------------------------------------------------


@attrs.frozen(kw_only=True)
class TenantSettings:
    """What holds for a whole tenant."""

    return_url_origins: Annotated[tuple[str, ...], Meta(max_length=100)] = ()
    proof_ttl_seconds: Annotated[int, Meta(ge=60, le=2_592_000)] = 1_800
    retention_days: Annotated[int, Meta(ge=1, le=3_650)] = 30
    redact: Annotated[tuple[Name, ...], Meta(max_length=200)]
    fail_mode: Literal["last-known", "open", "closed"] = "last-known"
    trusted_proxies: Annotated[tuple[str, ...], Meta(max_length=1_000)] = ()
    max_keys: Annotated[int, Meta(ge=1, le=100_000_000)] = 1_000_000


TenantSettingsChange = partial(TenantSettings)


@attrs.frozen(kw_only=True)
class TenantCreate:
    name: Name
    slug: Slug | None = None
    settings: TenantSettingsChange | None = None  # type: ignore[valid-type]


@attrs.frozen(kw_only=True)
class TenantChange:
    name: Name | UnsetType = UNSET
    settings: TenantSettingsChange | UnsetType = UNSET  # type: ignore[valid-type]


@attrs.frozen(kw_only=True)
class Tenant(Versioned):
    tenant_id: UUID
    name: str
    slug: str
    settings: TenantSettings
    definition_revision: Annotated[int, Meta(ge=0, description="of the whole definition set")]


RoleName: TypeAlias = Literal["Viewer", "Analyst", "Admin", "Owner"]


@attrs.frozen(kw_only=True)
class MembershipWrite:
    user_id: UUID
    role: RoleName


@attrs.frozen(kw_only=True)
class Membership(Versioned):
    tenant_id: UUID
    user_id: UUID
    role: RoleName
    name: str
    email: str


@attrs.frozen(kw_only=True)
class MyMembership:
    tenant_id: UUID
    name: str
    slug: str
    role: RoleName


@attrs.frozen(kw_only=True)
class Me:
    """The caller, and where it is a member."""

    user_id: UUID
    name: str
    email: str
    token_expires_at: Time
    memberships: tuple[MyMembership, ...]


@attrs.frozen(kw_only=True)
class Login:
    email: Annotated[str, Meta(min_length=1, max_length=320)]
    password: Annotated[str, Meta(min_length=1, max_length=1_024)]


@attrs.frozen(kw_only=True)
class AccessToken:
    access_token: str
    token_type: Literal["Bearer"]
    expires_in: Annotated[int, Meta(description="seconds")]
    expires_at: Time


@attrs.frozen(kw_only=True)
class Revocation:
    """Which tokens end: the one that came with the request, or all of the operator."""

    all: bool = False


# --- API keys ----------------------------------------------------------------------------------

TrustLevel: TypeAlias = Literal["External", "Internal", "Trusted"]


@attrs.frozen(kw_only=True)
class ApiKeyCreate:
    name: Name
    source_id: Name | None = None
    trust_level: TrustLevel = "External"
    rate_limit_per_minute: Annotated[int, Meta(ge=1, le=100_000_000)] | None = None
    expires_at: Annotated[datetime, Meta(tz=True)] | None = None


ApiKeyChange = partial(ApiKeyCreate)


@attrs.frozen(kw_only=True)
class ApiKey(Versioned):
    api_key_id: UUID
    tenant_id: UUID
    name: str
    source_id: str | None
    trust_level: TrustLevel
    rate_limit_per_minute: int
    prefix: Annotated[str, Meta(description="the public part of the key's text")]
    expires_at: Time | None
    last_used_at: Time | None
    revoked_at: Time | None
    previous_secret_expires_at: Annotated[
        Time | None, Meta(description="until when the secret before the last rotation counts")
    ]


@attrs.frozen(kw_only=True)
class NewApiKey(ApiKey):
    """A key with its text, which is shown this once."""

    key: str


@attrs.frozen(kw_only=True)
class ApiKeyRotation:
    overlap_seconds: Annotated[
        int, Meta(ge=0, le=2_592_000, description="how long the old secret still counts")
    ] = 86_400


# --- definitions -------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class ActionCreate:
    name: Name
    slug: Slug | None = None
    description: Description = ""
    enabled: bool = True
    expression: Expression


ActionChange = partial(ActionCreate, without=("slug",))


@attrs.frozen(kw_only=True)
class Action(Versioned):
    action_id: UUID
    tenant_id: UUID
    name: str
    slug: str
    description: str
    enabled: bool
    expression: str


@attrs.frozen(kw_only=True)
class EntityDefinitionCreate:
    name: Name
    slug: Slug | None = None
    description: Description = ""
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
    enabled: bool
    priority: int
    key_fields: tuple[str, ...]
    match_expression: str | None
    on_missing_key: Literal["skip", "blank"]


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


@attrs.frozen(kw_only=True)
class MitigationCreate:
    name: Name
    slug: Slug | None = None
    description: Description = ""
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
    enabled: bool
    mode: Literal["Monitor", "Challenge", "Block"]
    ttl_seconds: int
    challenge: Challenge | None
    block: Block | None


@attrs.frozen(kw_only=True)
class Window:
    duration_seconds: (
        Annotated[int, Meta(ge=1, le=86_400)] | Annotated[float, Meta(ge=1, le=86_400)]
    )
    threshold: Annotated[int, Meta(ge=1, le=10_000)]
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
    enabled: bool = True
    status: Literal["draft", "active", "retired"] = "active"
    priority: Priority = 100
    expression: Expression | None = None
    clauses: Annotated[tuple[Clause, ...], Meta(min_length=1, max_length=50)]


PolicyChange = partial(PolicyCreate, without=("slug",))


@attrs.frozen(kw_only=True)
class Policy(Versioned):
    policy_id: UUID
    tenant_id: UUID
    name: str
    slug: str
    description: str
    enabled: bool
    status: Literal["draft", "active", "retired"]
    priority: int
    expression: str | None
    clauses: tuple[Clause, ...]


@attrs.frozen(kw_only=True)
class PolicyVersion:
    """A policy as it was saved; versions count from one."""

    version: int
    created_at: Time
    created_by: Annotated[str, Meta(description="the operator")]
    policy: Annotated[
        dict[str, Any],
        Meta(description="in the form of the definitions document: references by slug"),
    ]


@attrs.frozen(kw_only=True)
class Restore:
    version: Annotated[int, Meta(ge=1)]


Entry: TypeAlias = Annotated[str, Meta(max_length=16_384)]
Entries: TypeAlias = Annotated[tuple[Entry, ...], Meta(max_length=100_000)]


@attrs.frozen(kw_only=True)
class ListCreate:
    name: Name
    slug: Slug | None = None
    description: Description = ""
    kind: Literal["ip", "string"]
    entries: Entries = ()


@attrs.frozen(kw_only=True)
class ListChange:
    name: Name | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    kind: Literal["ip", "string"] | UnsetType = UNSET
    entries: Entries | UnsetType = UNSET


@attrs.frozen(kw_only=True)
class ListSummary(Versioned):
    """A named list without its entries."""

    list_id: UUID
    tenant_id: UUID
    name: str
    slug: str
    description: str
    kind: Literal["ip", "string"]
    entry_count: int


@attrs.frozen(kw_only=True)
class NamedList(ListSummary):
    entries: tuple[str, ...]


@attrs.frozen(kw_only=True)
class EntriesChange:
    """Entries to put in and to take out, in this order; what is there already stays as it is."""

    add: Entries = ()
    remove: Entries = ()


@attrs.frozen(kw_only=True)
class DocumentQuery:
    dry_run: Annotated[bool, Meta(description="say what would change, and change nothing")] = False


@attrs.frozen(kw_only=True)
class Change:
    """One object that differs between two definition sets."""

    change: Literal["created", "updated", "deleted"]
    kind: str
    id: str
    name: str
    members: Annotated[tuple[str, ...], Meta(description="that differ, for an update")] = ()


@attrs.frozen(kw_only=True)
class DefinitionWarning:
    code: str
    detail: str
    pointer: str
    line: int | UnsetType = UNSET
    column: int | UnsetType = UNSET
    hint: str | UnsetType = UNSET


@attrs.frozen(kw_only=True)
class DocumentChanges:
    revision: int
    dry_run: bool
    changes: tuple[Change, ...]
    warnings: tuple[DefinitionWarning, ...]


Purpose: TypeAlias = Literal["action", "scope", "condition", "match", "key-field", "window-field"]


@attrs.frozen(kw_only=True)
class ExpressionCheck:
    expression: Annotated[str, Meta(max_length=65_536)]
    purpose: Purpose = "condition"
    entity: Annotated[bool, Meta(description="the condition is of a clause with an entity")] = False


@attrs.frozen(kw_only=True)
class ExpressionFinding:
    code: str
    severity: Literal["error", "warning"]
    message: str
    line: int
    column: int
    start: Annotated[int, Meta(description="first code point")]
    end: Annotated[int, Meta(description="after the last code point")]
    hint: str | None = None


@attrs.frozen(kw_only=True)
class ExpressionReport:
    ok: bool
    diagnostics: tuple[ExpressionFinding, ...]
    type: str | None = None
    fields: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    cost_estimate: int | None = None
    formatted: str | None = None


# --- audit -------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class AuditQuery(Paging):
    actor: Annotated[str | None, Meta(description="id of the operator")] = None
    kind: str | None = None
    object_id: str | None = None


@attrs.frozen(kw_only=True)
class AuditEntry:
    audit_id: UUID
    at: Time
    actor: str
    action: str
    kind: str
    object_id: str
    before: Any
    after: Any
    request_id: str | None
