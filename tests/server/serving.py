"""A control plane on a real socket, and callers of it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import httpx2
import uvicorn

from tidegate_server.control.app import Application
from tidegate_server.http.access_log import AccessLog
from tidegate_server.http.application import HttpApplication
from tidegate_server.http.ids import new_id
from tidegate_server.login.logins import Logins
from tidegate_server.operators.keys import load_keys
from tidegate_server.operators.passwords import hash_password
from tidegate_server.routing.dispatch import control_plane, nothing
from tidegate_server.routing.routes import words_of_paths
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.objects import memberships, operators
from tidegate_server.stores.sqlite import SqliteStore

PASSWORD = "correct horse battery staple"
_HASH = hash_password(PASSWORD)


@attrs.define
class Caller:
    """An operator with a token and a connection."""

    operator_id: UUID
    email: str
    token: str
    http: httpx2.Client

    def request(self, method: str, path: str, **arguments: Any) -> httpx2.Response:
        """A request with the token; paths that begin with `/` are taken as they are."""
        headers = {"authorization": f"Bearer {self.token}", **arguments.pop("headers", {})}
        where = path if path.startswith("/") else f"/api/v1/{path}"
        return self.http.request(method, where, headers=headers, **arguments)

    def get(self, path: str, **arguments: Any) -> httpx2.Response:
        return self.request("GET", path, **arguments)

    def post(self, path: str, json: Any = None, **arguments: Any) -> httpx2.Response:
        return self.request("POST", path, json=json, **arguments)

    def patch(self, path: str, json: Any = None, **arguments: Any) -> httpx2.Response:
        return self.request("PATCH", path, json=json, **arguments)

    def delete(self, path: str, **arguments: Any) -> httpx2.Response:
        return self.request("DELETE", path, **arguments)


@attrs.define
class Served:
    """The server and what it stands on."""

    application: Application
    base_url: str
    http: httpx2.Client
    changed: list[UUID]
    """Tenants of whose changed definitions the server was notified."""
    keys_changed: list[UUID]

    def operator(self, name: str = "Someone") -> Caller:
        """A new operator with a token."""
        operator_id = new_id()
        email = f"{operator_id}@example.test"
        now = time.time_ns()
        made = operators.Operator(
            operator_id=operator_id,
            name=name,
            email=email,
            password_hash=_HASH,
            created_at_ns=now,
            updated_at_ns=now,
        )
        self.application.store.write(lambda c: operators.create(c, made)).result()
        token = self.application.tokens.issue(operator_id, now // 1_000_000_000)
        return Caller(operator_id, email, token, self.http)

    def member(self, tenant_id: str, role: str) -> Caller:
        """A new operator with a role in a tenant."""
        caller = self.operator(role)
        self.application.store.write(
            lambda c: memberships.put(
                c,
                UUID(tenant_id),
                caller.operator_id,
                role,
                time.time_ns(),
                accepted_at_ns=time.time_ns(),
            )
        ).result()
        return caller

    def owner(self) -> tuple[Caller, str]:
        """A new operator with a new tenant."""
        caller = self.operator("Owner")
        answer = caller.post("tenants", {"name": f"Tenant of {caller.operator_id}"})
        assert answer.status_code == 201, answer.text
        return caller, answer.json()["tenant_id"]


@contextmanager
def serving(directory: Path, logins: Logins | None = None) -> Iterator[Served]:
    """A server with a store of its own, until the block ends."""
    listener = socket.create_server(("127.0.0.1", 0))
    base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    url = f"sqlite:///{directory / 'tidegate.db'}"
    migrate(url)
    store = SqliteStore(url)
    changed: list[UUID] = []
    keys_changed: list[UUID] = []
    application = Application(
        store=store,
        keys=load_keys(directory / "keys"),
        definitions_changed=changed.append,
        api_keys_changed=keys_changed.append,
        access=AccessLog(words=words_of_paths()),
        base_url=lambda: base_url,
        logins=logins or Logins(),
    )
    server = uvicorn.Server(
        uvicorn.Config(
            HttpApplication(control_plane(application), nothing(application)),
            log_level="warning",
            server_header=False,
            lifespan="off",
            access_log=False,
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        with httpx2.Client(base_url=base_url, timeout=30) as http:
            yield Served(application, base_url, http, changed, keys_changed)
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        listener.close()
        store.close()
