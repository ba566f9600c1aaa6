"""The address of every page of the console, for tests that go through all of them."""

from __future__ import annotations

from itertools import count

from playwright.sync_api import Page
from tests.service.service_process import Service

HOME = "/console/example-shop"
ALONE = {
    "overview": "",
    "traffic": "traffic",
    "decisions": "decisions",
    "active": "active",
    "overrides": "overrides",
    "alerts": "alerts",
    "entities": "entities",
    "agents": "agents",
    "policies": "policies",
    "policy-new": "policies/new",
    "actions": "actions",
    "action-new": "actions/new",
    "mitigations": "mitigations",
    "mitigation-new": "mitigations/new",
    "lists": "lists",
    "list-new": "lists/new",
    "entity-definitions": "entity-definitions",
    "entity-definition-new": "entity-definitions/new",
    "packs": "packs",
    "pack": "packs/credential-stuffing",
    "catalog": "catalog",
    "replay": "replay",
    "audit": "audit",
    "settings": "settings",
    "nowhere": "no-such-page",
}
"""Pages that need no object."""


def first(service: Service, path: str, member: str) -> str:
    """The id of the first object of a list."""
    rows = service.control("GET", f"/tenants/{service.tenant_id}/{path}").json()
    return str(rows[0][member])


_HOSTS = count(1)


def blocked(service: Service) -> str:
    """The id of an address that is blocked from now on.

    Blocks of the demonstration's traffic end after some minutes, and another test may lift them.
    """
    address = f"198.18.0.{next(_HOSTS)}"
    probe = {"request": {"method": "GET", "path": "/.env", "client_ip": address}}
    answers = [service.hot("/runtime/mitigation", probe).json() for _ in range(3)]
    assert answers[-1]["action"]["type"] == "block"
    held = service.control("GET", f"/tenants/{service.tenant_id}/active-mitigations?limit=500")
    return next(str(each["entity_id"]) for each in held.json() if each["key"] == [f"{address}/32"])


def places(service: Service) -> dict[str, str]:
    """Every page of the demonstration's tenant, by a name of its own."""
    policy = first(service, "policies", "policy_id")
    action = first(service, "actions", "action_id")
    decision = first(service, "decisions?action=block", "decision_id")
    definition = first(service, "entity-definitions", "entity_definition_id")
    of_objects = {
        "decision": f"decisions/{decision}",
        "entity": f"entities/{blocked(service)}",
        "policy": f"policies/{policy}",
        "policy-results": f"policies/{policy}/results",
        "versions": f"policies/{policy}/versions",
        "action": f"actions/{action}",
        "mitigation": f"mitigations/{first(service, 'mitigations', 'mitigation_id')}",
        "list": f"lists/{first(service, 'lists', 'list_id')}",
        "entity-definition": f"entity-definitions/{definition}",
        "replay-job": f"replay/{first(service, 'replay-jobs', 'replay_job_id')}",
        "failed": f"actions/{decision}",
    }
    return {name: f"{HOME}/{path}" for name, path in {**ALONE, **of_objects}.items()}


def prepare(service: Service) -> None:
    """See that there is something to show on every page: a list, and a replay."""
    tenant = f"/tenants/{service.tenant_id}"
    if not service.control("GET", f"{tenant}/lists").json():
        entries = ["192.0.2.0/28", "198.51.100.7"]
        body = {"name": "Offices", "kind": "ip", "entries": entries}
        service.control("POST", f"{tenant}/lists", body)
    if not service.control("GET", f"{tenant}/replay-jobs").json():
        hour = {"since": "2026-01-01T00:00:00Z", "until": "2026-01-01T01:00:00Z"}
        service.control("POST", f"{tenant}/replay-jobs", hour)
    if not service.control("GET", f"{tenant}/agents").json()["agents"]:
        agents = [
            ("Googlebot/2.1", "198.18.1.1"),
            ("GPTBot/1.2", "4.151.71.176"),
            ("ClaudeBot/1.0", "198.18.1.2"),
        ]
        events = [
            {"request": {"method": "GET", "path": "/", "client_ip": address, "user_agent": name}}
            for name, address in agents
        ]
        service.hot("/beacon/events", events)


def open_place(page: Page, path: str) -> None:
    """Go to a page within the console, and wait until everything that it asked for is there."""
    page.evaluate("path => history.pushState(null, '', path)", path)
    page.evaluate("dispatchEvent(new PopStateEvent('popstate'))")
    # A handle of an element would keep the page that it was of.
    page.locator("main[aria-busy='false'] :is(h1, h2, p, .problem)").first.wait_for()
