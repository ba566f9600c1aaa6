"""Messages to daemons, and the data about them."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import attrs
from msgspec import Meta

from tidegate_server.http.read_only_members import UNSTABLE
from tidegate_server.wire.common import Time

Number = Annotated[
    int, Meta(ge=0, description="of a change; they grow, and belong to one tenant alone")
]
Hash = Annotated[str, Meta(description="chained over the changes, in hexadecimal")]


@attrs.frozen(kw_only=True)
class SyncSecrets:
    redaction: Annotated[
        str, Meta(description="key of the hashes of secrets of this tenant, in hexadecimal")
    ]
    proofs: Annotated[str, Meta(description="from which keys of challenge proofs are derived")]
    sealing: Annotated[str, Meta(description="from which keys that seal challenges are derived")]


@attrs.frozen(kw_only=True)
class SyncSnapshot:
    """The definitions and secrets that a daemon decides by.

    The header `x-tidegate-signature` signs the body.
    """

    version: int
    tenant_id: UUID
    sequence: Number
    hash: Hash
    created_at: Annotated[int, Meta(description="nanoseconds since 1970")]
    public_key: Annotated[str, Meta(description="Ed25519, in hexadecimal")]
    base_url: str
    secrets: SyncSecrets
    revision: int
    document: dict[str, Any]
    effects: Annotated[list[Any], Meta(description="the active mitigations")]
    end: bool


@attrs.frozen(kw_only=True)
class SyncChanges:
    """Changes after a number. The header `x-tidegate-signature` signs the body."""

    version: int
    tenant_id: UUID
    after: Number
    previous_hash: Hash
    items: list[dict[str, Any]]
    sequence: Number
    hash: Hash
    created_at: Annotated[int, Meta(description="nanoseconds since 1970")]
    end: bool


@attrs.frozen(kw_only=True)
class SyncQuery:
    after: (
        Annotated[int, Meta(ge=0, description="the number that the daemon holds; else the newest")]
        | None
    ) = None
    wait: Annotated[int, Meta(ge=0, description="seconds to wait for a change; at most 60")] = 0


@attrs.frozen(kw_only=True)
class SyncAck:
    daemon_id: UUID
    name: str
    version: str
    mode: Annotated[str, Meta(description="such as `online`, `offline`")]
    sequence: int
    hash: Hash
    revision: int
    spooled: int = 0
    dropped: int = 0


@attrs.frozen(kw_only=True)
class SyncAcknowledged:
    is_equal: bool
    sequence: Number


@attrs.frozen(kw_only=True)
class ForwardedEvent:
    number: Annotated[int, Meta(ge=1, description="in the spool, without repetition, rising")]
    line: Annotated[dict[str, Any], Meta(description="the decision as the daemon recorded it")]
    index: Annotated[list[Any], Meta(description="what it is found by")]


@attrs.frozen(kw_only=True)
class ForwardedEvents:
    daemon_id: UUID
    spool_id: UUID
    events: list[ForwardedEvent]


@attrs.frozen(kw_only=True)
class RefusedEvent:
    number: int
    detail: str


@attrs.frozen(kw_only=True)
class ForwardedAnswer:
    acknowledged: Annotated[int, Meta(description="up to this number everything is recorded")]
    recorded: int
    refused: Annotated[list[RefusedEvent], Meta(description="not recorded, and never to be")]


@attrs.frozen(kw_only=True)
class Daemon:
    """A daemon, as it last described itself."""

    daemon_id: UUID
    tenant_id: UUID
    name: str
    version: str
    mode: str
    revision: Annotated[int, Meta(description="of the definitions that it decides by")]
    sequence: Number
    is_equal: Annotated[bool, Meta(description="has the same definitions, by their hash")]
    behind: Annotated[int, Meta(description="changes that it did not hold then")]
    spooled: Annotated[int, Meta(description="decisions that it hasn't forwarded yet")]
    dropped: Annotated[int, Meta(description="decisions that it had to drop")]
    first_seen_at: Time
    last_seen_at: Annotated[Time, Meta(extra=UNSTABLE)]
