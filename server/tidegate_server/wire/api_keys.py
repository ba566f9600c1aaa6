"""API keys."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeAlias
from uuid import UUID

import attrs
from msgspec import Meta

from tidegate_server.http.convert import answered_as
from tidegate_server.http.read_only_members import UNSTABLE
from tidegate_server.wire.common import (
    Name,
    Time,
    Versioned,
    partial,
)

TrustLevel: TypeAlias = Literal["External", "Internal", "Trusted"]


@attrs.frozen(kw_only=True)
class ApiKeyCreate:
    name: Name
    source_id: Name | None = None
    trust_level: TrustLevel = "External"
    can_sync: Annotated[
        bool, Meta(description="daemons may read the definitions and forward decisions with it")
    ] = False
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
    can_sync: bool
    rate_limit_per_minute: int
    prefix: Annotated[str, Meta(description="the public part of the key's text")]
    expires_at: Time | None
    last_used_at: Annotated[Time | None, Meta(extra=UNSTABLE)]
    revoked_at: Time | None
    previous_secret_expires_at: Annotated[
        Time | None, Meta(description="when the secret before the last rotation expires")
    ]


answered_as(ApiKey, ApiKeyCreate, ApiKeyChange)


@attrs.frozen(kw_only=True)
class NewApiKey(ApiKey):
    """A key with its text, which is only shown once."""

    key: str


@attrs.frozen(kw_only=True)
class ApiKeyRotation:
    overlap_seconds: Annotated[
        int, Meta(ge=0, le=2_592_000, description="how long the old secret stays valid")
    ] = 86_400
