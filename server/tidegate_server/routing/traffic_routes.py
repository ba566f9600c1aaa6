"""The routes that read recorded traffic; a part of the table in ``routes``."""

from __future__ import annotations

from typing import Any

from tidegate_server.offload.kinds import Work
from tidegate_server.operators.permissions import Permission
from tidegate_server.routing.route import Route
from tidegate_server.traffic import differences, entities, handlers, key_health, search
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
    " It ends within a second; `complete` is false when there is more. An operator has one such"
    " look at a time."
)

TRAFFIC_ROUTES: tuple[Route, ...] = (
    Route(
        path=f"{_TENANT}/traffic/match",
        name="match-traffic",
        summary="What recorded events an expression holds for, or the draft of a policy fires for",
        description=(
            "Secrets are recorded as hashes: an expression sees those. A draft decides alone, with"
            f" windows that begin empty.{_BOUNDS}"
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
        summary="The most frequent values of fields over recorded events",
        description=f"Values that are secrets are counted by their hashes.{_BOUNDS}",
        handler=handlers.count_values,
        body=wire_traffic.TrafficFacets,
        answer=wire_traffic.FacetsFound,
        **_LOOK,
    ),
    Route(
        path=f"{_TENANT}/decisions/search",
        name="search-decisions",
        summary="Search decisions by what is in their events too, the newest first",
        description=(
            "What is looked for stands in the body, so that it is in no log of requests. A page"
            " ends within a second: it may hold fewer decisions than `limit`, or none, and still"
            " have a cursor. An operator has one search, or other look at traffic, at a time."
        ),
        handler=search.search,
        body=wire_traffic.DecisionSearch,
        answer=wire_traffic.DecisionsFound,
        **_LOOK,
    ),
    Route(
        path=f"{_TENANT}/entities/top",
        name="list-busiest-entities",
        summary="The entities that have the most of the newest events",
        description=_BOUNDS.strip(),
        handler=entities.top,
        query=wire_traffic.EntitiesQuery,
        answer=wire_traffic.EntitiesFound,
        **_READ,
    ),
    Route(
        path=f"{_TENANT}/entities/{{entity_id}}/together",
        name="list-entities-together",
        summary="The entities that are in the same events as an entity",
        description=_BOUNDS.strip(),
        handler=entities.together,
        query=wire_traffic.EntitiesQuery,
        answer=wire_traffic.EntitiesFound,
        **_READ,
    ),
    Route(
        path=f"{_TENANT}/entity-definitions/{{entity_definition_id}}/health",
        name="read-key-health",
        summary="Whether the key of an entity definition tells actors apart, by recorded events",
        description=_BOUNDS.strip(),
        handler=key_health.read_health,
        query=wire_entities.KeyHealthQuery,
        answer=wire_entities.KeyHealth,
        **_READ,
    ),
    Route(
        path=f"{_TENANT}/replay-jobs/{{replay_job_id}}/differences/summary",
        name="summarise-replay-differences",
        summary="What the decisions that a replay changes have in common",
        description=("Counted are the differences that the job lists." + _BOUNDS),
        handler=differences.summarise,
        query=wire_replay.SummaryQuery,
        answer=wire_replay.DifferencesSummary,
        **_READ,
    ),
)
