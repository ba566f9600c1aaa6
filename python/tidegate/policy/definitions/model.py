"""The objects of a definition set, as frozen classes.

Only this module declares members, defaults and bounds.  Objects refer to each other by slug.  An
instance made by hand is checked when an engine is built from it, by the same rules as documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import UUID, uuid5

import attrs

from tidegate.limits import MAX_THRESHOLD
from tidegate.policy.definitions.shapes import (
    Boolean,
    Choice,
    Expression,
    Headers,
    Identifier,
    Integer,
    Labels,
    Many,
    Map,
    Moment,
    Network,
    Number,
    Origin,
    Part,
    Reference,
    SecureUrl,
    Slug,
    Text,
    UrlTemplate,
    member,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

API_VERSION = "tidegate/v1"
DAY_SECONDS = 86_400
MAX_BODY_CHARACTERS = 64 * 1024
MAX_LIST_ENTRIES = 1_000_000
MAX_ENTRY_CHARACTERS = 16_384
MAX_OVERRIDES = 10_000
MAX_OBJECTS = 100_000
"""Most objects of one kind; far above any tenant's, and low enough for loading to finish."""

NAMESPACE = UUID("6f6f3a5e-3a0c-5d7e-9f5d-7d0b1e2c4a90")
"""Root of the ids derived from slugs, so that a document need not contain any."""


def derived_id(namespace: str | UUID, kind: str, slug: str) -> str:
    """The id of an object without one: the same for the same tenant, kind and slug."""
    return str(uuid5(UUID(str(namespace)), f"{kind}/{slug}"))


Mode: TypeAlias = Literal["Monitor", "Challenge", "Block"]
Status: TypeAlias = Literal["draft", "active", "retired"]
Measure: TypeAlias = Literal["count", "distinct"]
MissingKey: TypeAlias = Literal["skip", "blank"]
FailMode: TypeAlias = Literal["last-known", "open", "closed"]
OnBudgetExceeded: TypeAlias = Literal["allow", "challenge", "block"]
ListKind: TypeAlias = Literal["ip", "string"]
ListFormat: TypeAlias = Literal["prefixes", "lines", "json-pointer", "keys"]
OverrideKind: TypeAlias = Literal["ban", "allow"]

_ID = member(Identifier())
_NAME = member(Text(minimum=1))
_DESCRIPTION = member(Text(maximum=2_000, multiline=True))
_LABELS = member(Labels(maximum=16))
_ENABLED = member(Boolean())
_PRIORITY = member(Integer(-1_000_000, 1_000_000))


@attrs.frozen(kw_only=True)
class Tenant:
    """The owner of these definitions.  Without an id, one is derived from the slug."""

    tenant_id: str = attrs.field(metadata=_ID)
    name: str = attrs.field(metadata=_NAME)
    slug: str = attrs.field(metadata=member(Slug("tenant")))


DEFAULT_TENANT = Tenant(
    tenant_id=derived_id(NAMESPACE, "tenant", "default"), name="Default", slug="default"
)
"""The tenant for a user with only one, who needs no name for it."""


@attrs.frozen(kw_only=True)
class Settings:
    """The settings of the whole tenant."""

    return_url_origins: tuple[str, ...] = attrs.field(
        default=(), metadata=member(Many(Origin(), maximum=100, unique=True))
    )
    proof_ttl_seconds: int = attrs.field(
        default=1_800, metadata=member(Integer(60, 30 * DAY_SECONDS))
    )
    challenge_wait_seconds: int = attrs.field(default=0, metadata=member(Integer(0, 300)))
    """How long a visitor without JavaScript waits instead of solving; 0 disables this alternative.
    """
    retention_days: int = attrs.field(default=30, metadata=member(Integer(1, 3_650)))
    redact: tuple[str, ...] = attrs.field(
        default=(),
        metadata=member(Many(Text(minimum=1), maximum=200, unique=True)),
    )
    """More names of headers, cookies and fields stored as a keyed hash; ``*`` matches any text. A
    name after ``!`` stays in clear."""
    keep_only_read: bool = attrs.field(default=False, metadata=member(Boolean()))
    """Whether to store only those headers, parameters, cookies and fields in clear that a
    definition reads; all others as a keyed hash."""
    fail_mode: FailMode = attrs.field(
        default="last-known", metadata=member(Choice(("last-known", "open", "closed")))
    )
    trusted_proxies: tuple[str, ...] = attrs.field(
        default=(), metadata=member(Many(Network(), maximum=1_000, unique=True))
    )
    """Networks whose entries in ``x-forwarded-for`` are skipped."""
    max_keys: int = attrs.field(default=1_000_000, metadata=member(Integer(1, 100_000_000)))
    """Most entity keys; beyond that the least recently updated ones are evicted."""
    on_budget_exceeded: OnBudgetExceeded = attrs.field(
        default="block", metadata=member(Choice(("allow", "challenge", "block")))
    )
    """The answer if a decision's budget ended and no clause gave one."""


@attrs.frozen(kw_only=True)
class ListSource:
    """The address at which the entries of a list are published."""

    url: str = attrs.field(metadata=member(SecureUrl()))
    format: ListFormat = attrs.field(
        metadata=member(Choice(("prefixes", "lines", "json-pointer", "keys")))
    )
    pointer: str | None = attrs.field(default=None, metadata=member(Text(maximum=500)))
    """The JSON Pointer to an array of texts, for the format ``json-pointer``."""
    refresh_seconds: int = attrs.field(
        default=DAY_SECONDS, metadata=member(Integer(300, 30 * DAY_SECONDS))
    )
    """How often a service fetches the list."""
    max_change_percent: int = attrs.field(default=50, metadata=member(Integer(1, 1_000)))
    """By how much the number of entries may shrink or grow in one refresh."""


@attrs.frozen(kw_only=True)
class NamedList:
    """Addresses and networks, or strings, kept outside the rules that use them."""

    list_id: str = attrs.field(metadata=_ID)
    name: str = attrs.field(metadata=_NAME)
    slug: str = attrs.field(metadata=member(Slug("list")))
    description: str = attrs.field(default="", metadata=_DESCRIPTION)
    labels: Mapping[str, str] = attrs.field(factory=dict, metadata=_LABELS, hash=False)
    kind: ListKind = attrs.field(metadata=member(Choice(("ip", "string"))))
    entries: tuple[str, ...] = attrs.field(
        default=(),
        metadata=member(
            Many(Text(maximum=MAX_ENTRY_CHARACTERS, printable=False), maximum=MAX_LIST_ENTRIES)
        ),
    )
    source: ListSource | None = attrs.field(default=None, metadata=member(Part(ListSource)))
    """Where the entries come from; what decides are the entries alone."""


@attrs.frozen(kw_only=True)
class Action:
    """A business action recognised in traffic by an expression."""

    action_id: str = attrs.field(metadata=_ID)
    name: str = attrs.field(metadata=_NAME)
    slug: str = attrs.field(metadata=member(Slug("action")))
    description: str = attrs.field(default="", metadata=_DESCRIPTION)
    labels: Mapping[str, str] = attrs.field(factory=dict, metadata=_LABELS, hash=False)
    enabled: bool = attrs.field(default=True, metadata=_ENABLED)
    expression: str = attrs.field(metadata=member(Expression("action")))
    fail_mode: FailMode | None = attrs.field(
        default=None, metadata=member(Choice(("last-known", "open", "closed")))
    )
    """The fail mode of daemons for events of this action; None uses the tenant's."""


@attrs.frozen(kw_only=True)
class EntityDefinition:
    """Groups events into actors."""

    entity_definition_id: str = attrs.field(metadata=_ID)
    name: str = attrs.field(metadata=_NAME)
    slug: str = attrs.field(metadata=member(Slug("entity")))
    description: str = attrs.field(default="", metadata=_DESCRIPTION)
    labels: Mapping[str, str] = attrs.field(factory=dict, metadata=_LABELS, hash=False)
    enabled: bool = attrs.field(default=True, metadata=_ENABLED)
    priority: int = attrs.field(default=100, metadata=_PRIORITY)
    key_fields: tuple[str, ...] = attrs.field(
        metadata=member(Many(Expression("key-field"), minimum=1, maximum=8))
    )
    match_expression: str | None = attrs.field(default=None, metadata=member(Expression("match")))
    on_missing_key: MissingKey = attrs.field(
        default="skip", metadata=member(Choice(("skip", "blank")))
    )


@attrs.frozen(kw_only=True)
class Challenge:
    """The challenge for a client to complete."""

    provider: str = attrs.field(default="pow", metadata=member(Choice(("pow", "turnstile"))))
    difficulty: int = attrs.field(default=4, metadata=member(Integer(1, 10)))
    """From 1 (lightest) to 10; each provider interprets it in its own way."""
    default_return_url_template: str | None = attrs.field(
        default=None, metadata=member(UrlTemplate())
    )
    """Used only if a request has no ``return_url``."""


@attrs.frozen(kw_only=True)
class Block:
    """The response to a blocked client."""

    status_code: int = attrs.field(default=403, metadata=member(Integer(400, 599)))
    body: str = attrs.field(
        default="",
        metadata=member(Text(maximum=MAX_BODY_CHARACTERS, multiline=True, printable=False)),
    )
    headers: Mapping[str, str] = attrs.field(factory=dict, metadata=member(Headers(maximum=20)))
    computed_headers: Mapping[str, str] = attrs.field(
        factory=dict, metadata=member(Map(Expression("header"), maximum=4))
    )
    """Expressions of further headers, by name. One that is empty leaves its header out."""


@attrs.frozen(kw_only=True)
class Mitigation:
    """A reusable response: monitor, challenge or block."""

    mitigation_id: str = attrs.field(metadata=_ID)
    name: str = attrs.field(metadata=_NAME)
    slug: str = attrs.field(metadata=member(Slug("mitigation")))
    description: str = attrs.field(default="", metadata=_DESCRIPTION)
    labels: Mapping[str, str] = attrs.field(factory=dict, metadata=_LABELS, hash=False)
    enabled: bool = attrs.field(default=True, metadata=_ENABLED)
    mode: Mode = attrs.field(metadata=member(Choice(("Monitor", "Challenge", "Block"))))
    ttl_seconds: int = attrs.field(default=600, metadata=member(Integer(0, 30 * DAY_SECONDS)))
    """How long an actor stays mitigated; 0 means this request only."""
    challenge: Challenge | None = attrs.field(default=None, metadata=member(Part(Challenge)))
    block: Block | None = attrs.field(default=None, metadata=member(Part(Block)))


@attrs.frozen(kw_only=True)
class Window:
    """A number of events, or distinct values, by one actor within a duration."""

    duration_seconds: int | float = attrs.field(metadata=member(Number(1, DAY_SECONDS)))
    threshold: int = attrs.field(metadata=member(Integer(1, MAX_THRESHOLD)))
    measure: Measure = attrs.field(default="count", metadata=member(Choice(("count", "distinct"))))
    field: str | None = attrs.field(default=None, metadata=member(Expression("window-field")))


@attrs.frozen(kw_only=True)
class Clause:
    """One reason to act: a clause fires if all its conditions hold."""

    name: str = attrs.field(metadata=_NAME)
    expression: str | None = attrs.field(default=None, metadata=member(Expression("condition")))
    actions: tuple[str, ...] = attrs.field(
        default=(), metadata=member(Many(Reference("actions"), maximum=16, unique=True))
    )
    entity: str | None = attrs.field(default=None, metadata=member(Reference("entities")))
    mitigation: str | None = attrs.field(default=None, metadata=member(Reference("mitigations")))
    window: Window | None = attrs.field(default=None, metadata=member(Part(Window)))
    final: bool = attrs.field(default=False, metadata=member(Boolean()))


@attrs.frozen(kw_only=True)
class Policy:
    """A scope and the ordered clauses tried inside it."""

    policy_id: str = attrs.field(metadata=_ID)
    name: str = attrs.field(metadata=_NAME)
    slug: str = attrs.field(metadata=member(Slug("policy")))
    description: str = attrs.field(default="", metadata=_DESCRIPTION)
    labels: Mapping[str, str] = attrs.field(factory=dict, metadata=_LABELS, hash=False)
    enabled: bool = attrs.field(default=True, metadata=_ENABLED)
    status: Status = attrs.field(
        default="active", metadata=member(Choice(("draft", "active", "retired")))
    )
    priority: int = attrs.field(default=100, metadata=_PRIORITY)
    expression: str | None = attrs.field(default=None, metadata=member(Expression("scope")))
    clauses: tuple[Clause, ...] = attrs.field(
        metadata=member(Many(Part(Clause), minimum=1, maximum=50))
    )


@attrs.frozen(kw_only=True)
class Override:
    """An answer given by hand for a time: an actor is banned, or let through.

    It is for the addresses of a network or for one entity.
    """

    override_id: str = attrs.field(metadata=_ID)
    name: str = attrs.field(metadata=_NAME)
    slug: str = attrs.field(metadata=member(Slug("override")))
    kind: OverrideKind = attrs.field(metadata=member(Choice(("ban", "allow"))))
    network: str | None = attrs.field(default=None, metadata=member(Network()))
    entity_id: str | None = attrs.field(default=None, metadata=member(Identifier()))
    starts_at: str | None = attrs.field(default=None, metadata=member(Moment()))
    """It applies to events received from here on; None applies to all before its end."""
    ends_at: str = attrs.field(metadata=member(Moment()))
    reason: str = attrs.field(metadata=member(Text(minimum=1, maximum=500)))
    author: str = attrs.field(default="", metadata=member(Text()))
    wide: bool = attrs.field(default=False, metadata=member(Boolean()))
    """Whether the network may be wider than /8 (IPv4) or /19 (IPv6)."""


@attrs.frozen(kw_only=True)
class Definitions:
    """All of a tenant's definitions, in one revision."""

    tenant: Tenant = attrs.field(default=DEFAULT_TENANT, metadata=member(Part(Tenant)))
    revision: int = attrs.field(default=0, metadata=member(Integer(0, 2**53)))
    settings: Settings = attrs.field(factory=Settings, metadata=member(Part(Settings)))
    lists: tuple[NamedList, ...] = attrs.field(
        default=(), metadata=member(Many(Part(NamedList), maximum=MAX_OBJECTS))
    )
    actions: tuple[Action, ...] = attrs.field(
        default=(), metadata=member(Many(Part(Action), maximum=MAX_OBJECTS))
    )
    entities: tuple[EntityDefinition, ...] = attrs.field(
        default=(), metadata=member(Many(Part(EntityDefinition), maximum=MAX_OBJECTS))
    )
    mitigations: tuple[Mitigation, ...] = attrs.field(
        default=(), metadata=member(Many(Part(Mitigation), maximum=MAX_OBJECTS))
    )
    policies: tuple[Policy, ...] = attrs.field(
        default=(), metadata=member(Many(Part(Policy), maximum=MAX_OBJECTS))
    )
    overrides: tuple[Override, ...] = attrs.field(
        default=(), metadata=member(Many(Part(Override), maximum=MAX_OVERRIDES))
    )
    compilation: Any = attrs.field(default=None, init=False, eq=False, repr=False)
    """Set by the document reader, so that an engine need not check everything again; a changed copy
    (``attrs.evolve``) doesn't have it."""
