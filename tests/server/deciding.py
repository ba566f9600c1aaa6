"""The whole service as a process of its own, its operators, and a tenant that decides."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import attrs
import httpx2
from tests.server.serving import Caller

from tidegate_server.operators.keys import load_keys
from tidegate_server.operators.tokens import Tokens
from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.objects import operators
from tidegate_server.stores.sqlite import SqliteStore

STOP_SECONDS = 30
ROLES = ("Owner", "Admin", "Analyst", "Viewer", "Stranger")
"""The roles of the people of a service; the stranger is a member of nothing."""

DEFINITIONS: Mapping[str, Any] = {
    "apiVersion": "tidegate/v1",
    "lists": [{"name": "Offices", "kind": "ip", "entries": ["198.51.100.0/24"]}],
    "actions": [
        {"name": "Login", "expression": 'request.path == "/login"'},
        {"name": "Many", "expression": 'fields["count"] != "" && int(fields["count"]) > 3'},
    ],
    "entities": [
        {"name": "Address", "key_fields": ["request.client_ip"]},
        {"name": "Account", "priority": 200, "key_fields": ['fields["account"]']},
    ],
    "mitigations": [
        {"name": "Refuse", "mode": "Block", "ttl_seconds": 600},
        {"name": "Prove", "mode": "Challenge", "ttl_seconds": 0},
    ],
    "policies": [
        {
            "name": "Stuffing",
            "clauses": [
                {
                    "name": "three",
                    "actions": ["login"],
                    "entity": "address",
                    "mitigation": "refuse",
                    "window": {"duration_seconds": 60, "threshold": 3},
                }
            ],
        },
        {
            "name": "Watch",
            "priority": 200,
            "expression": 'request.path == "/watched"',
            "clauses": [{"name": "any"}],
        },
    ],
}
"""The third login of an address within a minute is blocked, and so is all it does afterwards."""

MOST = 600_000
"""Events a minute: no test is about the limit of this key."""


@attrs.define
class Service:
    """A running service."""

    directory: Path
    base_url: str
    process: subprocess.Popen[bytes]
    http: httpx2.Client
    operators: dict[str, Caller]

    def tenant(self, definitions: Mapping[str, Any] = DEFINITIONS) -> Deciding:
        """A new tenant that decides, with all operators but the stranger in it."""
        owner = self.operators["Owner"]
        name = f"Shop {uuid4()}"
        tenant_id = made(owner.post("tenants", {"name": name}))["tenant_id"]
        path = f"tenants/{tenant_id}"
        for role in ROLES[1:-1]:
            member = {"user_id": str(self.operators[role].operator_id), "role": role}
            made(owner.post(f"{path}/memberships", member))
        document = {**definitions, "tenant": {"name": name, "tenant_id": tenant_id}}
        made(owner.request("PUT", f"{path}/definitions", json=document))
        edge = {"name": "edge", "rate_limit_per_minute": MOST}
        key = made(owner.post(f"{path}/api-keys", edge))
        return Deciding(self, tenant_id, key["key"], key["api_key_id"])


@attrs.define
class Deciding:
    """A tenant of a running service."""

    service: Service
    tenant_id: str
    key: str
    api_key_id: str

    @property
    def path(self) -> str:
        """The tenant's path, below the prefix."""
        return f"tenants/{self.tenant_id}"

    def by(self, role: str) -> Caller:
        """An operator of this role."""
        return self.service.operators[role]

    def get(self, place: str, /, role: str = "Owner", **query: Any) -> Any:
        """The answer of a path below the tenant."""
        where = f"{self.path}/{place}" if place else self.path
        return made(self.by(role).get(where, params=query))

    def decide(self, path: str = "/", address: str = "192.0.2.7", **members: Any) -> dict[str, Any]:
        """A decision on a request."""
        request = {
            "method": "GET",
            "path": path,
            "client_ip": address,
            **members.pop("request", {}),
        }
        answer = self.service.http.post(
            "/api/v1/runtime/mitigation",
            json={"request": request, **members},
            headers={"x-service-api-key": self.key},
        )
        return made(answer)

    def ids(self, section: str) -> dict[str, str]:
        """The ids of a kind of definition by slug."""
        found = self.get(section)
        member = {"entity-definitions": "entity_definition_id", "policies": "policy_id"}.get(
            section, f"{section[:-1]}_id"
        )
        return {each["slug"]: each[member] for each in found}


def made(answer: httpx2.Response) -> Any:
    """The body of a success."""
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


@contextmanager
def deciding(directory: Path, **settings: str) -> Iterator[Service]:
    """A service with its data in a directory, until the block ends.

    Args:
        directory: of the data; what is there is gone on with.
        settings: as in the environment, without the prefix.
    """
    tokens = make_operators(directory)
    process = start(directory, settings)
    try:
        assert process.stdout is not None
        base_url = json.loads(process.stdout.readline())["base_url"]
        if "server_public_url" in settings:  # which leads nowhere from here
            base_url = f"http://127.0.0.1:{settings['server_port']}"
        with httpx2.Client(base_url=base_url, timeout=30) as http:
            # It stands for many, and none of them keeps the cookies of another.
            http.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
            callers = {
                role: Caller(operator_id, role, token, http)
                for role, (operator_id, token) in tokens.items()
            }
            yield Service(directory, base_url, process, http, callers)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_SECONDS)


def start(directory: Path, settings: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """The process; the first line it prints says where it listens."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("TIDEGATE_")},
        "HOME": str(directory),
        "TIDEGATE_SERVER_PORT": "0",
        "TIDEGATE_STORE_DIRECTORY": str(directory),
        "TIDEGATE_LOG_LEVEL": "warning",
        **{f"TIDEGATE_{name.upper()}": value for name, value in settings.items()},
    }
    return subprocess.Popen(
        [sys.executable, "-m", "tidegate", "serve", "--json"],
        stdout=subprocess.PIPE,
        env=environment,
    )


def make_operators(directory: Path) -> dict[str, tuple[UUID, str]]:
    """Id and token of each of ``ROLES``, who are made when they are not there."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    keys = load_keys(directory / "keys")
    url = f"sqlite:///{directory / 'tidegate.db'}"
    migrate(url)
    store = SqliteStore(url)
    now = time.time_ns()
    tokens = Tokens(keys.signing, "tidegate")
    try:
        ids = {role: _operator_id(store, role, now) for role in ROLES}
    finally:
        store.close()
    return {role: (each, tokens.issue(each, now // 1_000_000_000)) for role, each in ids.items()}


def _operator_id(store: SqliteStore, role: str, now: int) -> UUID:
    email = f"{role.lower()}@example.test"
    try:
        with store.read() as connection:
            return operators.find_by_email(connection, email).operator_id
    except NotFoundError:
        made = operators.Operator(
            operator_id=uuid4(), name=role, email=email, created_at_ns=now, updated_at_ns=now
        )
        store.write(lambda connection: operators.create(connection, made)).result()
        return made.operator_id
