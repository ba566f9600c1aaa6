"""Drafts that are tried over recorded events, or on one event."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

import attrs
from msgspec import Meta

from tidegate_server.http.convert import answered_as
from tidegate_server.http.cursor import Paging
from tidegate_server.wire.common import Time
from tidegate_server.wire.decisions import (
    ActionName,
    Reason,
    Trace,
)
from tidegate_server.wire.definitions import PolicyCreate
from tidegate_server.wire.documents import DefinitionWarning
from tidegate_server.wire.period import Clock, Moment

JobStatus: TypeAlias = Literal["queued", "running", "done", "failed", "cancelled"]


@attrs.frozen(kw_only=True)
class LeftOutReason:
    reason: str
    events: int


@attrs.frozen(kw_only=True)
class EntityUse:
    """How many events an entity definition applied to, and why it didn't apply to the others."""

    entity: str
    applied: int
    not_applied: int
    looked_at: Annotated[
        int, Meta(description="events that it did not apply to, of which the reason was looked for")
    ]
    why: tuple[LeftOutReason, ...]


@attrs.frozen(kw_only=True)
class StoppedPolicy:
    """A policy that couldn't fire on any of the events."""

    policy: str
    because: str


@attrs.frozen(kw_only=True)
class ReplayJobCreate:
    """A draft over recorded events: a whole document, or what is saved, perhaps with a policy."""

    since: Annotated[Moment, Meta(description="from this time on")]
    until: Annotated[Moment, Meta(description="before this time")]
    time: Clock = "observed"
    definitions: Annotated[
        dict[str, Any] | None,
        Meta(
            description="a definitions document; the saved ones if null. Not together with"
            " `policy_id` or `policy`"
        ),
    ] = None
    policy_id: Annotated[
        UUID | None, Meta(description="a policy that is active, whatever its saved status")
    ] = None
    policy: Annotated[
        PolicyCreate | None,
        Meta(description="what the policy of `policy_id` is changed to; as it is saved if null"),
    ] = None


@attrs.frozen(kw_only=True)
class OutcomeCounts:
    allow: int = 0
    challenge: int = 0
    block: int = 0


@attrs.frozen(kw_only=True)
class PolicyOutcomes:
    """Decisions in which a clause of a policy fired, Monitor clauses too."""

    policy: str
    recorded: int
    replayed: int


@attrs.frozen(kw_only=True)
class ReplayResult:
    """The result. ``skipped`` are events that the draft refuses."""

    events: int
    skipped: int
    different: int
    differences_listed: Annotated[int, Meta(description="of those that differ, the first")]
    recorded: OutcomeCounts
    replayed: OutcomeCounts
    policies: tuple[PolicyOutcomes, ...]
    evictions: Annotated[int, Meta(description="entities that the draft's state had no room for")]
    entities: Annotated[
        tuple[EntityUse, ...], Meta(description="entity definitions of the draft")
    ] = ()
    could_not_fire: Annotated[
        tuple[StoppedPolicy, ...],
        Meta(description="policies that could fire on none of the events, and why"),
    ] = ()


@attrs.frozen(kw_only=True)
class ReplayJob:
    """A draft that runs over recorded events, in event time.

    The state starts empty. Events before the period warm it up, as far back as the windows and
    mitigations of the draft reach, but at most a day.
    """

    replay_job_id: UUID
    tenant_id: UUID
    status: JobStatus
    since: Time
    until: Time
    time: Clock
    policy_id: UUID | None
    progress: Annotated[
        int, Meta(description="entries of the log read so far, those before the period too")
    ]
    total: Annotated[int, Meta(description="entries to read, when the job was made")]
    result: ReplayResult | None
    error: str | None
    created_by: str
    created_at: Time
    started_at: Time | None
    finished_at: Time | None


answered_as(ReplayJob, ReplayJobCreate)


@attrs.frozen(kw_only=True)
class ReplayedDecision:
    """One of the two decisions of a difference."""

    action: ActionName
    reason: Reason
    policy: str | None
    clause: str | None
    mitigation: str | None


@attrs.frozen(kw_only=True)
class ReplayDifference:
    """A recorded decision that the draft decides otherwise."""

    tenant_id: UUID
    decision_id: UUID
    recorded: ReplayedDecision
    replayed: ReplayedDecision


@attrs.frozen(kw_only=True)
class ReplayExplanation:
    """A recorded decision, made again by the draft of the job.

    ``reproduced`` says whether it came out as in the replay: as it is listed, or as it was
    recorded where it is not among those that differ. If not, ``because`` has all known reasons,
    and the trace, if there is one, shows the decision that came out.
    """

    decision_id: UUID
    tenant_id: UUID
    replay_job_id: UUID
    reproduced: bool
    because: tuple[str, ...]
    earlier_entries: Annotated[
        int, Meta(description="entries of the log that the draft ran over before the decision")
    ]
    recorded: dict[str, Any]
    decision: dict[str, Any] | None
    trace: Trace | None
    text: Annotated[str | None, Meta(description="the trace in words")]


@attrs.frozen(kw_only=True)
class DifferencesQuery(Paging):
    decision_id: Annotated[UUID | None, Meta(description="only this decision")] = None


DifferenceMember: TypeAlias = Literal["action", "policy", "path", "country", "agent", "entity"]


@attrs.frozen(kw_only=True)
class SummaryQuery:
    by: Annotated[
        DifferenceMember,
        Meta(
            description="what differences are counted by; `policy` is the one that answers in the"
            " replay, or else that answered then"
        ),
    ] = "policy"
    limit: Annotated[int, Meta(ge=1, le=100, description="groups that are answered")] = 20


@attrs.frozen(kw_only=True)
class ChangedOutcome:
    """Differences from one answer to another."""

    recorded: ActionName
    replayed: ActionName
    count: int


@attrs.frozen(kw_only=True)
class DifferenceGroup:
    """Differences that have something in common."""

    value: Annotated[str | None, Meta(description="null where there is none; of an entity, its id")]
    label: Annotated[str, Meta(description="the value in words")]
    count: int
    stricter: Annotated[int, Meta(description="answered more strictly by the draft")]
    milder: int
    example: Annotated[UUID, Meta(description="the first decision of the group")]


@attrs.frozen(kw_only=True)
class DifferencesSummary:
    """The differences that a replay job listed, counted."""

    by: DifferenceMember
    counted: Annotated[int, Meta(description="differences")]
    complete: Annotated[
        bool,
        Meta(description="false if the time ran out, or if not all differences are listed"),
    ]
    outcomes: tuple[ChangedOutcome, ...]
    groups: Annotated[tuple[DifferenceGroup, ...], Meta(description="the largest first")]


SimulatedEvent: TypeAlias = Annotated[
    dict[str, Any], Meta(description="in the shape of a runtime request")
]


@attrs.frozen(kw_only=True)
class Simulation:
    event: SimulatedEvent
    policy: Annotated[
        PolicyCreate | None,
        Meta(description="in place of the saved policy; saved as it is if null"),
    ] = None


@attrs.frozen(kw_only=True)
class SimulationResult:
    """The decision on an event now, if the policy were active; nothing is recorded."""

    decision: dict[str, Any]
    fired: Annotated[bool, Meta(description="whether a clause of the policy fired")]
    trace: Trace
    text: Annotated[str, Meta(description="the trace in words")]
    warnings: Annotated[
        tuple[DefinitionWarning, ...],
        Meta(description="about the challenges of the policy, from what was recorded lately"),
    ]
