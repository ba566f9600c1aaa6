"""The server that is attacked, its operators and its tenants, made by the public interface."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import attrs
import httpx2 as httpx
import yaml
from tests.faults.target import Target

PASSWORD = "a password of eight words that nobody else has"
PEOPLE = ("victim", "hostile", "Admin", "Analyst", "Viewer")
RATES = (100_000_000, 10_000_000, 1_000_000, 600_000, 60_000, 6_000)
"""Events a minute that an attacker asks for, until it gets them."""
CALL_SECONDS = 600.0
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
        """Of everything that is the tenant's."""
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
        return httpx.request(
            method, self.base_url + path, json=body, headers=headers, timeout=CALL_SECONDS
        )

    def must(self, token: str, method: str, path: str, body: Any = None) -> Any:
        """What a call of the control plane gives.

        Raises:
            RuntimeError: it was refused.
        """
        answer = self.call(token, method, path, body)
        if answer.status_code not in SETTLED:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text[:500]}")
        return answer.json() if answer.content else None

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
        for rate in RATES:
            body = {"name": name, "rate_limit_per_minute": rate}
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
            given = self.call(token, "PUT", path, document(count))
            if given.status_code in SETTLED:
                return count
            self.say(f"definitions of size {count:,} are refused: {_code(given)}")
            count //= 2
        raise RuntimeError(f"{given.status_code} {given.text[:500]}")

    def large(self, count: int) -> tuple[Tenant, int]:
        """The tenant with many rules, made at the first call, and how many it has."""
        if self._large is None:
            tenant = self.tenant("Large")
            self._large = tenant, self.define(tenant, rules, count)
        return self._large

    def say(self, what: str) -> None:
        """Remember, once, what the server did not allow."""
        if what not in self.said:
            self.said.append(what)

    def log(self) -> str:
        """What the server wrote to its log so far."""
        return self.target.log.read_text(errors="replace")


def _code(answer: httpx.Response) -> str:
    try:
        return f"{answer.status_code} {answer.json()['code']}"
    except (ValueError, KeyError):
        return str(answer.status_code)


def rules(count: int, mark: int = 0) -> dict[str, Any]:
    """A document of so many policies, each of another expression; all differ by the mark."""
    policies = [
        {
            "name": f"Rule {number}",
            "description": f"of set {mark}",
            "clauses": [
                {
                    "expression": f'request.path.startsWith("/area/{number}/{mark}") && '
                    f'(request.query_params["q"].lower().contains("word-{number}") || '
                    f'request.headers["x-part"] in ["a{number}", "b{number}", "c{mark}"]) && '
                    f'request.user_agent.matches("agent-{number % 97}[0-9]+/{mark}")'
                }
            ],
        }
        for number in range(count)
    ]
    return {"apiVersion": "tidegate/v1", "policies": policies}


def samples() -> dict[str, Any]:
    """The definitions of the example shop, without its tenant."""
    text = resources.files("tidegate.samples").joinpath("definitions.yaml").read_text()
    document: dict[str, Any] = yaml.safe_load(text)
    del document["tenant"]
    return document


def _person(python: str, directory: Path, name: str) -> Person:
    """An operator, made as the one who runs the service makes them."""
    email = f"{name.lower()}@example.test"

    def run(*arguments: str, given: str = "") -> Any:
        command = [python, "-m", "tidegate", "operator", *arguments, "--json"]
        made = subprocess.run(
            [*command, "--store-directory", str(directory / "data")],
            input=given,
            env={**os.environ, "HOME": str(directory)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return json.loads(made.stdout)

    made = run("create", email, "--password-stdin", given=PASSWORD + "\n")
    return Person(email, made["operator_id"], run("token", email)["access_token"])


@contextmanager
def serving(directory: Path, python: str = sys.executable) -> Iterator[World]:
    """A server of an interpreter's Tidegate on a new directory, until the block ends."""
    people = {name: _person(python, directory, name) for name in PEOPLE}
    target = Target(directory / "data", directory / "log", people["hostile"].token, python=python)
    target.start()
    try:
        yield World(target, people)
    finally:
        target.end(signal.SIGTERM)


@attrs.frozen
class Usage:
    """What the processes of a server took until now.

    Attributes:
        resident: MiB of all of them.
        seconds: of processor, of those that still live.
    """

    resident: float
    seconds: float
    processes: int

    @classmethod
    def read(cls, pid: int) -> Usage:
        """Of a process and all its descendants."""
        resident = seconds = 0.0
        found = list(_tree(pid))
        for each in found:
            try:
                pages = int(Path(f"/proc/{each}/statm").read_text().split()[1])
                fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            resident += pages * os.sysconf("SC_PAGE_SIZE") / 2**20
            seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return cls(resident, seconds, len(found))


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        for child in children:
            yield from _tree(int(child))


def settle(seconds: float) -> None:
    """Let what was begun come to its end."""
    time.sleep(seconds)
