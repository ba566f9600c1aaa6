"""The caller, and tokens."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

import attrs
from msgspec import Meta

from tidegate_server.wire.common import (
    Time,
)
from tidegate_server.wire.tenants import RoleName


@attrs.frozen(kw_only=True)
class MyMembership:
    tenant_id: UUID
    name: str
    slug: str
    role: RoleName


@attrs.frozen(kw_only=True)
class Me:
    """The caller and its memberships."""

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
class IdentityProvider:
    """A way to log in."""

    name: str
    display_name: str
    login_url: Annotated[str, Meta(description="where a browser begins; may have `?next=`")]


@attrs.frozen(kw_only=True)
class LoginStart:
    next: Annotated[
        str,
        Meta(max_length=1_024, description="path of this server to go to at the end"),
    ] = ""


@attrs.frozen(kw_only=True)
class LoginResponse:
    """Parameters that a provider returns by the browser (RFC 6749, section 4.1.2; RFC 9207)."""

    state: str | None = None
    code: str | None = None
    iss: str | None = None
    error: str | None = None


@attrs.frozen(kw_only=True)
class Revocation:
    """Which tokens to revoke: the one of the request, or all of the operator's."""

    all: bool = False
