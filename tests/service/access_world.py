"""Two tenants on a whole service, everything that is theirs, and everybody who may call."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import attrs
from access_rows import (
    BLOCKED,
    BLOCKING,
    BODIES,
    CHALLENGED,
    CHALLENGING,
    DECIDED,
    HEADERS,
    OBJECTS,
    SETTINGS,
)
from service_process import start, stop

from tidegate_server.http.ids import new_id
from tidegate_server.offload.throttle import FREE_REFUSALS, LATE
from tidegate_server.operators.keys import load_keys
from tidegate_server.operators.passwords import hash_password
from tidegate_server.operators.permissions import Role
from tidegate_server.operators.tokens import Tokens
from tidegate_server.routing.route import Route
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.objects import operators
from tidegate_server.stores.sqlite import SqliteStore

PASSWORD = "a password of eight words that nobody else has"
IDLE_SECONDS = 5.0
"""The server may have closed a connection that was idle for longer."""
API_KEY_HEADER = "x-service-api-key"
NAMES = {"provider": "github", "pack": "scraping"}
"""Names in paths that are not ids: the same for every tenant."""
PROVIDERS = {
    "github": {"client_id": "x", "issuer": "http://127.0.0.1:9", "api_url": "http://127.0.0.1:9"}
}
"""Nothing is asked of it before a login comes back from it."""


@attrs.frozen
class Reply:
    """An answer.

    Attributes:
        sent: the status of the answer; ``status`` is the status of the one event, for a batch of
        one.
    """

    sent: int
    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


class Connection:
    """A connection that stays open: thousands of requests go over it.

    The service keeps an address that goes on after refusals waiting.  So the connection goes to the
    next address of this machine before that.
    """

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        parts = urlsplit(base_url)
        self._connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=30)
        self._used_at = 0.0
        self._refusals = 0

    def send(self, method: str, path: str, headers: Mapping[str, str], body: Any = None) -> Reply:
        given = dict(headers)
        content = None
        if body is not None:
            content = json.dumps(body)
            given["content-type"] = "application/json"
        if time.monotonic() - self._used_at > IDLE_SECONDS:
            self._connection.close()
        self._used_at = time.monotonic()
        try:
            self._connection.request(method, path, content, given)
            answer = self._connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            reply = Reply(answer.status, answer.status, names, answer.read())
        except BaseException:
            self._connection.close()
            raise
        if reply.status in LATE:
            self._refused()
        return reply

    def _refused(self) -> None:
        self._refusals += 1
        if self._refusals % FREE_REFUSALS == 0:
            self._connection.close()
            address = 2 + self._refusals // FREE_REFUSALS % 200
            self._connection.source_address = (f"127.0.0.{address}", 0)


@attrs.frozen
class Person:
    """An operator who is known to the service."""

    operator_id: UUID
    email: str
    tokens: Tokens

    def token(self, lifetime: int = 3_600, age: int = 0) -> str:
        """A new token."""
        return self.tokens.issue(self.operator_id, int(time.time()) - age, lifetime)

    def bearer(self) -> dict[str, str]:
        """The header with a new token."""
        return bearer(self.token())


def bearer(token: str) -> dict[str, str]:
    """The header with a token."""
    return {"authorization": f"Bearer {token}"}


@attrs.frozen
class Tenant:
    """A tenant, its Owner, its key, and an object of every kind."""

    owner: Person
    key: str
    ids: dict[str, str]


@attrs.frozen
class Caller:
    """Somebody who calls.

    Attributes:
        headers: the credential.
        role: in the tenant that is called ``own``.
        person: whom a good operator's token stands for.
        key_of: the tenant of a good API key.
        can_sync: whether that key may sync.
    """

    name: str
    headers: Mapping[str, str]
    role: Role | None = None
    person: Person | None = None
    key_of: Tenant | None = None
    can_sync: bool = False


@attrs.frozen
class World:
    """The service, and who and what is there."""

    connection: Connection
    own: Tenant
    other: Tenant
    people: dict[str, Person]
    process_id: int
    log: Path
    callers: tuple[Caller, ...] = ()

    def call(
        self, route: Route, path: str, headers: Mapping[str, str], ids: Mapping[str, str], body: Any
    ) -> Reply:
        """One request."""
        given = {**HEADERS.get(route.name, {}), **headers}
        return self.connection.send(route.method, path.format_map(ids), given, body)

    def owner_call(self, tenant: Tenant, method: str, path: str, body: Any = None) -> Any:
        """A call of an Owner below the tenant's path, which succeeds."""
        where = f"/api/v1/tenants/{tenant.ids['tenant_id']}{path}"
        answer = self.connection.send(method, where, tenant.owner.bearer(), body)
        assert answer.status < 300, answer.content
        return answer.json() if answer.content else None

    def session_of(self, person: Person) -> str:
        """The id of a new session."""
        login = {"email": person.email, "password": PASSWORD}
        answer = self.connection.send("POST", "/api/v1/auth/local/token", {}, login)
        headers = bearer(answer.json()["access_token"])
        found = self.connection.send("GET", "/api/v1/auth/sessions?limit=100", headers).json()
        return str(next(each["session_id"] for each in found if each["is_current"]))

    def body(self, route: Route, tenant: Tenant) -> Any:
        """The body of a good request of a route in a tenant."""
        return self._filled(BODIES[route.name], tenant)

    def fresh_ids(self, route: Route, tenant: Tenant) -> dict[str, str]:
        """The ids in a path, with a new object for the last of them."""
        name = route.parameters[-1] if route.parameters else ""
        made = partial(self.made, tenant)
        return {**tenant.ids, **({name: made(name)} if name else {})}

    def made(self, tenant: Tenant, name: str) -> str:
        """The id of a new object of a tenant, by the name of the id."""
        if name == "tenant_id":
            return str(new_tenant(self.connection, tenant.owner)["tenant_id"])
        if name == "user_id":
            spare = self.people["spare" if tenant is self.own else "other spare"]
            member = {"user_id": str(spare.operator_id), "role": "Viewer"}
            return str(self.owner_call(tenant, "POST", "/memberships", member)[name])
        if name == "session_id":
            return self.session_of(tenant.owner)
        if name in ("challenge_id", "pass_id"):
            challenge_id = self._challenged(tenant)
            return challenge_id if name == "challenge_id" else self._passed(tenant, challenge_id)
        if name in DECIDED:
            path, member = DECIDED[name]
            event = self._filled(BLOCKED, tenant)
            key = {API_KEY_HEADER: tenant.key}
            return str(self.connection.send("POST", f"/api/v1/{path}", key, event).json()[member])
        path, body = OBJECTS[name]
        return str(self.owner_call(tenant, "POST", f"/{path}", self._filled(body, tenant))[name])

    def _challenged(self, tenant: Tenant) -> str:
        """The id of a new challenge whose page was shown."""
        event = self._filled(CHALLENGED, tenant)
        key = {API_KEY_HEADER: tenant.key}
        answer = self.connection.send("POST", "/api/v1/runtime/mitigation", key, event).json()
        challenge_id: str = answer["decision_id"]
        self.connection.send("GET", f"/api/v1/challenge/{challenge_id}", {})
        return challenge_id

    def _passed(self, tenant: Tenant, challenge_id: str) -> str:
        """The id of the pass of a challenge, which is solved by waiting."""
        path = f"/api/v1/challenge/{challenge_id}/solution"
        while self.connection.send("POST", path, {}, {"method": "wait"}).status != 200:
            pass
        passes = self.owner_call(tenant, "GET", "/passes?limit=500")
        found = next(each for each in passes if each["challenge_id"] == challenge_id)
        return str(found["pass_id"])

    def make_blocking(self, tenant: Tenant) -> None:
        """Have a tenant block what ``BLOCKED`` is, and challenge what ``CHALLENGED`` is."""
        self.owner_call(tenant, "PATCH", "", SETTINGS)
        for path, body in (*CHALLENGING, *BLOCKING):
            made = self.owner_call(tenant, "POST", f"/{path}", self._filled(body, tenant))
            tenant.ids.update({name: each for name, each in made.items() if name in OBJECTS})

    def last_change(self, tenant: Tenant) -> Any:
        """The newest entry of the audit trail."""
        return self.owner_call(tenant, "GET", "/audit?limit=1")

    def _filled(self, value: Any, tenant: Tenant) -> Any:
        match value:
            case dict():
                return {name: self._filled(each, tenant) for name, each in value.items()}
            case list():
                return [self._filled(each, tenant) for each in value]
            case "{definitions}":
                return self.owner_call(tenant, "GET", "/definitions")
            case str():
                known = {"email": tenant.owner.email, "password": PASSWORD}
                known |= {"unique": f"made {uuid4()}", "address": str(IPv6Address(uuid4().int))}
                return value.format_map({**tenant.ids, **known})
        return value


@contextmanager
def world(directory: Path, **environment: str) -> Iterator[World]:
    """A service with two tenants and all callers, until the block ends."""
    people = _people(directory)
    log = directory / "log"
    data = str(directory / "data")
    # The console, where it is built, would answer at the addresses of the login's pages.
    known = {
        "TIDEGATE_LOGIN_PROVIDERS": json.dumps(PROVIDERS),
        "TIDEGATE_CONSOLE_ENABLED": "false",
        **environment,
    }
    process, said = start("--store-directory", data, log=log, environment=known)
    try:
        connection = Connection(said["base_url"])
        own = _tenant(connection, people["Owner"])
        other = _tenant(connection, people["other Owner"])
        yield _settled(World(connection, own, other, people, process.pid, log))
    finally:
        stop(process)


ROLES = {role.value: role for role in Role}
_NAMES = (
    *ROLES,
    "other Owner",
    "removed member",
    "disabled operator",
    "stranger",
    "spare",
    "other spare",
)


def _people(directory: Path) -> dict[str, Person]:
    """Everybody, in a store that the service then opens."""
    data = directory / "data"
    data.mkdir(mode=0o700)
    url = f"sqlite:///{data / 'tidegate.db'}"
    migrate(url)
    store = SqliteStore(url)
    tokens = Tokens(load_keys(data / "keys").signing, "tidegate")
    kept = hash_password(PASSWORD)
    now = time.time_ns()
    people = {}
    for name in _NAMES:
        person = Person(new_id(), f"{name.lower().replace(' ', '.')}@example.test", tokens)
        operator = operators.Operator(
            operator_id=person.operator_id,
            name=name,
            email=person.email,
            password_hash=kept,
            disabled=name == "disabled operator",
            created_at_ns=now,
            updated_at_ns=now,
        )
        store.write(partial(operators.create, operator=operator)).result()
        people[name] = person
    store.close()
    return people


def new_tenant(connection: Connection, owner: Person) -> Any:
    """A tenant that somebody makes."""
    answer = connection.send(
        "POST", "/api/v1/tenants", owner.bearer(), {"name": f"Tenant {uuid4()}"}
    )
    assert answer.status == 201, answer.content
    return answer.json()


def _settled(made: World) -> World:
    own, people = made.own, made.people
    for tenant in (own, made.other):
        made.make_blocking(tenant)
        for name in ("user_id", "session_id", "challenge_id", "pass_id", *OBJECTS, *DECIDED):
            tenant.ids[name] = made.made(tenant, name)
    for name in ("Viewer", "Analyst", "Admin", "removed member", "disabled operator"):
        role = name if name in ROLES else "Owner"
        member = {"user_id": str(people[name].operator_id), "role": role}
        made.owner_call(own, "POST", "/memberships", member)
    removed = people["removed member"].operator_id
    made.owner_call(own, "DELETE", f"/memberships/{removed}")
    return attrs.evolve(made, callers=_callers(made))


def _tenant(connection: Connection, owner: Person) -> Tenant:
    tenant_id = new_tenant(connection, owner)["tenant_id"]
    tenant = Tenant(owner, "", {"tenant_id": tenant_id, **NAMES})
    return attrs.evolve(tenant, key=_key(connection, tenant)["key"])


def _key(connection: Connection, tenant: Tenant, *, can_sync: bool = False) -> Any:
    path = f"/api/v1/tenants/{tenant.ids['tenant_id']}/api-keys"
    body = {"name": f"key {uuid4()}", "rate_limit_per_minute": 600_000, "can_sync": can_sync}
    return connection.send("POST", path, tenant.owner.bearer(), body).json()


def _callers(made: World) -> tuple[Caller, ...]:
    people, own, other = made.people, made.own, made.other
    revoked_key = _key(made.connection, own)
    made.owner_call(own, "DELETE", f"/api-keys/{revoked_key['api_key_id']}")
    sync_key = _key(made.connection, own, can_sync=True)
    revoked_token = bearer(own.owner.token())
    assert made.connection.send("DELETE", "/api/v1/auth/token", revoked_token).status == 204
    nobody = Person(uuid4(), "", own.owner.tokens)
    good = own.owner.token()
    return (
        Caller("nobody", {}),
        Caller("malformed", {**bearer("x.y.z"), API_KEY_HEADER: "tg_nonsense"}),
        Caller("cut short", {**bearer(good[:-2]), API_KEY_HEADER: own.key[:-2]}),
        Caller("own API key", {API_KEY_HEADER: own.key}, key_of=own),
        Caller("own sync key", {API_KEY_HEADER: sync_key["key"]}, key_of=own, can_sync=True),
        Caller("own API key as a token", bearer(own.key)),
        Caller("other API key", {API_KEY_HEADER: other.key}, key_of=other),
        Caller("revoked API key", {API_KEY_HEADER: revoked_key["key"]}),
        Caller("token as an API key", {API_KEY_HEADER: good}),
        Caller("expired token", bearer(own.owner.token(age=100, lifetime=60))),
        Caller("revoked token", revoked_token),
        Caller("token of nobody", nobody.bearer()),
        Caller("token of a disabled operator", people["disabled operator"].bearer()),
        *(Caller(name, people[name].bearer(), role, people[name]) for name, role in ROLES.items()),
        *(
            Caller(name, people[name].bearer(), None, people[name])
            for name in ("other Owner", "removed member", "stranger")
        ),
    )
