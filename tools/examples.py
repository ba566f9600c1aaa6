"""Writes the examples of the OpenAPI document: calls of the demonstration, with its answers.

``python tools/examples.py`` starts ``tidegate serve --demo``, makes the calls and writes
``server/routing/assets/examples.json``. Ids, times and secrets are replaced, so that a second run
writes the same.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import attrs
import httpx2

from tidegate_server.routing.routes import ROUTES

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "server" / "tidegate_server" / "routing" / "assets" / "examples.json"
TRAFFIC = ROOT / "python" / "tidegate" / "samples" / "traffic.jsonl.gz"
PERIOD = {"since": "2026-11-02T09:00:00Z", "until": "2026-11-02T09:15:00Z"}
"""The period of the sample traffic."""
EVENTS = 300
"""Events of the sample that are sent: fewer than the key's limit allows in one burst."""
LISTED = 2
"""Objects that the example of a list shows."""
PROBE = {
    "request": {
        "method": "GET",
        "path": "/.env",
        "client_ip": "203.0.113.9",
        "user_agent": "Googlebot/2.1",
    }
}
SOURCE = {"url": "https://www.example.com/offices.txt", "format": "lines"}
PROBE_MATCH = 'request.path.startsWith("/.env")'
LOGIN = {
    "body": {"email": "owner@example.test", "password": "a password of many letters"},
    "answer": {
        "access_token": "eyJhbGciOi...",
        "token_type": "Bearer",
        "expires_in": 28_800,
        "expires_at": "2026-11-02T17:15:00.000Z",
    },
}
SECOND_FACTOR = {
    "begin-second-factor": {
        "body": {"password": "a password of many letters"},
        "answer": {
            "secret": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
            "uri": "otpauth://totp/Tidegate:owner%40example.test?secret=JBSWY3DPEHPK3PXP...",
        },
    },
    "confirm-second-factor": {
        "body": {"code": "287082"},
        "answer": {"recovery_codes": ["mfrg-gzdf-mztw-q2lk", "..."]},
    },
    "remove-second-factor": {"body": {"code": "081804"}},
}
"""Not of the demonstration, whose owner has no password."""
_TIME = re.compile(r"20\d\d-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@attrs.define
class Demo:
    """A running demonstration, and what was said to it and by it, by the name of the operation."""

    http: httpx2.Client
    tenant_id: str
    examples: dict[str, dict[str, Any]] = attrs.field(factory=dict)

    def call(self, name: str, body: Any = None, query: Any = None, **ids: str) -> Any:
        """Call an operation, keep the example, and give the answer."""
        (route,) = (each for each in ROUTES if each.name == name)
        path = route.paths[0].format_map({"tenant_id": self.tenant_id, **ids})
        sent = {} if body is None else {"json": body}
        answer = self.http.request(route.method, path, params=query, **sent)
        if answer.status_code != route.status:
            raise RuntimeError(f"{name}: {answer.status_code} {answer.text}")
        found = answer.json()
        shown = found[:LISTED] if isinstance(found, list) else found
        self.examples[name] = {**({} if body is None else {"body": body}), "answer": shown}
        return found


def events(demo: Demo) -> None:
    """The calls of applications, and the facts known after them."""
    sample = [json.loads(line) for line in gzip.decompress(TRAFFIC.read_bytes()).splitlines()]
    demo.call("send-events", sample[2:EVENTS])
    demo.call("send-events", sample[:2])
    demo.call("send-event", PROBE)
    for _ in range(2):
        decision = demo.call("decide", PROBE)
    decided = {"decision_id": decision["decision_id"]}
    demo.call("list-decisions", query={**PERIOD, "action": "block"})
    demo.call("search-decisions", {"client_ip": "203.0.113.9", "limit": 2})
    demo.call("match-traffic", {"expression": PROBE_MATCH, "newest": 100, "samples": 1})
    demo.call("count-traffic-values", {"fields": ["request.path"], "newest": 100, "top": 3})
    demo.call("read-decision", **decided)
    demo.call("explain-decision", **decided)
    demo.call("read-decision-test", **decided)
    demo.call("list-fields")
    demo.call("list-active-mitigations")


def definitions(demo: Demo) -> None:
    """The resources of what a tenant defines: list, create, read, change."""
    action = {"name": "Sign-up", "expression": 'request.path == "/account/new"'}
    keys = ['fields["country"]', "request.user_agent"]
    entity = {"name": "Program", "priority": 30, "key_fields": keys}
    mitigation = {"name": "Slow down", "mode": "Block", "block": {"status_code": 429}}
    made = {
        "action": demo.call("create-action", action),
        "entity-definition": demo.call("create-entity-definition", entity),
        "mitigation": demo.call("create-mitigation", mitigation),
        "list": demo.call(
            "create-list",
            {"name": "Offices", "kind": "ip", "entries": ["192.0.2.0/28"], "source": SOURCE},
        ),
    }
    clause = {
        "name": "many",
        "action_ids": [made["action"]["action_id"]],
        "entity_definition_id": made["entity-definition"]["entity_definition_id"],
        "mitigation_id": made["mitigation"]["mitigation_id"],
        "window": {"duration_seconds": 300, "threshold": 10},
    }
    made["policy"] = demo.call("create-policy", {"name": "Sign-ups", "clauses": [clause]})
    for kind, found in made.items():
        member = f"{kind.replace('-', '_')}_id"
        ids = {member: found[member]}
        demo.call(f"list-{kind.removesuffix('y')}{'ies' if kind[-1] == 'y' else 's'}")
        demo.call(f"read-{kind}", **ids)
        demo.call(f"change-{kind}", {"description": "Of the sign-up page."}, **ids)
    offices = {"list_id": made["list"]["list_id"]}
    demo.call("change-list-entries", {"add": ["198.51.100.0/28"]}, **offices)
    # The demonstration fetches nothing.
    status = demo.call("read-list-refresh", **offices)
    refreshed = {**status, "enabled": True, "refreshed_at": made["list"]["created_at"]}
    demo.examples["refresh-list"] = {"answer": refreshed}
    ban = {"kind": "ban", "network": "203.0.113.0/24", "duration_seconds": 7_200}
    override = demo.call("create-override", {**ban, "reason": "Scrapes prices."})
    ids = {"override_id": override["override_id"]}
    demo.call("list-overrides")
    demo.call("read-override", **ids)
    demo.call("change-override", {"reason": "Scrapes prices, ticket 4711."}, **ids)
    demo.http.delete(f"/api/v1/tenants/{demo.tenant_id}/overrides/{ids['override_id']}")
    policy = {"policy_id": made["policy"]["policy_id"]}
    demo.call("list-policy-versions", **policy)
    demo.call("restore-policy", {"version": 1}, **policy)
    demo.call("simulate-policy", {"event": PROBE}, **policy)
    demo.call("check-expression", {"expression": action["expression"], "types": True})
    written = "request.path.startsW"
    demo.call("complete-expression", {"expression": written, "position": len(written)})
    demo.call("order-policies", {"policy_ids": [policy["policy_id"]]})
    language = demo.call("read-language")
    for part in ("functions", "macros", "keywords", "fields"):
        language[part] = language[part][:LISTED]
    demo.call("list-findings")
    document = demo.call("read-definitions")
    demo.call("replace-definitions", document, {"dry_run": "true"})
    demo.call("list-packs")
    pack = {"pack": "scraping"}
    slots = {"slots": {"product_page": 'request.path.startsWith("/products/")'}}
    demo.call("read-pack", **pack)
    demo.call("add-pack", slots, **pack)
    demo.call("update-pack", query={"dry_run": "true"}, **pack)
    demo.call("remove-pack", **pack)


def records(demo: Demo) -> None:
    """Results, entities and a replay."""
    for name in ("list-policy-results", "read-timeline"):
        demo.call(name, query=PERIOD)
    demo.call("lift-mitigations", {"mode": "Challenge", "reason": "a wrong rule"})
    demo.call("read-status")
    scanners = next(each for each in demo.call("list-policies") if each["slug"] == "scanners")
    policy = {"policy_id": scanners["policy_id"]}
    demo.call("read-policy-results", query=PERIOD, **policy)
    clauses = scanners["clauses"]
    clauses[0]["window"]["threshold"] = 2
    changed = {"name": "Scanners", "priority": 20, "clauses": clauses}
    job = demo.call("create-replay-job", {**PERIOD, **policy, "policy": changed})
    ids = {"replay_job_id": job["replay_job_id"]}
    while demo.call("read-replay-job", **ids)["status"] in ("queued", "running"):
        time.sleep(0.1)
    differs = demo.call("list-replay-differences", **ids)[0]["decision_id"]
    demo.call("explain-replay-difference", **ids, decision_id=differs)
    demo.call("cancel-replay-job", **ids)
    demo.call("summarise-replay-differences", query={"by": "path"}, **ids)
    demo.call("list-replay-jobs")
    kinds = demo.call("list-entity-definitions")
    address = next(each for each in kinds if each["slug"] == "address")["entity_definition_id"]
    key = {"entity_definition_id": address, "key": [PROBE["request"]["client_ip"] + "/32"]}
    entity = demo.call("find-entity", key)
    demo.call("read-entity-state", entity_id=entity["entity_id"])
    few = {"newest": 300, "limit": 2}
    demo.call("list-busiest-entities", query=few)
    demo.call("list-agents", query=few)
    demo.call("list-entities-together", query=few, entity_id=entity["entity_id"])
    demo.call("read-key-health", query={"newest": 300}, entity_definition_id=address)
    trial = {"name": "Program", "key_fields": ["request.user_agent"]}
    demo.call("try-key", {"definition": trial, "newest": 300})
    found = demo.call("lint-definitions", query={"newest": 300})
    found["definitions"] = found["definitions"][:LISTED]


def accounts(demo: Demo) -> None:
    """Operators, tenants and keys."""
    demo.examples["create-token"] = LOGIN
    demo.examples |= SECOND_FACTOR
    demo.call("read-second-factor")
    demo.call("list-sessions")
    me = demo.call("read-me")
    demo.call("create-tenant", {"name": "Example Bakery"})
    for name in ("list-tenants", "read-tenant"):
        demo.call(name)
    demo.call("change-tenant", {"settings": {"retention_days": 30}})
    demo.call("list-providers")
    demo.call("put-membership", {"user_id": me["user_id"], "role": "Owner"})
    demo.call("put-membership", {"email": "ann@example.test", "role": "Analyst"})
    demo.call("list-memberships")
    key = demo.call("create-api-key", {"name": "edge", "rate_limit_per_minute": 6_000})
    ids = {"api_key_id": key["api_key_id"]}
    demo.call("read-api-key", **ids)
    demo.call("change-api-key", {"name": "edge, north"}, **ids)
    demo.call("rotate-api-key", {"overlap_seconds": 3_600}, **ids)
    for name in ("list-api-keys", "read-health", "read-readiness"):
        demo.call(name)
    demo.call("list-audit", query={"kind": "action"})


def challenges(demo: Demo) -> None:
    """A challenge that is passed by waiting, and what it bought."""
    path = f"/api/v1/tenants/{demo.tenant_id}"
    settings = {"challenge_wait_seconds": 1, "return_url_origins": ["https://shop.example.test"]}
    demo.http.patch(path, json={"settings": settings}).raise_for_status()
    prove = {"name": "Prove", "mode": "Challenge", "ttl_seconds": 0}
    made = demo.http.post(f"{path}/mitigations", json=prove).raise_for_status().json()
    clause = {
        "expression": 'request.path == "/members"',
        "mitigation_id": made["mitigation_id"],
    }
    gate = {"name": "Members", "status": "active", "priority": 1, "clauses": [clause]}
    demo.http.post(f"{path}/policies", json=gate).raise_for_status()
    event = {
        "return_url": "https://shop.example.test/members",
        "request": {"path": "/members", "client_ip": "203.0.113.40"},
    }
    decision = demo.http.post("/api/v1/runtime/mitigation", json=event).json()
    challenge = f"/api/v1/challenge/{decision['decision_id']}"
    demo.http.get(challenge).raise_for_status()
    waited = {"method": "wait"}
    while (answer := demo.http.post(f"{challenge}/solution", json=waited)).status_code != 303:
        time.sleep(0.2)
    passed = answer.json()
    proof = passed["proof"]
    shown = "AQAQAaIOIv8Ed52cak5l4vmoXAAQ"
    passed["proof"] = shown
    passed["redirect_url"] = passed["redirect_url"].replace(proof, shown)
    demo.examples["solve-challenge"] = {"body": waited, "answer": passed}
    demo.call("verify-proof", {"token": proof})
    demo.examples["verify-proof"]["body"] = {"token": shown}
    for name in ("list-passes", "test-challenges", "read-challenge-results"):
        demo.call(name)


def alerts(demo: Demo) -> None:
    """The calls of an alert."""
    url = "https://example.com/alerts"
    created = {"metric": "blocks", "destinations": [{"kind": "webhook", "to": url}]}
    alert = demo.call("create-alert", {"name": "Blocks", **created})
    ids = {"alert_id": alert["alert_id"]}
    demo.call("list-alerts")
    demo.call("read-alert", **ids)
    demo.call("change-alert", {"threshold": 500}, **ids)
    demo.call("preview-alert", {"metric": "blocks", "days": 7})
    demo.http.delete(f"/api/v1/tenants/{demo.tenant_id}/alerts/{ids['alert_id']}")


def daemons(demo: Demo, sync_key: str) -> None:
    """The calls of a daemon."""
    demo.http.headers["x-service-api-key"] = sync_key
    snapshot = demo.call("read-snapshot")
    demo.examples["read-snapshot"]["answer"]["document"] = {"apiVersion": "tidegate/v1"}
    demo.examples["read-snapshot"]["answer"]["effects"] = []
    demo.call("read-changes", query={"after": snapshot["sequence"]})
    said = {
        "daemon_id": demo.tenant_id,
        "name": "shop-1",
        "version": "0.1.0",
        "mode": "online",
        "sequence": snapshot["sequence"],
        "hash": snapshot["hash"],
        "revision": snapshot["revision"],
    }
    demo.call("acknowledge-changes", said)
    batch = {"daemon_id": demo.tenant_id, "spool_id": demo.tenant_id, "events": []}
    demo.call("forward-events", batch)
    demo.call("list-daemons")


def without_the_run(text: str, base_url: str) -> str:
    """The examples as they would be of any other run."""
    text = text.replace(base_url, "https://tidegate.example.test")
    text = text.replace("`127.0.0.1`", "`localhost`")
    sampled = PERIOD["since"][:10]
    text = _TIME.sub(
        lambda found: found[0] if found[0].startswith(sampled) else f"{sampled}T09:15:00.000Z", text
    )
    ids = {each: number for number, each in enumerate(dict.fromkeys(_UUID.findall(text)), 1)}
    text = _UUID.sub(lambda found: f"019a4300-0000-7000-8000-{ids[found[0]]:012x}", text)
    for pattern, replacement in (
        (r'"duration_us": \d+', '"duration_us": 45'),
        (r'"prefix": "\w+"', '"prefix": "0123456789abcdef"'),
        (r"whsec_[\w+/=]+", "whsec_0123456789abcdef"),
        (r"tg_\w{12,}", "tg_0123456789abcdef"),
        (
            r'"(hash|previous_hash|public_key|redaction|proofs|sealing)": "[0-9a-f]+"',
            r'"\1": "0123456789abcdef"',
        ),
        (r'"created_at": \d+', '"created_at": 1762075000000000000'),
        (r"hmac:[0-9a-f]+", "hmac:0123456789abcdef"),
    ):
        text = re.sub(pattern, replacement, text)
    return text


def main() -> None:
    """Make the calls and write the file."""
    serve = "-m tidegate serve --demo --no-demo-traffic --json --server-port 0"
    command = [sys.executable, *serve.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        try:
            assert server.stdout is not None
            said = json.loads(server.stdout.readline())
            headers = {
                "authorization": f"Bearer {said['owner_token']}",
                "x-service-api-key": said["api_key"],
            }
            with httpx2.Client(base_url=said["base_url"], headers=headers, timeout=60) as http:
                demo = Demo(http, said["tenant_id"])
                for each in (events, definitions, records, accounts, challenges, alerts):
                    each(demo)
                daemons(demo, said["sync_api_key"])
        finally:
            server.terminate()
    text = json.dumps(dict(sorted(demo.examples.items())), indent=1, ensure_ascii=False)
    EXAMPLES.write_text(without_the_run(text, said["base_url"]) + "\n")


if __name__ == "__main__":
    main()
