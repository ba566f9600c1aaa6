"""The server that is attacked, its operators and its tenants, made by the public interface."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import attrs
import httpx2 as httpx
from tests.attack.documents import LIVE, marked, rules
from tests.attack.processes import tree
from tests.faults.target import Target
from tests.faults.traffic import RUNTIME
from tools import plain_http

PASSWORD = "a password of eight words that nobody else has"
PEOPLE = ("victim", "hostile", "Admin", "Analyst", "Viewer")
RATES = (100_000_000, 10_000_000, 1_000_000, 600_000, 60_000, 6_000)
"""Events a minute that an attacker asks for, until it gets them."""
TRUSTED_PROXY = "127.0.0.99"
"""An address of this machine; the server believes whom it names as its clients."""
CALL_SECONDS, STOP_SECONDS = 600.0, 15.0
WARMING = 8
"""Calls after which everything in the server has started."""
LIVE_SECONDS = 120.0
"""The most time until definitions decide."""
SETTLED = (200, 201, 204)


@attrs.frozen
class Person:
    """An operator: the id, and a token that counts for hours."""

    email: str
    user_id: str
    token: str


@attrs.frozen
class Tenant:
    """A tenant: its id, and the token of whoever acts in each role there."""

    tenant_id: str
    tokens: dict[str, str]

    @property
    def path(self) -> str:
        """The path of everything that is the tenant's."""
        return f"/api/v1/tenants/{self.tenant_id}"


@attrs.define
class World:
    """A running server and those who use it.

    Attributes:
        said: what the server did not allow, and what an attack did instead.
    """

    target: Target
    people: dict[str, Person]
    said: list[str] = attrs.field(factory=list)
    _large: tuple[Tenant, int] | None = None
    _keys: int = 0

    @property
    def base_url(self) -> str:
        """Address of the server."""
        return self.target.base_url

    @property
    def pid(self) -> int:
        """The server's first process."""
        assert self.target.process is not None
        return self.target.process.pid

    def call(self, token: str, method: str, path: str, body: Any = None) -> httpx.Response:
        """A call of the control plane, whatever its answer."""
        headers = {"authorization": f"Bearer {token}"}
        return plain_http.request(
            method, self.base_url + path, json=body, headers=headers, timeout=CALL_SECONDS
        )

    def must(self, token: str, method: str, path: str, body: Any = None) -> Any:
        """The answer of a call of the control plane.

        Raises:
            RuntimeError: it was refused.
        """
        answer = self.call(token, method, path, body)
        if answer.status_code not in SETTLED:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text[:500]}")
        return answer.json() if answer.content else None

    def hot(self, key: str, path: str, event: Any) -> Any:
        """The answer of a hot call."""
        headers = {"x-service-api-key": key}
        answer = plain_http.post(
            self.base_url + path, json=event, headers=headers, timeout=CALL_SECONDS
        )
        return answer.raise_for_status().json()

    def get(self, path: str) -> httpx.Response:
        """The answer to somebody without a credential."""
        return plain_http.get(self.base_url + path, timeout=CALL_SECONDS).raise_for_status()

    def tenant(self, name: str, owner: str = "hostile") -> Tenant:
        """A new tenant with a member in each role, as far as they can be made members."""
        token = self.people[owner].token
        made = self.must(token, "POST", "/api/v1/tenants", {"name": name})
        tenant = Tenant(made["tenant_id"], {"Owner": token})
        for role in ("Admin", "Analyst", "Viewer"):
            member = {"user_id": self.people[role].user_id, "role": role}
            answer = self.call(token, "POST", f"{tenant.path}/memberships", member)
            is_member = answer.status_code in SETTLED
            tenant.tokens[role] = self.people[role].token if is_member else token
            if not is_member:
                self.say(f"the Owner acts for the {role}: {_code(answer)}")
        return tenant

    def key(self, tenant: Tenant, name: str = "key") -> str:
        """A new API key of the highest rate that is allowed."""
        self._keys += 1
        for rate in RATES:
            body = {"name": f"{name} {self._keys}", "rate_limit_per_minute": rate}
            path = f"{tenant.path}/api-keys"
            answer = self.call(tenant.tokens["Owner"], "POST", path, body)
            if answer.status_code in SETTLED:
                if rate != RATES[0]:
                    self.say(f"keys have at most {rate:,} events a minute")
                return str(answer.json()["key"])
        raise RuntimeError(f"no API key: {answer.status_code} {answer.text[:300]}")

    def define(self, tenant: Tenant, document: Callable[[int], dict[str, Any]], count: int) -> int:
        """Put a document of a size in place, of half the size where that is refused, and so on.

        Returns:
            the size that was accepted.

        Raises:
            RuntimeError: even one policy is refused.
        """
        while count:
            path, token = f"{tenant.path}/definitions", tenant.tokens["Admin"]
            given = self.call(token, "PUT", path, marked(document(count)))
            if given.status_code in SETTLED:
                self._await(self.key(tenant, "live"))
                return count
            self.say(f"definitions of size {count:,} are refused: {_code(given)}")
            count //= 2
        raise RuntimeError(f"{given.status_code} {given.text[:500]}")

    def _await(self, key: str) -> None:
        """Wait until the definitions decide: large ones are compiled after they are stored.

        Raises:
            RuntimeError: they do not.
        """
        ends, headers = time.monotonic() + LIVE_SECONDS, {"x-service-api-key": key}
        event = {"request": {"path": LIVE, "method": "GET", "client_ip": "203.0.113.1"}}
        while time.monotonic() < ends:
            answer = plain_http.post(
                self.base_url + RUNTIME, json=event, headers=headers, timeout=CALL_SECONDS
            )
            if answer.status_code == 200 and answer.json()["action"]["type"] == "block":
                return
            time.sleep(0.2)
        raise RuntimeError(f"definitions do not decide after {LIVE_SECONDS:.0f} s: {answer.text}")

    def large(self, count: int) -> tuple[Tenant, int]:
        """The tenant with many rules, made at the first call, and how many it has."""
        if self._large is None:
            tenant = self.tenant("Large")
            self._large = tenant, self.define(tenant, rules, count)
        return self._large

    def warm(self) -> None:
        """Have the server start what it starts at the first call: its memory isn't growth."""
        tenant = self.tenant("Warm")
        path = f"{tenant.path}/expressions/check"
        for number in range(WARMING):
            text = {"expression": f"request.path == '/{number}'"}
            self.must(tenant.tokens["Viewer"], "POST", path, text)

    def say(self, what: str) -> None:
        """Remember, once, what the server did not allow."""
        if what not in self.said:
            self.said.append(what)

    def log(self) -> str:
        """The server's log so far."""
        return self.target.log.read_text(errors="replace")


def _code(answer: httpx.Response) -> str:
    try:
        return f"{answer.status_code} {answer.json()['code']}"
    except (ValueError, KeyError):
        return str(answer.status_code)


def _make(python: str, directory: Path, name: str) -> tuple[str, str]:
    """Email and id of a new operator, made as whoever runs the service makes them."""
    email = f"{name.lower()}@example.test"
    command = [python, "-m", "tidegate", "operator", "create", email, "--password-stdin", "--json"]
    made = subprocess.run(
        [*command, "--store-directory", str(directory / "data")],
        input=PASSWORD + "\n",
        env={**os.environ, "HOME": str(directory)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return email, json.loads(made.stdout)["operator_id"]


def _log_in(base_url: str, email: str, user_id: str) -> Person:
    """An operator who has a token."""
    given = {"email": email, "password": PASSWORD}
    answer = plain_http.post(
        f"{base_url}/api/v1/auth/local/token", json=given, timeout=CALL_SECONDS
    )
    return Person(email, user_id, answer.raise_for_status().json()["access_token"])


@contextmanager
def serving(directory: Path, python: str = sys.executable) -> Iterator[World]:
    """A server of an interpreter's Tidegate on a new directory, until the block ends."""
    made = {name: _make(python, directory, name) for name in PEOPLE}
    settings = {"TIDEGATE_SERVER_TRUSTED_PROXIES": TRUSTED_PROXY}
    target = Target(directory / "data", directory / "log", "", settings, python=python)
    target.start()
    try:
        people = {name: _log_in(target.base_url, *each) for name, each in made.items()}
        yield World(target, people)
    finally:
        _end(target)


def _end(target: Target) -> None:
    """Stop a server; what it still has to do is of no use to anybody."""
    assert target.process is not None
    processes = list(tree(target.process.pid))
    target.process.send_signal(signal.SIGTERM)
    try:
        target.process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        for each in processes:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        target.process.wait()
