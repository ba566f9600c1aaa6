"""Calls of a program with the generated client: its arguments are address, tenant, key, token.

A run of its own, since ``tidegate_client`` is there only after it was generated.
"""

from __future__ import annotations

import json
import sys
from typing import Any
from uuid import UUID

from tidegate_client import AuthenticatedClient
from tidegate_client.api.definitions import create_action, list_policies
from tidegate_client.api.events import decide, send_events
from tidegate_client.models import ActionCreate, Event, EventRequest, ProblemDocument


def event(path: Any, client_ip: str) -> Event:
    return Event(request=EventRequest(method="GET", path=path, client_ip=client_ip))


def main(base_url: str, tenant: str, api_key: str, token: str) -> None:
    """Print what the calls gave, as the client's classes have it."""
    tenant_id = UUID(tenant)
    edge = AuthenticatedClient(base_url, api_key, prefix="", auth_header_name="x-service-api-key")
    probes = [
        decide.sync(client=edge, body=event("/.env", "2001:db8:32::1")).action.type_
        for _ in range(3)
    ]
    items = send_events.sync(
        client=edge, body=[event("/", "2001:db8:32::2"), event(7, "2001:db8:32::2")]
    )
    refused = decide.sync(client=edge, body=Event())
    operator = AuthenticatedClient(base_url, token)
    policies = list_policies.sync(tenant_id, client=operator, limit=2)
    new = ActionCreate(name="Made by a generated client", expression='request.method == "PUT"')
    action = create_action.sync(tenant_id, client=operator, body=new)
    assert isinstance(refused, ProblemDocument)
    json.dump(
        {
            "probes": [str(each) for each in probes],
            "statuses": [each.status for each in items],
            "pointers": [each.pointer for each in items[1].problem.errors],
            "refused": refused.code,
            "policies": [each.slug for each in policies],
            "action": [action.slug, action.revision, str(action.tenant_id)],
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
