"""Audit entries that an earlier version wrote are answered in the wire form."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.server.serving import Caller, Served

from tidegate_server.http.ids import new_id
from tidegate_server.stores.objects import audit

OBJECT = "01a20b5d-0000-7000-8000-000000000001"
AT_NS = 1_700_000_000_000_000_000
AT = "2023-11-14T22:13:20.000Z"


def shown(
    served: Served, owner: Caller, tenant: str, kind: str, before: Any, object_id: str = OBJECT
) -> Any:
    """An entry with a value that an earlier version kept, as it is answered."""
    entry = audit.AuditEntry(
        audit_id=new_id(),
        tenant_id=UUID(tenant.partition("/")[2]),
        at_ns=AT_NS,
        actor=str(owner.operator_id),
        action="delete",
        kind=kind,
        object_id=object_id,
        before=before,
    )
    served.application.store.write(lambda c: audit.add(c, entry)).result()
    return owner.get(f"{tenant}/audit?limit=1").json()[0]


def test_a_policy_has_ids_and_defaults(served: Served, owner: Caller, tenant: str) -> None:
    """Slugs become ids; a slug that no object has any more is listed."""
    body = {"name": "Login", "expression": 'request.path == "/login"'}
    action = owner.post(f"{tenant}/actions", body).json()
    kept = {
        "policy_id": OBJECT,
        "name": "Guessing",
        "slug": "guessing",
        "clauses": [{"name": "one", "actions": ["login"], "mitigation": "refuse"}],
    }
    found = shown(served, owner, tenant, "policy", kept)
    policy = found["before"]
    assert policy["tenant_id"] == action["tenant_id"]
    assert (policy["policy_id"], policy["status"], policy["enabled"]) == (OBJECT, "active", True)
    (clause,) = policy["clauses"]
    assert clause["action_ids"] == [action["action_id"]]
    assert clause["mitigation_id"] is None
    assert found["missing_references"] == [
        {"pointer": "/before/clauses/0/mitigation_id", "kind": "mitigation", "slug": "refuse"}
    ]


def test_times_are_texts(served: Served, owner: Caller, tenant: str) -> None:
    """A key and a replay job have their times as they are answered."""
    tenant_id = tenant.partition("/")[2]
    key = {"api_key_id": OBJECT, "tenant_id": tenant_id, "name": "edge", "revision": 2}
    times = {"expires_at_ns": None, "previous_secret_until_ns": AT_NS, "created_at_ns": AT_NS}
    assert shown(served, owner, tenant, "api-key", key | times)["before"] == {
        **key,
        "expires_at": None,
        "previous_secret_expires_at": AT,
        "created_at": AT,
    }
    job = {"since_ns": AT_NS, "until_ns": AT_NS, "policy_id": None, "total": 4}
    assert shown(served, owner, tenant, "replay-job", job)["before"] == {
        "tenant_id": tenant_id,
        "replay_job_id": OBJECT,
        "since": AT,
        "until": AT,
        "policy_id": None,
        "total": 4,
    }


def test_objects_name_their_tenant(served: Served, owner: Caller, tenant: str) -> None:
    """A tenant has every setting; a membership has its two ids."""
    tenant_id = tenant.partition("/")[2]
    present = owner.get(tenant).json()
    kept = {"name": present["name"], "slug": present["slug"], "settings": {}}
    found = shown(served, owner, tenant, "tenant", kept, tenant_id)["before"]
    assert found == {**kept, "tenant_id": tenant_id, "settings": present["settings"]}
    found = shown(served, owner, tenant, "membership", {"role": "Owner"})["before"]
    assert found == {"tenant_id": tenant_id, "user_id": OBJECT, "role": "Owner"}


def test_a_lifted_mitigation_has_ids(served: Served, owner: Caller, tenant: str) -> None:
    """The objects that a lifted mitigation names are found by slug, or listed."""
    kept = {
        "entity_id": OBJECT,
        "definition": "ip",
        "key": ["192.0.2.1"],
        "policy": "gone",
        "clause": "one",
        "mitigation": "gone",
        "mode": "Block",
        "expires_at": AT_NS,
    }
    found = shown(served, owner, tenant, "active-mitigation", [kept])
    (lifted,) = found["before"]
    entities = owner.get(f"{tenant}/entity-definitions").json()
    (of_ip,) = [each["entity_definition_id"] for each in entities if each["slug"] == "ip"]
    assert lifted == {
        **kept,
        "tenant_id": tenant.partition("/")[2],
        "entity_definition_id": of_ip,
        "policy_id": None,
        "mitigation_id": None,
        "expires_at": AT,
    }
    assert [each["pointer"] for each in found["missing_references"]] == [
        "/before/0/policy_id",
        "/before/0/mitigation_id",
    ]


@pytest.mark.parametrize("kept", [{"surprise": 1}, {"clauses": 3}, [], "text", None])
def test_what_no_version_knows_is_answered_as_it_is(
    served: Served, owner: Caller, tenant: str, kept: Any
) -> None:
    """An entry is never lost for its form."""
    assert shown(served, owner, tenant, "policy", kept)["before"] == kept
