"""The routes that read recorded traffic; a part of the table in ``routes``."""

from __future__ import annotations

from typing import Any

from tidegate_server.offload.kinds import Work
from tidegate_server.operators.permissions import Permission
from tidegate_server.routing.route import Route
from tidegate_server.traffic import (
    agents,
    differences,
    entities,
    handlers,
    key_health,
    lint,
    search,
)
from tidegate_server.wire import entities as wire_entities
from tidegate_server.wire import replay as wire_replay
from tidegate_server.wire import traffic as wire_traffic

_TENANT = "/tenants/{tenant_id}"
_DRAFT_BYTES = 1024 * 1024
"""The size limit of a body that contains a policy."""
_LOOK: dict[str, Any] = {
    "method": "POST",
    "tag": "traffic",
    "permission": Permission.READ_RECORDS,
    "work": Work.TRAFFIC,
}
_READ: dict[str, Any] = {**_LOOK, "method": "GET"}
_BOUNDS = (
    " Takes at most a second; `complete` is false if there is more. An operator can run one query"
    " over traffic at a time."
)

TRAFFIC_ROUTES: tuple[Route, ...] = (
    Route(
        path=f"{_TENANT}/traffic/match",
        name="match-traffic",
        summary="Match recorded events with an expression or the draft of a policy",
        description=(
            "Secrets are recorded as hashes, and the expression sees the hashes. A draft decides"
            f" alone, with windows that start empty.{_BOUNDS}"
        ),
        handler=handlers.match,
        body=wire_traffic.TrafficMatch,
        answer=wire_traffic.TrafficFound,
        refusals=("invalid-definitions",),
        max_bytes=_DRAFT_BYTES,
        **_LOOK,
    ),
    Route(
        path=f"{_TENANT}/traffic/facets",
        name="count-traffic-values",
        summary="Count the values of fields over recorded events",
        description=f"Secret values are counted by their hashes.{_BOUNDS}",
        handler=handlers.count_values,
        body=wire_traffic.TrafficFacets,
        answer=wire_traffic.FacetsFound,
        **_LOOK,
    ),
    Route(
        path=f"{_TENANT}/decisions/search",
        name="search-decisions",
        summary="Search decisions by the content of their events, newest first",
        description=(
            "The query is in the body, so that no request log has it. A page takes at most a"
            " second: it may have fewer decisions than `limit`, or none, and still have a cursor."
            " An operator can run one query over traffic at a time."
        ),
        handler=search.search,
        body=wire_traffic.DecisionSearch,
        answer=wire_traffic.DecisionsFound,
        **_LOOK,
    ),
    Route(
        path=f"{_TENANT}/agents",
        name="list-agents",
        summary="List the agents in recorded events, how they proved who they are, and the answers",
        description=_BOUNDS.strip(),
        handler=agents.list_agents,
        query=wire_traffic.AgentsQuery,
        answer=wire_traffic.AgentsFound,
        **_READ,
    ),
    Route(
        path=f"{_TENANT}/entities/top",
        name="list-busiest-entities",
        summary="List the entities with the most recent events",
        description=_BOUNDS.strip(),
        handler=entities.top,
        query=wire_traffic.EntitiesQuery,
        answer=wire_traffic.EntitiesFound,
        **_READ,
    ),
    Route(
        path=f"{_TENANT}/entities/{{entity_id}}/together",
        name="list-entities-together",
        summary="List the entities that appear in the same events as an entity",
        description=_BOUNDS.strip(),
        handler=entities.together,
        query=wire_traffic.EntitiesQuery,
        answer=wire_traffic.EntitiesFound,
        **_READ,
    ),
    Route(
        path=f"{_TENANT}/entity-definitions/{{entity_definition_id}}/health",
        name="read-key-health",
        summary=(
            "Check by recorded events how well the key of an entity definition identifies actors"
        ),
        description=_BOUNDS.strip(),
        handler=key_health.read_health,
        query=wire_entities.KeyHealthQuery,
        answer=wire_entities.KeyHealth,
        **_READ,
    ),
    Route(
        path=f"{_TENANT}/entity-definitions/health",
        name="try-key",
        summary=(
            "Check by recorded events how well the key of an entity definition that isn't saved"
            " would identify actors"
        ),
        description=(
            "With the slug of a saved definition, the windows that count by that one are looked at."
            f"{_BOUNDS}"
        ),
        handler=key_health.try_key,
        body=wire_entities.KeyHealthTrial,
        answer=wire_entities.KeyHealth,
        **_LOOK,
    ),
    Route(
        path=f"{_TENANT}/lint",
        name="lint-definitions",
        summary="Find what definitions can't do, and what recorded events show about them",
        description=(
            "The findings of `tidegate lint --events`, over recorded events. Takes at most four"
            " seconds; `complete` is false if there is more. An operator can run one query over"
            " traffic at a time."
        ),
        handler=lint.lint,
        query=wire_traffic.LintQuery,
        answer=wire_traffic.LintFound,
        **_READ,
    ),
    Route(
        path=f"{_TENANT}/replay-jobs/{{replay_job_id}}/differences/summary",
        name="summarise-replay-differences",
        summary="Group the decisions that a replay job changed",
        description=f"Groups the differences that the job lists.{_BOUNDS}",
        handler=differences.summarise,
        query=wire_replay.SummaryQuery,
        answer=wire_replay.DifferencesSummary,
        **_READ,
    ),
)
