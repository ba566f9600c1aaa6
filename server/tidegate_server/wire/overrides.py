"""Overrides: bans and exemptions by hand."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias
from uuid import UUID

import attrs
from msgspec import UNSET, Meta, UnsetType

from tidegate_server.http.convert import answered_as
from tidegate_server.wire.common import Name, Slug, Time, Versioned
from tidegate_server.wire.definitions import Warnings

MAX_SECONDS = 366 * 86_400
OverrideKind: TypeAlias = Literal["ban", "allow"]
Reason: TypeAlias = Annotated[str, Meta(min_length=1, max_length=500)]
Network: TypeAlias = Annotated[str, Meta(max_length=64, description="an address or a network")]
Seconds: TypeAlias = Annotated[
    int, Meta(ge=1, le=MAX_SECONDS, description="from now until it ends")
]
Wide: TypeAlias = Annotated[
    bool, Meta(description="the network may be wider than /8 (IPv4) or /19 (IPv6)")
]


@attrs.frozen(kw_only=True)
class OverrideCreate:
    """A ban or an exemption that begins now; it is for a network or for an entity."""

    kind: OverrideKind
    network: Network | None = None
    entity_id: UUID | None = None
    duration_seconds: Seconds
    reason: Reason
    wide: Wide = False
    name: Annotated[Name | None, Meta(description="made from the target by default")] = None


@attrs.frozen(kw_only=True)
class OverrideChange:
    """Omitted members don't change."""

    duration_seconds: Seconds | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET


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
    reason: Reason
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
