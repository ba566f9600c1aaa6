"""Items 3 and 4 of the attacks: operators who ask much of the control plane."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
from tests.attack.attack import Attack, Outcome, Scale, encoded, hammer
from tests.attack.served import Tenant, World, rules
from tests.faults.load import Connection
from tests.faults.traffic import RUNTIME

EXPLAINED = 20
"""Decisions that are explained, one after the other."""
ANALYSTS = 8
"""Connections of one Analyst."""
EVENT: dict[str, Any] = {
    "request": {
        "method": "GET",
        "path": "/area/1/0",
        "client_ip": "203.0.113.9",
        "user_agent": "agent-1",
        "headers": {"x-part": "a1"},
        "query_params": {"q": "word-1"},
    },
    "fields": {"status": "200"},
}


@attrs.frozen
class Checks(Attack):
    """The dearest texts that an expression may have, checked over and over."""

    name = "checks"
    what = "expressions/check by a Viewer, 16 KiB texts, 40 connections"

    base_url: str
    requests: tuple[bytes, ...]
    connections: int

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Checks:
        tenant = world.tenant("Checks")
        path, token = f"{tenant.path}/expressions/check", tenant.tokens["Viewer"]
        bodies = [json.dumps({"expression": text}).encode() for text in dear_texts()]
        requests = tuple(encoded("POST", path, body, token) for body in bodies)
        return cls(world.base_url, requests, scale.connections)

    async def run(self, until: float) -> Outcome:
        return await hammer(self.base_url, self.requests, self.connections, until)


def dear_texts() -> list[str]:
    """Texts that take the checker longest: many nodes, many patterns, long lists."""
    compared = (f'request.path == "/{number}"' for number in range(560))
    matched = (f'request.path.matches("[a-f]{{{number + 2}}}x+{number}$")' for number in range(30))
    listed = ", ".join(f'"n{number}"' for number in range(1_700))
    return [
        " || ".join(compared),
        " || ".join(matched),
        f"request.method in [{listed}]",
        "(" * 60 + "true" + ")" * 60 + " && true" * 1_500,
    ]


@attrs.frozen
class Logins(Attack):
    """Wrong logins of names that nobody has, without a credential."""

    name = "logins"
    what = "400 wrong logins at once, again and again"

    base_url: str
    at_once: int

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Logins:
        return cls(world.base_url, scale.logins)

    async def run(self, until: float) -> Outcome:
        requests = [login(f"nobody-{number}@example.test") for number in range(5_000)]
        return await hammer(self.base_url, requests, self.at_once, until)


def login(email: str, password: str = "not the password of anybody") -> bytes:
    """A request for a token."""
    body = json.dumps({"email": email, "password": password}).encode()
    return encoded("POST", "/api/v1/auth/local/token", body)


@attrs.frozen
class Explanations(Attack):
    """Decisions of a tenant of many rules, explained over and over."""

    name = "explanations"
    what = "explanations over 10,000 rules by an Analyst, 8 connections"

    base_url: str
    requests: tuple[bytes, ...]
    rules: int

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Explanations:
        tenant, count = world.large(scale.rules)
        paths = decided(world, tenant, EXPLAINED)
        token = tenant.tokens["Analyst"]
        return cls(
            world.base_url, tuple(encoded("GET", path, token=token) for path in paths), count
        )

    async def run(self, until: float) -> Outcome:
        outcome = await hammer(self.base_url, self.requests, ANALYSTS, until)
        outcome.notes.append(f"{self.rules:,} rules")
        return outcome


def decided(world: World, tenant: Tenant, count: int) -> list[str]:
    """Paths that explain decisions, which are made first."""
    connection, key = Connection(world.base_url, world.key(tenant, "explained")), []

    async def decide() -> None:
        for number in range(count):
            event = {**EVENT, "fields": {"number": str(number)}}
            status, _, body = await connection.post(RUNTIME, json.dumps(event).encode())
            assert status == 200, body
            key.append(json.loads(body)["decision_id"])
        connection.close()

    asyncio.run(decide())
    return [f"{tenant.path}/decisions/{each}/explain" for each in key]


@attrs.frozen
class Simulations(Attack):
    """A policy of a tenant of many rules, tried on an event over and over."""

    name = "simulations"
    what = "simulations over 10,000 rules by an Analyst, 8 connections"

    base_url: str
    request: bytes

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Simulations:
        tenant, _ = world.large(scale.rules)
        return cls(world.base_url, simulation(world, tenant))

    async def run(self, until: float) -> Outcome:
        return await hammer(self.base_url, [self.request], ANALYSTS, until)


def simulation(world: World, tenant: Tenant) -> bytes:
    """A request that tries the first policy of a tenant."""
    token = tenant.tokens["Analyst"]
    [policy] = world.must(token, "GET", f"{tenant.path}/policies?limit=1")
    path = f"{tenant.path}/policies/{policy['policy_id']}/simulate"
    return encoded("POST", path, json.dumps({"event": EVENT}).encode(), token)


@attrs.frozen
class Replays(Attack):
    """Replay jobs of a draft of many rules, one after the other."""

    name = "replays"
    what = "replay jobs with drafts of 10,000 rules by an Analyst, 4 connections"

    base_url: str
    request: bytes

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Replays:
        tenant, count = world.large(scale.rules)
        decided(world, tenant, 1)
        return cls(world.base_url, replay(tenant, count))

    async def run(self, until: float) -> Outcome:
        return await hammer(self.base_url, [self.request], 4, until)


def replay(tenant: Tenant, count: int) -> bytes:
    """A request that runs a draft of many rules over the last hour."""
    now = datetime.now(UTC)
    body = {
        "since": (now - timedelta(hours=1)).isoformat(),
        "until": (now + timedelta(hours=1)).isoformat(),
        "definitions": rules(count, 1),
    }
    content = json.dumps(body).encode()
    return encoded("POST", f"{tenant.path}/replay-jobs", content, tenant.tokens["Analyst"])


@attrs.frozen
class Puts(Attack):
    """Whole documents of many policies, each other than the one before."""

    name = "put"
    what = "PUT of 10,000 policies, all changed each time, by an Admin"

    base_url: str
    requests: tuple[bytes, ...]

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Puts:
        tenant = world.tenant("Puts")
        count = world.define(tenant, rules, scale.rules)
        token, path = tenant.tokens["Admin"], f"{tenant.path}/definitions"
        bodies = [json.dumps(rules(count, mark)).encode() for mark in (1, 2)]
        return cls(world.base_url, tuple(encoded("PUT", path, body, token) for body in bodies))

    async def run(self, until: float) -> Outcome:
        started = time.monotonic()
        outcome = await hammer(self.base_url, self.requests, 1, until)
        each = (time.monotonic() - started) / max(sum(outcome.statuses.values()), 1)
        outcome.notes.append(f"{each:.1f} s each")
        return outcome


@attrs.frozen
class Lists(Attack):
    """A list of many entries, replaced over and over."""

    name = "lists"
    what = "PATCH of a list of 100,000 entries, all changed each time, by an Admin"

    base_url: str
    requests: tuple[bytes, ...]

    @classmethod
    def set_up(cls, world: World, scale: Scale) -> Lists:
        tenant = world.tenant("Lists")
        token, path = tenant.tokens["Admin"], f"{tenant.path}/lists"
        made = world.must(token, "POST", path, {"name": "many", "kind": "string", "entries": []})
        where = f"{path}/{made['list_id']}"
        bodies = [json.dumps({"entries": entries(scale.entries, mark)}).encode() for mark in "ab"]
        return cls(world.base_url, tuple(encoded("PATCH", where, body, token) for body in bodies))

    async def run(self, until: float) -> Outcome:
        return await hammer(self.base_url, self.requests, 2, until)


def entries(count: int, mark: str) -> list[str]:
    """Texts, each other than those of another mark."""
    return [f"{mark}-entry-{number}" for number in range(count)]
