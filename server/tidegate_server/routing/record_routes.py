"""The routes for decisions and data derived from them; a part of the table in ``routes``."""

from __future__ import annotations

from typing import Any

from tidegate_server.http.cursor import Paging
from tidegate_server.offload.kinds import Work
from tidegate_server.operators.permissions import Permission
from tidegate_server.records import (
    active_mitigations,
    audit,
    decisions,
    entities,
    explain,
    replay_jobs,
    replayed,
    results,
    simulate,
    status,
)
from tidegate_server.routing import health
from tidegate_server.routing.route import Credential, Route
from tidegate_server.traffic import field_values
from tidegate_server.wire import audit as wire_audit
from tidegate_server.wire import catalog as wire_catalog
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import decisions as wire_decisions
from tidegate_server.wire import entities as wire_entities
from tidegate_server.wire import period as wire_period
from tidegate_server.wire import replay as wire_replay
from tidegate_server.wire import results as wire_results

_TENANT = "/tenants/{tenant_id}"
_DECISION = f"{_TENANT}/decisions/{{decision_id}}"
_JOB = f"{_TENANT}/replay-jobs/{{replay_job_id}}"
_RECORDS: dict[str, Any] = {"tag": "records", "permission": Permission.READ_RECORDS}
_RESULTS: dict[str, Any] = {"tag": "results", "permission": Permission.READ_DEFINITIONS}
_SIMULATION_BYTES = 1024 * 1024
"""The size limit of a body that contains a policy."""
_DRAFT_BYTES = 32 * 1024 * 1024
"""The size limit of a body that contains a whole definitions document."""
_OPERATION: dict[str, Any] = {
    "method": "GET",
    "tag": "operation",
    "work": Work.LOOP,
    "rooted": True,
}

RECORD_ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path=f"{_TENANT}/decisions",
        name="list-decisions",
        summary="Search decisions, the newest first",
        description=(
            "A page may hold fewer than `limit`, or none, and still have a next one: a search for"
            " what is rare goes on there."
        ),
        handler=decisions.search,
        query=wire_decisions.DecisionsQuery,
        answer=list[wire_decisions.DecisionSummary],
        **_RECORDS,
    ),
    Route(
        method="GET",
        path=_DECISION,
        name="read-decision",
        summary="Read a decision in full, with its event",
        handler=decisions.read,
        answer=wire_decisions.Decision,
        **_RECORDS,
    ),
    Route(
        method="GET",
        path=f"{_DECISION}/explain",
        name="explain-decision",
        summary="Why a decision is what it is: the value of every node, as of then",
        description=(
            "The decision is made again by the definitions of its revision, over a state that is"
            " folded from what earlier decisions did to its entities. Where it cannot be repeated"
            " `because` says why."
        ),
        handler=explain.explain,
        work=Work.EXPLAIN,
        answer=wire_decisions.DecisionExplanation,
        **_RECORDS,
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/results/policies",
        name="list-policy-results",
        summary="Count what each policy did",
        handler=results.list_policies,
        query=wire_results.ResultsQuery,
        answer=list[wire_results.PolicyResults],
        **_RESULTS,
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/results/policies/{{policy_id}}",
        name="read-policy-results",
        summary="Count what a policy did, with its newest decisions",
        handler=results.read_policy,
        query=wire_period.Period,
        answer=wire_results.PolicyResult,
        **_RESULTS,
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/results/timeline",
        name="read-timeline",
        summary="Count decisions by steps of time",
        description=(
            "With `by`, each step has the counts of many series. At most 500,000 decisions are"
            " split by reason or API key."
        ),
        handler=results.timeline,
        work=Work.TRAFFIC,
        query=wire_results.TimelineQuery,
        answer=list[wire_results.TimelineStep],
        **_RESULTS,
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/field-catalog",
        name="list-fields",
        summary="List the fields that expressions and keys of entities can read",
        description=(
            "Captured names are learned from every event, up to `catalog.names` of them (1,000)."
        ),
        handler=field_values.list_fields,
        work=Work.TRAFFIC,
        query=wire_catalog.CatalogQuery,
        answer=list[wire_catalog.CatalogField],
        **_RESULTS,
    ),
    Route(
        method="POST",
        path=f"{_TENANT}/entities/find",
        name="find-entity",
        summary="The id of the entity that some values make",
        description=(
            "Values that are secrets are hashed as those of events are: an entity is found by its"
            " value, which is kept nowhere."
        ),
        handler=entities.find,
        body=wire_entities.EntityLookup,
        answer=wire_entities.EntityName,
        **_RECORDS,
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/entities/{{entity_id}}/state",
        name="read-entity-state",
        summary="What is known of an entity now: counts, windows, active mitigations",
        handler=entities.read_state,
        answer=wire_entities.EntityState,
        **_RECORDS,
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/active-mitigations",
        name="list-active-mitigations",
        summary="List the mitigations that entities are under",
        handler=active_mitigations.list_,
        query=wire_entities.MitigationsQuery,
        answer=list[wire_entities.EntityMitigation],
        **_RECORDS,
    ),
    Route(
        method="DELETE",
        path=f"{_TENANT}/active-mitigations/{{entity_id}}",
        name="lift-mitigation",
        summary="Lift the mitigations that an entity is under",
        description="All of them, or those of one policy or of one clause.",
        tag="records",
        permission=Permission.WRITE_DEFINITIONS,
        handler=active_mitigations.lift,
        query=wire_entities.LiftQuery,
        status=204,
        refusals=("decision-log-unavailable", "overloaded"),
    ),
    Route(
        method="POST",
        path=f"{_TENANT}/active-mitigations/lift",
        name="lift-mitigations",
        summary="Lift the active mitigations of an entity, policy, clause, definition or mode",
        description=(
            "Of 500 entities at most: `complete` is false when there are more. The audit has the"
            " reason, and each mitigation."
        ),
        tag="records",
        permission=Permission.WRITE_DEFINITIONS,
        handler=active_mitigations.lift_many,
        body=wire_entities.MitigationsLift,
        answer=wire_entities.MitigationsLifted,
        refusals=("decision-log-unavailable", "overloaded"),
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/status",
        name="read-status",
        summary="How the service stands for the tenant",
        handler=status.read_status,
        answer=wire_results.Status,
        **_RECORDS,
    ),
    Route(
        method="POST",
        path=f"{_TENANT}/policies/{{policy_id}}/simulate",
        name="simulate-policy",
        summary="Try a policy, or a draft of it, on one event; nothing is recorded",
        tag="records",
        permission=Permission.READ_RECORDS,
        handler=simulate.simulate,
        work=Work.EXPLAIN,
        body=wire_replay.Simulation,
        answer=wire_replay.SimulationResult,
        refusals=("invalid-event", "invalid-definitions", "conflict"),
        max_bytes=_SIMULATION_BYTES,
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/replay-jobs",
        name="list-replay-jobs",
        summary="List replay jobs, the newest first",
        handler=replay_jobs.list_,
        query=Paging,
        answer=list[wire_replay.ReplayJob],
        **_RECORDS,
    ),
    Route(
        method="POST",
        path=f"{_TENANT}/replay-jobs",
        name="create-replay-job",
        summary="Run a draft over recorded events",
        description=(
            "The draft is a whole definitions document, or the saved definitions, as they are or"
            " with one policy active or changed. Counted are the events of the period, by `time`;"
            " they are decided in the order of arrival. A tenant has one job at a time. Secrets are"
            " recorded as hashes: rules that read them come out otherwise. Mitigations that"
            " operators lifted are not lifted again."
        ),
        handler=replay_jobs.create,
        work=Work.COMPILE,
        body=wire_replay.ReplayJobCreate,
        answer=wire_replay.ReplayJob,
        status=201,
        refusals=("conflict", "invalid-definitions", "overloaded"),
        max_bytes=_DRAFT_BYTES,
        repeatable=True,
        **_RECORDS,
    ),
    Route(
        method="GET",
        path=_JOB,
        name="read-replay-job",
        summary="How far a replay job is, or what came out",
        handler=replay_jobs.read,
        answer=wire_replay.ReplayJob,
        **_RECORDS,
    ),
    Route(
        method="POST",
        path=f"{_JOB}/cancel",
        name="cancel-replay-job",
        summary="End a replay job that waits or runs",
        handler=replay_jobs.cancel,
        answer=wire_replay.ReplayJob,
        refusals=("overloaded",),
        **_RECORDS,
    ),
    Route(
        method="GET",
        path=f"{_JOB}/differences",
        name="list-replay-differences",
        summary="List the decisions that came out otherwise, in the order of arrival",
        handler=replay_jobs.list_differences,
        query=wire_replay.DifferencesQuery,
        answer=list[wire_replay.ReplayDifference],
        **_RECORDS,
    ),
    Route(
        method="GET",
        path=f"{_JOB}/differences/{{decision_id}}/explain",
        name="explain-replay-difference",
        summary="Why the draft of a replay job decides as it does: the value of every node",
        description=(
            "The draft runs again over the entries of the log before the decision, from where the"
            f" job began, {replayed.MAX_RUN:,} at most. Where it comes to another decision than the"
            " job did, `because` says why."
        ),
        handler=replayed.explain,
        work=Work.EXPLAIN,
        answer=wire_replay.ReplayExplanation,
        **_RECORDS,
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/audit",
        name="list-audit",
        summary="List the changes that operators made, the newest first",
        handler=audit.list_,
        query=wire_audit.AuditQuery,
        answer=list[wire_audit.AuditEntry],
        **_RECORDS,
    ),
)

OPERATION_ROUTES: tuple[Route, ...] = (
    Route(
        path="/healthz",
        name="read-health",
        summary="The process answers",
        credential=Credential.NONE,
        handler=health.healthz,
        answer=wire_common.Health,
        **_OPERATION,
    ),
    Route(
        path="/readyz",
        name="read-readiness",
        summary="Decisions can be made and recorded",
        description="503 at the start, at the stop, and while the decision log cannot be written.",
        credential=Credential.NONE,
        handler=health.readyz,
        answer=wire_common.Health,
        refusals=("not-ready",),
        **_OPERATION,
    ),
    Route(
        path="/metrics",
        name="read-metrics",
        summary="Figures for Prometheus",
        description="Which are shown without the metrics token is a setting.",
        credential=Credential.METRICS,
        handler=health.metrics,
        answer=str,
        answer_type="text/plain",
        **_OPERATION,
    ),
)
