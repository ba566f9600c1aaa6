"""Tenants, their settings and memberships."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias
from uuid import UUID

import attrs
import msgspec
from msgspec import UNSET, Meta, UnsetType

from tidegate.policy.definitions.model import Settings
from tidegate_server.http.convert import answered_as
from tidegate_server.http.read_only_members import UNSTABLE
from tidegate_server.wire.common import (
    END,
    Name,
    Slug,
    Versioned,
    partial,
    time_text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate_server.stores.objects import memberships, operators, tenants


@attrs.frozen(kw_only=True)
class TenantSettings:
    """The settings of a whole tenant."""

    return_url_origins: Annotated[tuple[str, ...], Meta(max_length=100)] = ()
    proof_ttl_seconds: Annotated[int, Meta(ge=60, le=2_592_000)] = 1_800
    challenge_wait_seconds: Annotated[
        int,
        Meta(ge=0, le=300, description="for visitors without JavaScript; 0 turns this off"),
    ] = 0
    retention_days: Annotated[int, Meta(ge=1, le=3_650)] = 30
    redact: Annotated[tuple[Name, ...], Meta(max_length=200)]
    keep_only_read: Annotated[
        bool,
        Meta(
            description="whether of headers, parameters, cookies, fields and bodies only what"
            " definitions read is stored in clear, and of all else a keyed hash"
        ),
    ] = False
    fail_mode: Literal["last-known", "open", "closed"] = "last-known"
    trusted_proxies: Annotated[tuple[str, ...], Meta(max_length=1_000)] = ()
    max_keys: Annotated[int, Meta(ge=1, le=100_000_000)] = 1_000_000
    on_budget_exceeded: Literal["allow", "challenge", "block"] = "block"


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
    definition_revision: Annotated[
        int, Meta(ge=0, description="of the whole definition set", extra=UNSTABLE)
    ]


answered_as(Tenant, TenantCreate, TenantChange)


def tenant_answer(tenant: tenants.Tenant) -> Tenant:
    """Return the answer for a tenant, with every setting."""
    return Tenant(
        tenant_id=tenant.tenant_id,
        name=tenant.name,
        slug=tenant.slug,
        settings=msgspec.convert(all_settings(tenant.settings), TenantSettings),
        definition_revision=tenant.definition_revision,
        created_at=time_text(tenant.created_at_ns),
        updated_at=time_text(tenant.updated_at_ns),
        revision=tenant.revision,
    )


def all_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings, with defaults for missing ones."""
    return {**attrs.asdict(Settings(), recurse=False), **given}


RoleName: TypeAlias = Literal["Viewer", "Analyst", "Admin", "Owner"]


# Control characters by number, as Python and JSON Schema disagree on which of them `\s` matches.
_PART = r"[^@\s\u0000-\u001f\u007f-\u009f\ufeff]+"
Address: TypeAlias = Annotated[
    str, Meta(min_length=3, max_length=320, pattern=f"^{_PART}@{_PART}{END}")
]


BY_ADDRESS = "to give a role to an e-mail address, name it in `email` instead"
"""The hint for a ``user_id`` that isn't an operator's id."""


@attrs.frozen(kw_only=True)
class MembershipWrite:
    """The receiver of a role: the operator of an id, or whoever logs in with an e-mail address."""

    user_id: Annotated[
        UUID | None,
        Meta(description="of an operator; not needed next to `email`", extra={"hint": BY_ADDRESS}),
    ] = None
    email: Annotated[
        Address | None,
        Meta(description="not needed next to `user_id`, whose address it must be then"),
    ] = None
    role: RoleName


@attrs.frozen(kw_only=True)
class Membership(Versioned):
    tenant_id: UUID
    user_id: Annotated[
        UUID,
        Meta(
            description="of the operator; of the membership itself, while it waits for the first"
            " login with its address"
        ),
    ]
    role: RoleName
    name: Annotated[str | None, Meta(extra=UNSTABLE)]
    """Absent until the operator has used the tenant."""
    email: Annotated[
        str | None,
        Meta(
            extra=UNSTABLE,
            description="the address that was given the role, else null until the operator has used"
            " the tenant",
        ),
    ]
    pending: Annotated[bool, Meta(extra=UNSTABLE)]


answered_as(Membership, MembershipWrite)


def membership_answer(
    membership: memberships.Membership, operator: operators.Operator | None
) -> Membership:
    """Return the answer for a membership.

    Args:
        membership: as it is stored.
        operator: its operator, once they have used it.
    """
    return Membership(
        tenant_id=membership.tenant_id,
        user_id=membership.user_id,
        role=membership.role,  # type: ignore[arg-type]
        name=operator.name if operator else None,
        email=operator.email if operator else membership.email,
        pending=membership.accepted_at_ns is None,
        created_at=time_text(membership.created_at_ns),
        updated_at=time_text(membership.updated_at_ns),
        revision=membership.revision,
    )
