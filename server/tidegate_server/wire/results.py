"""Results of policies."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

import attrs
from msgspec import Meta

from tidegate_server.http.cursor import Paging
from tidegate_server.wire.common import Time
from tidegate_server.wire.decisions import (
    DecisionSummary,
)
from tidegate_server.wire.period import Period


@attrs.frozen(kw_only=True)
class ResultsQuery(Paging, Period):
    pass


@attrs.frozen(kw_only=True)
class Counts:
    """Numbers of decisions; for a policy, of decisions in which one of its clauses fired.

    ``allow``, ``challenge``, ``block`` and ``by_others`` add up to ``total``. The
    challenges and blocks of all policies add up to those the tenant's callers were answered.
    """

    total: int
    allow: int
    challenge: Annotated[int, Meta(description="challenged; for a policy, by it")]
    block: Annotated[int, Meta(description="blocked; for a policy, by it")]
    by_others: Annotated[
        int,
        Meta(description="for a policy: another one, or the end of the budget, gave the answer"),
    ]
    monitor: Annotated[
        int,
        Meta(description="Monitor clauses fired and no others, whatever the answer was"),
    ]
    errors: Annotated[int, Meta(description="decisions in which an expression failed")]
    last_match_at: Annotated[Time | None, Meta(description="observed or received, as `time` says")]


@attrs.frozen(kw_only=True)
class PolicyResults(Counts):
    """The counts of a policy; ``name`` is null when it has been deleted."""

    tenant_id: UUID
    policy_id: UUID
    name: str | None
    slug: str | None
    enabled: bool | None
    status: Literal["draft", "active", "retired"] | None


@attrs.frozen(kw_only=True)
class PolicyResult(PolicyResults):
    recent_decisions: tuple[DecisionSummary, ...]


@attrs.frozen(kw_only=True)
class TimelineQuery(Period):
    """A timeline's query; the default period is the last day."""

    step: (
        Annotated[
            int, Meta(ge=60, le=2_592_000, multiple_of=60, description="seconds, a multiple of 60")
        ]
        | None
    ) = None
    policy_id: Annotated[UUID | None, Meta(description="of one policy only")] = None
    by: Annotated[
        Literal["action", "policy", "reason", "api_key"] | None,
        Meta(description="what each step is split by, in `series`"),
    ] = None


@attrs.frozen(kw_only=True)
class TimelineStep(Counts):
    start: Time
    series: Annotated[
        dict[str, int] | None,
        Meta(
            description="decisions by what `by` says: by action, by id of a policy of which a"
            " clause fired, by reason, or by id of an API key, `none` without one; null without it"
        ),
    ] = None


@attrs.frozen(kw_only=True)
class AddressDatabase:
    """A database that gives country or network of clients."""

    name: Annotated[str, Meta(description="of its file")]
    type: Annotated[str, Meta(description="as its maker names it")]
    built_at: Annotated[Time, Meta(description="when it was made")]
    fields: Annotated[tuple[str, ...], Meta(description="the fields that it gives")]
    problem: Annotated[
        str | None,
        Meta(description="why the present file can't be used; the content before stays in use"),
    ]


@attrs.frozen(kw_only=True)
class Status:
    """The status of the service for a tenant."""

    ready: Annotated[bool, Meta(description="decisions can be made and recorded")]
    because: Annotated[str | None, Meta(description="why it isn't ready")]
    revision: Annotated[int, Meta(description="of the definitions as they are saved")]
    active_revision: Annotated[int | None, Meta(description="of those that decide")]
    keys: Annotated[int | None, Meta(description="entities remembered")]
    max_keys: int | None
    evictions: Annotated[int | None, Meta(description="entities evicted from a full state")]
    decisions_a_second: Annotated[float, Meta(description="received in the last whole minute")]
    waiting: Annotated[
        int | None, Meta(description="decisions in the log that aren't counted yet, of all tenants")
    ]
    last_snapshot_at: Time | None
    daemons: Annotated[int, Meta(description="seen in the last five minutes")]
    address_databases: Annotated[
        tuple[AddressDatabase, ...], Meta(description="those that say where clients are")
    ]
