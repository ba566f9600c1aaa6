"""The routes for decisions and data derived from them; a part of the table in ``routes``."""

from __future__ import annotations

from typing import Any

from tidegate_server.http.cursor import Paging
from tidegate_server.offload.kinds import Work
from tidegate_server.operators.permissions import Permission
from tidegate_server.records import (
    active_mitigations,
    audit,
    decision_test,
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
        summary="List decisions, newest first",
        description=(
            "A page may have fewer decisions than `limit`, or none, and still be followed by"
            " another: a search for something rare continues there."
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
        summary="Read a decision with its event",
        handler=decisions.read,
        answer=wire_decisions.Decision,
        **_RECORDS,
    ),
    Route(
        method="GET",
        path=f"{_DECISION}/explain",
        name="explain-decision",
        summary="Explain a decision",
        description=(
            "Repeats the decision with the definitions of its revision, over the state that"
            " earlier decisions left, and shows the value of every node. If it can't be repeated,"
            " `because` says why."
        ),
        handler=explain.explain,
        work=Work.EXPLAIN,
        answer=wire_decisions.DecisionExplanation,
        **_RECORDS,
    ),
    Route(
        method="GET",
        path=f"{_DECISION}/test",
        name="read-decision-test",
        summary="Write a policy test from a decision",
        description=(
            "The test has the events that the windows of the decision need, and is run with the"
            " definitions of now before it is sent. If it doesn't come to the same decision,"
            " `not-recorded` says why. `tidegate record` writes the same test."
        ),
        handler=decision_test.read,
        work=Work.EXPLAIN,
        answer=wire_decisions.DecisionTest,
        refusals=("not-recorded",),
        **_RECORDS,
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/results/policies",
        name="list-policy-results",
        summary="Count decisions by policy",
        handler=results.list_policies,
        query=wire_results.ResultsQuery,
        answer=list[wire_results.PolicyResults],
        **_RESULTS,
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/results/policies/{{policy_id}}",
        name="read-policy-results",
        summary="Count the decisions of a policy, with its newest ones",
        handler=results.read_policy,
        query=wire_period.Period,
        answer=wire_results.PolicyResult,
        **_RESULTS,
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/results/timeline",
        name="read-timeline",
        summary="Count decisions over time",
        description=(
            "With `by`, each step has the counts of several series. At most 500,000 decisions are"
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
        summary="List the fields that expressions and entity keys can read",
        description=(
            "The names of captured fields are learned from every event, up to `catalog.names`"
            " (1,000)."
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
        summary="Find the id of an entity by its values",
        description=(
            "Secret values are hashed like those of events, so an entity is found by a value that"
            " isn't stored."
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
        summary="Read the present state of an entity: counts, windows, active mitigations",
        handler=entities.read_state,
        answer=wire_entities.EntityState,
        **_RECORDS,
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/active-mitigations",
        name="list-active-mitigations",
        summary="List active mitigations",
        handler=active_mitigations.list_,
        query=wire_entities.MitigationsQuery,
        answer=list[wire_entities.EntityMitigation],
        **_RECORDS,
    ),
    Route(
        method="DELETE",
        path=f"{_TENANT}/active-mitigations/{{entity_id}}",
        name="lift-mitigation",
        summary="Lift the active mitigations of an entity",
        description="Lifts all of them, or those of one policy or clause.",
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
            "Lifts those of at most 500 entities; `complete` is false if there are more. The audit"
            " trail has the reason and each mitigation."
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
        summary="Read the status of the service for a tenant",
        handler=status.read_status,
        answer=wire_results.Status,
        **_RECORDS,
    ),
    Route(
        method="POST",
        path=f"{_TENANT}/policies/{{policy_id}}/simulate",
        name="simulate-policy",
        summary="Simulate a policy, or a draft of it, on one event",
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
        summary="List replay jobs, newest first",
        handler=replay_jobs.list_,
        query=Paging,
        answer=list[wire_replay.ReplayJob],
        **_RECORDS,
    ),
    Route(
        method="POST",
        path=f"{_TENANT}/replay-jobs",
        name="create-replay-job",
        summary="Create a replay job: a draft over recorded events",
        description=(
            "The draft is a definitions document, or the saved definitions, unchanged or with one"
            " policy activated or changed. The job counts the events of the period, by `time`, and"
            " decides on them in the order of arrival. A tenant has one job at a time. Secrets are"
            " recorded as hashes, so rules that read them may decide differently. Mitigations that"
            " operators lifted aren't lifted again."
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
        summary="Read the progress or the result of a replay job",
        handler=replay_jobs.read,
        answer=wire_replay.ReplayJob,
        **_RECORDS,
    ),
    Route(
        method="POST",
        path=f"{_JOB}/cancel",
        name="cancel-replay-job",
        summary="Cancel a replay job",
        handler=replay_jobs.cancel,
        answer=wire_replay.ReplayJob,
        refusals=("overloaded",),
        **_RECORDS,
    ),
    Route(
        method="GET",
        path=f"{_JOB}/differences",
        name="list-replay-differences",
        summary="List the decisions that a replay job changed, in the order of arrival",
        handler=replay_jobs.list_differences,
        query=wire_replay.DifferencesQuery,
        answer=list[wire_replay.ReplayDifference],
        **_RECORDS,
    ),
    Route(
        method="GET",
        path=f"{_JOB}/differences/{{decision_id}}/explain",
        name="explain-replay-difference",
        summary="Explain a decision of a replay job's draft",
        description=(
            "Runs the draft again over the log before the decision, from where the job began, over"
            f" at most {replayed.MAX_RUN:,} entries, and shows the value of every node. If it"
            " comes to another decision than the job, `because` says why."
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
        summary="List the changes by operators, newest first",
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
        summary="Check that the process answers",
        credential=Credential.NONE,
        handler=health.healthz,
        answer=wire_common.Health,
        **_OPERATION,
    ),
    Route(
        path="/readyz",
        name="read-readiness",
        summary="Check that decisions can be made and recorded",
        description=(
            "Answers 503 during start and stop, and while the decision log can't be written."
        ),
        credential=Credential.NONE,
        handler=health.readyz,
        answer=wire_common.Health,
        refusals=("not-ready",),
        **_OPERATION,
    ),
    Route(
        path="/metrics",
        name="read-metrics",
        summary="Read metrics in the format of Prometheus",
        description="A setting says which metrics are shown without the metrics token.",
        credential=Credential.METRICS,
        handler=health.metrics,
        answer=str,
        answer_type="text/plain",
        **_OPERATION,
    ),
)
