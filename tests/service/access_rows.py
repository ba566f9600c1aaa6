"""One row for each route: the body of a good request, and how what its path names is made.

``test_access_matrix`` takes every row through all callers; a route without a row fails there.
"""

from __future__ import annotations

from typing import Any

from tidegate_server.pages.page import FILE_TYPES

EVENT: dict[str, Any] = {"request": {"method": "GET", "path": "/"}}
BLOCKED: dict[str, Any] = {"request": {"path": "/blocked", "client_ip": "{address}"}}
"""An event after which its address is under a mitigation."""
CHALLENGED: dict[str, Any] = {"request": {"path": "/challenged", "client_ip": "{address}"}}
"""An event whose sender is challenged."""
SETTINGS: dict[str, Any] = {"settings": {"challenge_wait_seconds": 1}}
"""With these a challenge is passed without a browser."""
ACTION: dict[str, Any] = {"name": "{unique}", "expression": "request.method == 'GET'"}
ENTITY: dict[str, Any] = {"name": "{unique}", "key_fields": ["request.client_ip"]}
MITIGATION: dict[str, Any] = {"name": "{unique}", "mode": "Block", "block": {"status_code": 429}}
POLICY: dict[str, Any] = {"name": "{unique}", "status": "draft", "clauses": [{"name": "one"}]}
LIST: dict[str, Any] = {"name": "{unique}", "kind": "ip", "entries": ["192.0.2.0/24"]}
OVERRIDE: dict[str, Any] = {
    "kind": "allow",
    "network": "203.0.113.77",
    "duration_seconds": 86_400,
    "reason": "{unique}",
}
ALERT: dict[str, Any] = {"name": "{unique}", "metric": "blocks"}
API_KEY: dict[str, Any] = {"name": "{unique}"}
REPLAY: dict[str, Any] = {
    "since": "2026-01-01T00:00:00Z",
    "until": "2026-01-02T00:00:00Z",
    "definitions": {"apiVersion": "tidegate/v1"},
}
"""A replay of a time without events, which ends immediately: a tenant has one job at a time."""
DAEMON = "0190f1c4-5b7e-7c3a-9d2e-1f4a6b8c0d2e"
RENAMED: dict[str, Any] = {"description": "{unique}"}

BODIES: dict[str, Any] = {
    "send-event": EVENT,
    "send-events": [EVENT],
    "decide": EVENT,
    "authorize": None,
    "create-token": {"email": "{email}", "password": "{password}"},
    "revoke-token": None,
    "list-sessions": None,
    "end-session": None,
    "read-second-factor": None,
    "begin-second-factor": {"password": "{password}"},
    "confirm-second-factor": {"code": "no digits"},
    "remove-second-factor": {"code": "no digits"},
    "read-me": None,
    "list-providers": None,
    "read-password-form": None,
    "begin-login": None,
    "finish-login": None,
    "read-login": None,
    "read-arrival": None,
    "read-login-script": None,
    "read-login-style": None,
    "read-login-mark": None,
    "list-tenants": None,
    "create-tenant": {"name": "{unique}"},
    "read-tenant": None,
    "change-tenant": {"settings": {"retention_days": 7}},
    "delete-tenant": None,
    "list-memberships": None,
    "put-membership": {"user_id": "{user_id}", "role": "Viewer"},
    "delete-membership": None,
    "list-api-keys": None,
    "create-api-key": API_KEY,
    "read-api-key": None,
    "change-api-key": {"name": "{unique}"},
    "rotate-api-key": {},
    "revoke-api-key": None,
    "list-actions": None,
    "create-action": ACTION,
    "read-action": None,
    "change-action": RENAMED,
    "delete-action": None,
    "list-entity-definitions": None,
    "create-entity-definition": ENTITY,
    "read-entity-definition": None,
    "change-entity-definition": RENAMED,
    "delete-entity-definition": None,
    "list-mitigations": None,
    "create-mitigation": MITIGATION,
    "read-mitigation": None,
    "change-mitigation": RENAMED,
    "delete-mitigation": None,
    "list-policies": None,
    "create-policy": POLICY,
    "read-policy": None,
    "change-policy": RENAMED,
    "delete-policy": None,
    "list-policy-versions": None,
    "restore-policy": {"version": 1},
    "list-lists": None,
    "create-list": LIST,
    "read-list": None,
    "change-list": RENAMED,
    "delete-list": None,
    "read-list-refresh": None,
    "refresh-list": None,
    "change-list-entries": {"add": ["198.51.100.7"], "remove": ["198.51.100.7"]},
    "list-overrides": None,
    "create-override": OVERRIDE,
    "read-override": None,
    "change-override": {"reason": "{unique}"},
    "delete-override": None,
    "check-expression": {"expression": "true"},
    "complete-expression": {"expression": "req", "position": 3},
    "read-language": None,
    "order-policies": {"policy_ids": ["{policy_id}"]},
    "read-definitions": None,
    "list-findings": None,
    "replace-definitions": "{definitions}",
    "list-packs": None,
    "read-pack": None,
    "add-pack": {},
    "update-pack": None,
    "remove-pack": None,
    "list-decisions": None,
    "read-decision": None,
    "explain-decision": None,
    "read-decision-test": None,
    "match-traffic": {"expression": "request.path == '/'", "by": ["request.path"]},
    "count-traffic-values": {"fields": ["request.path"]},
    "search-decisions": {"path_prefix": "/"},
    "list-busiest-entities": None,
    "list-agents": None,
    "list-entities-together": None,
    "read-key-health": None,
    "try-key": {"definition": ENTITY},
    "lint-definitions": None,
    "summarise-replay-differences": None,
    "list-policy-results": None,
    "read-policy-results": None,
    "read-timeline": None,
    "list-fields": None,
    "find-entity": {
        "entity_definition_id": "{entity_definition_id}",
        "key": ["192.0.2.7"],
    },
    "read-entity-state": None,
    "list-active-mitigations": None,
    "lift-mitigation": None,
    "lift-mitigations": {"clause": "none of this name", "reason": "{unique}"},
    "read-status": None,
    "simulate-policy": {"event": EVENT},
    "list-replay-jobs": None,
    "create-replay-job": REPLAY,
    "read-replay-job": None,
    "cancel-replay-job": None,
    "list-replay-differences": None,
    "explain-replay-difference": None,
    "list-audit": None,
    "show-challenge": None,
    "solve-challenge": {"solution": "none"},
    **{f"read-page-file-{name.replace('.', '-')}": None for name in FILE_TYPES},
    "verify-proof": {"token": "none"},
    "list-passes": None,
    "revoke-pass": None,
    "test-challenges": None,
    "read-challenge-results": None,
    "read-snapshot": None,
    "read-changes": None,
    "acknowledge-changes": {
        "daemon_id": DAEMON,
        "name": "{unique}",
        "version": "0.1.0",
        "mode": "online",
        "sequence": 1,
        "hash": "",
        "revision": 1,
    },
    "forward-events": {"daemon_id": DAEMON, "spool_id": DAEMON, "events": []},
    "list-alerts": None,
    "create-alert": ALERT,
    "preview-alert": {"metric": "blocks", "days": 1},
    "read-alert": None,
    "change-alert": {"name": "{unique}"},
    "delete-alert": None,
    "list-daemons": None,
    "read-health": None,
    "read-readiness": None,
    "read-metrics": None,
    "read-openapi": None,
    "read-docs": None,
    "read-docs-style": None,
    "read-docs-start": None,
    "read-docs-library": None,
    "read-docs-library-style": None,
}
"""Bodies by name of the route.  Texts in braces are filled in: names of ids, and what ``World``
makes."""

HEADERS: dict[str, dict[str, str]] = {
    "authorize": {"x-original-url": "https://shop.example.test/", "x-original-method": "GET"},
}
"""Headers that a good request needs in addition to the credential, by name of the route."""

BLOCKING: tuple[tuple[str, Any], ...] = (
    ("entity-definitions", {**ENTITY, "name": "Blocked", "priority": 1}),
    ("mitigations", {**MITIGATION, "name": "Blocked"}),
    (
        "policies",
        {
            "name": "Blocked",
            "expression": "request.path == '/blocked'",
            "clauses": [
                {
                    "name": "all",
                    "entity_definition_id": "{entity_definition_id}",
                    "mitigation_id": "{mitigation_id}",
                }
            ],
        },
    ),
)
"""Definitions of every tenant that block ``BLOCKED``."""

CHALLENGING: tuple[tuple[str, Any], ...] = (
    ("mitigations", {"name": "Challenged", "mode": "Challenge", "ttl_seconds": 0}),
    (
        "policies",
        {
            "name": "Challenged",
            "expression": "request.path == '/challenged'",
            "clauses": [{"name": "all", "mitigation_id": "{mitigation_id}"}],
        },
    ),
)
"""The same for ``CHALLENGED``."""

OBJECTS: dict[str, tuple[str, Any]] = {
    "action_id": ("actions", ACTION),
    "entity_definition_id": ("entity-definitions", ENTITY),
    "mitigation_id": ("mitigations", MITIGATION),
    "policy_id": ("policies", POLICY),
    "list_id": ("lists", LIST),
    "override_id": ("overrides", OVERRIDE),
    "alert_id": ("alerts", ALERT),
    "api_key_id": ("api-keys", API_KEY),
    "replay_job_id": ("replay-jobs", REPLAY),
}
"""Objects made with a POST below the tenant, by the name of their id in paths."""

DECIDED: dict[str, tuple[str, str]] = {
    "decision_id": ("runtime/mitigation", "decision_id"),
    "entity_id": ("beacon/event", "lookup_entity_id"),
}
"""Objects made by sending ``BLOCKED``: the path, and the member of the answer with the id."""
