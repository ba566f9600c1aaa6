"""The table of all routes of the service, each declared once.

The application, the documentation at ``/openapi.json``, the authorisation of every call and the
tests that cover all routes are derived from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate_server.accounts import api_keys, memberships, tenants
from tidegate_server.definitions import (
    document,
    expressions,
    findings,
    language,
    lists,
    overrides,
    policies,
    refreshes,
)
from tidegate_server.definitions.objects import Handlers
from tidegate_server.http.cursor import Paging
from tidegate_server.offload.kinds import Work
from tidegate_server.operators.permissions import Permission
from tidegate_server.records import completion
from tidegate_server.routing import docs_page
from tidegate_server.routing.alert_routes import ALERT_ROUTES
from tidegate_server.routing.challenge_routes import CHALLENGE_ROUTES
from tidegate_server.routing.definition_routes import CONFLICTS, DefinitionResource
from tidegate_server.routing.login_routes import LOGIN_ROUTES
from tidegate_server.routing.pack_routes import PACK_ROUTES
from tidegate_server.routing.record_routes import OPERATION_ROUTES, RECORD_ROUTES
from tidegate_server.routing.route import Credential, Route
from tidegate_server.routing.sync_routes import SYNC_ROUTES
from tidegate_server.routing.traffic_routes import TRAFFIC_ROUTES
from tidegate_server.wire import api_keys as wire_api_keys
from tidegate_server.wire import definitions as wire_definitions
from tidegate_server.wire import documents as wire_documents
from tidegate_server.wire import events as wire_events
from tidegate_server.wire import expressions as wire_expressions
from tidegate_server.wire import tenants as wire_tenants
from tidegate_server.wire.kinds import ACTION, ENTITY, MITIGATION

TAGS: Mapping[str, str] = {
    "events": "Events in, decisions out.",
    "operators": "Who is calling, and tokens.",
    "tenants": "Tenants and who operates them.",
    "api keys": "Keys of the applications that send events.",
    "challenges": "What visitors who are challenged see, and the passes they get.",
    "definitions": "What decides: actions, entities, mitigations, policies, lists, overrides.",
    "results": "What policies did, and what traffic has.",
    "records": "Decisions, entities, the audit trail; simulation and replay.",
    "traffic": "What recorded events are like, and what would match them.",
    "alerts": "Conditions over counts, and who gets a message when they are true.",
    "sync": "What daemons follow, and what they forward.",
    "operation": "Health and figures, for machines.",
    "documentation": "This interface.",
}
_TENANT = "/tenants/{tenant_id}"
_KEY = f"{_TENANT}/api-keys/{{api_key_id}}"
_POLICY = f"{_TENANT}/policies/{{policy_id}}"
_LIST_BYTES = 4 * 1024 * 1024
"""The size limit of a body with a list's entries."""
_DOCUMENT_BYTES = 32 * 1024 * 1024
"""The size limit of a whole definitions document."""

_EVENT_REFUSALS = (
    "not-found",
    "invalid-event",
    "idempotency-key-reused",
    "rate-limited",
    "decision-log-unavailable",
    "overloaded",
)
_HOT: dict[str, Any] = {
    "method": "POST",
    "tag": "events",
    "credential": Credential.API_KEY,
    "handler": None,
}
_VERDICTS: Mapping[int, str] = {
    302: "The visitor is to pass a challenge.",
    307: "The visitor has a proof, keeps it as a cookie, and asks again without it.",
    403: "The visitor is refused, or the question is not clear.",
    502: "There is no decision.",
}
"""Statuses of answers to proxies other than 200 and 401."""
_EVENTS: tuple[Route, ...] = (
    Route(
        path="/beacon/event",
        name="send-event",
        summary="Send one event",
        description="A 2xx answer means that the event and its decision are on stable storage.",
        body=wire_events.Event,
        answer=wire_events.BeaconAnswer,
        refusals=_EVENT_REFUSALS,
        **_HOT,
    ),
    Route(
        path="/beacon/events",
        name="send-events",
        summary="Send up to 1,000 events, with an answer for each",
        description="Send a JSON array, or one event per line; at most 4 MiB.",
        body=list[wire_events.Event],
        answer=list[wire_events.BatchItem],
        refusals=("rate-limited", "decision-log-unavailable", "overloaded"),
        max_bytes=_LIST_BYTES,
        media_types=("application/json", "application/x-ndjson"),
        **_HOT,
    ),
    Route(
        path="/runtime/mitigation",
        name="decide",
        summary="Decide on one request",
        description="A 2xx answer means that the event and its decision are on stable storage.",
        body=wire_events.Event,
        answer=wire_events.RuntimeAnswer,
        refusals=(*_EVENT_REFUSALS, "empty-payload"),
        **_HOT,
    ),
    Route(
        method="GET",
        path="/authz",
        name="authorize",
        summary="Authorize a request for a proxy",
        description=(
            "For `auth_request` of nginx, forward authentication of Caddy and Traefik, and"
            " `ext_authz` of Envoy over HTTP, which adds the visitor's path. Takes every method."
            " docs/integrations.md says which headers ask, and which ones answer."
        ),
        tag="events",
        credential=Credential.API_KEY,
        handler=None,
        also=_VERDICTS,
        answer_type="text/plain",
        rooted=True,
        any_method=True,
    ),
)

_TENANTS: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/tenants",
        name="list-tenants",
        summary="List the tenants the caller is a member of",
        tag="tenants",
        handler=tenants.list_,
        query=Paging,
        answer=list[wire_tenants.Tenant],
    ),
    Route(
        method="POST",
        path="/tenants",
        name="create-tenant",
        summary="Create a tenant; the caller becomes its Owner",
        tag="tenants",
        handler=tenants.create,
        body=wire_tenants.TenantCreate,
        answer=wire_tenants.Tenant,
        status=201,
        refusals=("conflict", "overloaded"),
        repeatable=True,
    ),
    Route(
        method="GET",
        path=_TENANT,
        name="read-tenant",
        summary="Read a tenant",
        tag="tenants",
        permission=Permission.READ_DEFINITIONS,
        handler=tenants.read,
        answer=wire_tenants.Tenant,
        conditional=True,
    ),
    Route(
        method="PATCH",
        path=_TENANT,
        name="change-tenant",
        summary="Change a tenant's name or settings",
        description="Omitted members and settings don't change.",
        tag="tenants",
        permission=Permission.MANAGE_TENANT,
        handler=tenants.change,
        present=tenants.read,
        body=wire_tenants.TenantChange,
        answer=wire_tenants.Tenant,
        conditional=True,
        refusals=("conflict", "overloaded"),
    ),
    Route(
        method="DELETE",
        path=_TENANT,
        name="delete-tenant",
        summary="Delete a tenant and all its data",
        description="The audit trail is kept.",
        tag="tenants",
        permission=Permission.MANAGE_TENANT,
        handler=tenants.delete,
        status=204,
        conditional=True,
        refusals=("overloaded",),
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/memberships",
        name="list-memberships",
        summary="List memberships",
        tag="tenants",
        permission=Permission.MANAGE_ACCESS,
        handler=memberships.list_,
        query=Paging,
        answer=list[wire_tenants.Membership],
    ),
    Route(
        method="POST",
        path=f"{_TENANT}/memberships",
        name="put-membership",
        summary="Create or update a membership",
        description=(
            "Only Owners can change memberships of Owners. The last Owner can't be removed."
        ),
        tag="tenants",
        permission=Permission.MANAGE_ACCESS,
        handler=memberships.put,
        present=memberships.present,
        body=wire_tenants.MembershipWrite,
        answer=wire_tenants.Membership,
        conditional=True,
        refusals=("last-owner", "overloaded"),
    ),
    Route(
        method="DELETE",
        path=f"{_TENANT}/memberships/{{user_id}}",
        name="delete-membership",
        summary="Delete a membership",
        description=(
            "Only Owners can change memberships of Owners. The last Owner can't be removed."
        ),
        tag="tenants",
        permission=Permission.MANAGE_ACCESS,
        handler=memberships.delete,
        status=204,
        conditional=True,
        refusals=("last-owner", "overloaded"),
    ),
)

_KEYS: dict[str, Any] = {"tag": "api keys", "permission": Permission.MANAGE_ACCESS}
_API_KEYS: tuple[Route, ...] = (
    Route(
        method="GET",
        path=f"{_TENANT}/api-keys",
        name="list-api-keys",
        summary="List API keys, including revoked and expired ones",
        handler=api_keys.list_,
        query=Paging,
        answer=list[wire_api_keys.ApiKey],
        **_KEYS,
    ),
    Route(
        method="POST",
        path=f"{_TENANT}/api-keys",
        name="create-api-key",
        summary="Create an API key",
        handler=api_keys.create,
        body=wire_api_keys.ApiKeyCreate,
        answer=wire_api_keys.NewApiKey,
        status=201,
        refusals=("conflict", "overloaded"),
        repeatable=True,
        **_KEYS,
    ),
    Route(
        method="GET",
        path=_KEY,
        name="read-api-key",
        summary="Read an API key, without its text",
        handler=api_keys.read,
        answer=wire_api_keys.ApiKey,
        conditional=True,
        **_KEYS,
    ),
    Route(
        method="PATCH",
        path=_KEY,
        name="change-api-key",
        summary="Change an API key",
        handler=api_keys.change,
        present=api_keys.read,
        body=wire_api_keys.ApiKeyChange,
        answer=wire_api_keys.ApiKey,
        conditional=True,
        refusals=("conflict", "overloaded"),
        **_KEYS,
    ),
    Route(
        method="POST",
        path=f"{_KEY}/rotate",
        name="rotate-api-key",
        summary="Rotate the secret of an API key",
        handler=api_keys.rotate,
        body=wire_api_keys.ApiKeyRotation,
        answer=wire_api_keys.NewApiKey,
        conditional=True,
        refusals=("conflict", "overloaded"),
        repeatable=True,
        **_KEYS,
    ),
    Route(
        method="DELETE",
        path=_KEY,
        name="revoke-api-key",
        summary="Revoke an API key permanently",
        handler=api_keys.revoke,
        status=204,
        conditional=True,
        refusals=("overloaded",),
        **_KEYS,
    ),
)

_DEFINITIONS: tuple[Route, ...] = (
    *DefinitionResource(
        handlers=Handlers(ACTION),
        path="actions",
        noun="an action",
        plural="actions",
        change=wire_definitions.ActionChange,
        also_bare=True,
    ).routes(),
    *DefinitionResource(
        handlers=Handlers(ENTITY),
        path="entity-definitions",
        noun="an entity definition",
        plural="entity definitions",
        change=wire_definitions.EntityDefinitionChange,
        also_bare=True,
    ).routes(),
    *DefinitionResource(
        handlers=Handlers(MITIGATION),
        path="mitigations",
        noun="a mitigation",
        plural="mitigations",
        change=wire_definitions.MitigationChange,
        also_bare=True,
        # The body of a block answer alone may have 64 KiB.
        max_bytes=512 * 1024,
    ).routes(),
    *DefinitionResource(
        handlers=policies.handlers,
        path="policies",
        noun="a policy",
        plural="policies",
        change=wire_definitions.PolicyChange,
        max_bytes=1024 * 1024,
    ).routes(),
    Route(
        method="GET",
        path=f"{_POLICY}/versions",
        name="list-policy-versions",
        summary="List the versions of a policy, newest first",
        tag="definitions",
        permission=Permission.READ_DEFINITIONS,
        handler=policies.list_versions,
        work=Work.DOCUMENT,
        query=Paging,
        answer=list[wire_definitions.PolicyVersion],
    ),
    Route(
        method="POST",
        path=f"{_POLICY}/restore",
        name="restore-policy",
        summary="Restore a version of a policy",
        tag="definitions",
        permission=Permission.WRITE_DEFINITIONS,
        handler=policies.restore,
        work=Work.COMPILE,
        body=wire_definitions.Restore,
        answer=wire_definitions.Policy,
        conditional=True,
        refusals=CONFLICTS,
    ),
    *DefinitionResource(
        handlers=lists.handlers,
        path="lists",
        noun="a list",
        plural="lists, without their entries",
        change=wire_definitions.ListChange,
        shown=wire_definitions.ListSummary,
        max_bytes=_LIST_BYTES,
    ).routes(),
    Route(
        method="POST",
        path=f"{_TENANT}/lists/{{list_id}}/entries",
        name="change-list-entries",
        summary="Add entries to a list and remove entries",
        tag="definitions",
        permission=Permission.WRITE_DEFINITIONS,
        handler=lists.change_entries,
        work=Work.COMPILE,
        body=wire_definitions.EntriesChange,
        answer=wire_definitions.ListSummary,
        conditional=True,
        refusals=CONFLICTS,
        max_bytes=_LIST_BYTES,
    ),
    *DefinitionResource(
        handlers=overrides.handlers,
        path="overrides",
        noun="an override",
        plural="bans and exemptions by hand",
        create=wire_definitions.OverrideCreate,
        change=wire_definitions.OverrideChange,
    ).routes(),
    Route(
        method="GET",
        path=f"{_TENANT}/lists/{{list_id}}/refresh",
        name="read-list-refresh",
        summary="Read when a list was refreshed from its source, and why a refresh was refused",
        tag="definitions",
        permission=Permission.READ_DEFINITIONS,
        handler=refreshes.read,
        answer=wire_definitions.ListRefreshStatus,
    ),
    Route(
        method="POST",
        path=f"{_TENANT}/lists/{{list_id}}/refresh",
        name="refresh-list",
        summary="Refresh a list from its source now",
        description=(
            "A refusal is part of a 200 answer, and leaves the list as it is. New entries are a new"
            " revision of the definitions."
        ),
        tag="definitions",
        permission=Permission.WRITE_DEFINITIONS,
        handler=refreshes.refresh,
        work=Work.FETCH,
        answer=wire_definitions.ListRefreshStatus,
        refusals=("refresh-off", "conflict", "work-ended"),
    ),
    Route(
        method="POST",
        path=f"{_TENANT}/expressions/check",
        name="check-expression",
        summary="Check an expression",
        description="Findings are part of a 200 answer.",
        tag="definitions",
        permission=Permission.READ_DEFINITIONS,
        handler=expressions.check_expression,
        work=Work.CHECK,
        body=wire_expressions.ExpressionCheck,
        answer=wire_expressions.ExpressionReport,
    ),
    Route(
        method="POST",
        path=f"{_TENANT}/expressions/complete",
        name="complete-expression",
        summary="Complete an expression at a position",
        description="The text may be unfinished.",
        tag="definitions",
        permission=Permission.READ_DEFINITIONS,
        handler=completion.complete,
        work=Work.CHECK,
        body=wire_expressions.ExpressionCompletion,
        answer=wire_expressions.Completions,
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/language",
        name="read-language",
        summary="Read the expression language",
        description=(
            "Functions, macros, keywords, types, fields and limits, from the checker's own tables."
        ),
        tag="definitions",
        permission=Permission.READ_DEFINITIONS,
        handler=language.read_language,
        answer=wire_expressions.Language,
        conditional=True,
    ),
    Route(
        method="POST",
        path=f"{_TENANT}/policies/order",
        name="order-policies",
        summary="Reorder policies in one change",
        description=(
            "The named policies come first, and the others follow in their present order; each"
            " gets a new priority. `If-Match` takes the revision of the whole definition set."
        ),
        tag="definitions",
        permission=Permission.WRITE_DEFINITIONS,
        handler=policies.order,
        work=Work.COMPILE,
        body=wire_definitions.PoliciesOrder,
        answer=list[wire_definitions.OrderedPolicy],
        conditional=True,
        refusals=CONFLICTS,
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/definitions",
        name="read-definitions",
        summary="Read all definitions as one document",
        tag="definitions",
        permission=Permission.READ_DEFINITIONS,
        handler=document.read,
        work=Work.DOCUMENT,
        answer=dict[str, Any],
        conditional=True,
    ),
    Route(
        method="GET",
        path=f"{_TENANT}/definitions/findings",
        name="list-findings",
        summary="List warnings about the saved definitions",
        description=(
            "The same warnings as in the answers to writes. Warnings about challenges come from"
            " recorded requests, so they are only shown to callers who may read those. Objects"
            " without warnings are omitted."
        ),
        tag="definitions",
        permission=Permission.READ_DEFINITIONS,
        handler=findings.list_,
        work=Work.COMPILE,
        answer=list[wire_documents.DefinitionFindings],
    ),
    Route(
        method="PUT",
        path=f"{_TENANT}/definitions",
        name="replace-definitions",
        summary="Replace all definitions by a document",
        description=(
            "Objects that aren't in the document are deleted; equal objects stay untouched. Only"
            " Owners can change the settings."
        ),
        tag="definitions",
        permission=Permission.WRITE_DEFINITIONS,
        handler=document.replace,
        work=Work.COMPILE,
        body=bytes,
        query=wire_documents.DocumentQuery,
        answer=wire_documents.DocumentChanges,
        conditional=True,
        refusals=CONFLICTS,
        max_bytes=_DOCUMENT_BYTES,
        media_types=("application/json", "application/yaml"),
    ),
)

_DOCUMENTATION: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/openapi.json",
        name="read-openapi",
        summary="Read the OpenAPI document of this interface",
        tag="documentation",
        credential=Credential.NONE,
        handler=docs_page.openapi,
        answer=dict[str, Any],
        rooted=True,
    ),
    Route(
        method="GET",
        path="/docs",
        name="read-docs",
        summary="Read this interface as a page",
        tag="documentation",
        credential=Credential.NONE,
        handler=docs_page.page,
        answer_type="text/html",
        rooted=True,
    ),
    *(
        Route(
            method="GET",
            path=f"/docs/{name}",
            name=f"read-docs-{what}",
            summary=f"That page's {what}",
            tag="documentation",
            credential=Credential.NONE,
            handler=docs_page.asset(name, media_type),
            answer_type=media_type,
            rooted=True,
        )
        for what, name, media_type in (
            ("style", "style.css", "text/css"),
            ("start", "start.js", "text/javascript"),
            ("library", "swagger-ui-bundle.js", "text/javascript"),
            ("library-style", "swagger-ui.css", "text/css"),
        )
    ),
)

ROUTES: tuple[Route, ...] = (
    *_EVENTS,
    *LOGIN_ROUTES,
    *_TENANTS,
    *_API_KEYS,
    *_DEFINITIONS,
    *PACK_ROUTES,
    *RECORD_ROUTES,
    *TRAFFIC_ROUTES,
    *ALERT_ROUTES,
    *SYNC_ROUTES,
    *CHALLENGE_ROUTES,
    *OPERATION_ROUTES,
    *_DOCUMENTATION,
)


def words_of_paths() -> frozenset[str]:
    """Return the path segments that are the same in every request."""
    segments = (each for route in ROUTES for path in route.paths for each in path.split("/"))
    return frozenset(each for each in segments if "{" not in each)
