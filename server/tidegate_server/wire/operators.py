"""The caller, and tokens."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias
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
    second_factor: Annotated[bool, Meta(description="whether logins with the password need one")]
    memberships: tuple[MyMembership, ...]


Password: TypeAlias = Annotated[str, Meta(min_length=1, max_length=1_024)]
Code: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        description="six digits of the authenticator app, or a recovery code",
    ),
]


@attrs.frozen(kw_only=True)
class Login:
    email: Annotated[str, Meta(min_length=1, max_length=320)]
    password: Password
    code: Code | None = None


@attrs.frozen(kw_only=True)
class Session:
    """A login that is still valid."""

    session_id: UUID
    provider: Annotated[str, Meta(description="`local`, an identity provider, `command-line`")]
    address: str | None
    user_agent: str | None
    created_at: Time
    expires_at: Time
    is_current: Annotated[bool, Meta(description="whether this request belongs to it")]


@attrs.frozen(kw_only=True)
class SecondFactor:
    """The second factor of the caller's password."""

    state: Annotated[
        Literal["off", "pending", "on"],
        Meta(description="`pending` until its first code was shown"),
    ]
    recovery_codes_left: int


@attrs.frozen(kw_only=True)
class SecondFactorStart:
    password: Password


@attrs.frozen(kw_only=True)
class SecondFactorSecret:
    """A secret for an authenticator app, shown once."""

    secret: Annotated[str, Meta(description="base32")]
    uri: Annotated[str, Meta(description="the same as an `otpauth:` address, for a QR code")]


@attrs.frozen(kw_only=True)
class ShownCode:
    code: Code


@attrs.frozen(kw_only=True)
class RecoveryCodes:
    """Codes for a login without the app, each valid once; shown once."""

    recovery_codes: tuple[str, ...]


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
