"""One row for each route of the control plane: a body that is good, and what it is answered with.

``test_access`` takes them through all callers; a route without a row fails there.
"""

from __future__ import annotations

from typing import Any

ACTION = {"name": "Another", "expression": "true"}
ENTITY = {"name": "Another", "key_fields": ["request.client_ip"]}
MITIGATION = {"name": "Another", "mode": "Monitor"}
POLICY = {"name": "Another", "clauses": [{"name": "one"}]}
LIST = {"name": "Another", "kind": "ip"}

ROWS: dict[str, tuple[Any, int]] = {
    "create-token": ({"email": "nobody@example.test", "password": "no password"}, 401),
    "revoke-token": (None, 204),
    "read-me": (None, 200),
    "list-tenants": (None, 200),
    "create-tenant": ({"name": "{unique}"}, 201),
    "read-tenant": (None, 200),
    "change-tenant": ({}, 200),
    "delete-tenant": (None, 204),
    "list-memberships": (None, 200),
    "put-membership": ({"user_id": "{user_id}", "role": "Viewer"}, 200),
    "delete-membership": (None, 204),
    "list-api-keys": (None, 200),
    "create-api-key": ({"name": "{unique}"}, 201),
    "read-api-key": (None, 200),
    "change-api-key": ({}, 200),
    "rotate-api-key": ({}, 200),
    "revoke-api-key": (None, 204),
    "list-actions": (None, 200),
    "create-action": ({**ACTION, "name": "{unique}"}, 201),
    "read-action": (None, 200),
    "change-action": ({}, 200),
    "delete-action": (None, 204),
    "list-entity-definitions": (None, 200),
    "create-entity-definition": ({**ENTITY, "name": "{unique}"}, 201),
    "read-entity-definition": (None, 200),
    "change-entity-definition": ({}, 200),
    "delete-entity-definition": (None, 204),
    "list-mitigations": (None, 200),
    "create-mitigation": ({**MITIGATION, "name": "{unique}"}, 201),
    "read-mitigation": (None, 200),
    "change-mitigation": ({}, 200),
    "delete-mitigation": (None, 204),
    "list-policies": (None, 200),
    "create-policy": ({**POLICY, "name": "{unique}"}, 201),
    "read-policy": (None, 200),
    "change-policy": ({}, 200),
    "delete-policy": (None, 204),
    "list-policy-versions": (None, 200),
    "restore-policy": ({"version": 1}, 200),
    "list-lists": (None, 200),
    "create-list": ({**LIST, "name": "{unique}"}, 201),
    "read-list": (None, 200),
    "change-list": ({}, 200),
    "delete-list": (None, 204),
    "change-list-entries": ({}, 200),
    "check-expression": ({"expression": "true"}, 200),
    "read-definitions": (None, 200),
    "replace-definitions": ({"apiVersion": "tidegate/v1"}, 200),
    "simulate-policy": ({"event": {}}, 200),
    "list-decisions": (None, 200),
    "read-decision": (None, 200),
    "explain-decision": (None, 200),
    "list-policy-results": (None, 200),
    "read-policy-results": (None, 200),
    "read-timeline": (None, 200),
    "list-fields": (None, 200),
    "read-entity-state": (None, 200),
    "list-active-mitigations": (None, 200),
    "lift-mitigation": (None, 204),
    "list-audit": (None, 200),
    "read-health": (None, 200),
    "read-readiness": (None, 503),
    "read-metrics": (None, 200),
    "read-openapi": (None, 200),
    "read-docs": (None, 200),
    "read-docs-style": (None, 200),
}
"""By name of the route; ``{unique}`` and names of ids are filled in."""

OBJECTS: dict[str, tuple[str, Any]] = {
    "action_id": ("actions", ACTION),
    "entity_definition_id": ("entity-definitions", ENTITY),
    "mitigation_id": ("mitigations", MITIGATION),
    "policy_id": ("policies", POLICY),
    "list_id": ("lists", LIST),
    "api_key_id": ("api-keys", {"name": "key"}),
}
"""How an object of each id in a path is made: where, and from what."""
DECIDED = ("decision_id", "entity_id")
"""Ids of what comes of traffic."""
