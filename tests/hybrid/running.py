"""A service, and daemons that follow it over a link."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import httpx2
from tests.hybrid.link import Link
from tools import plain_http

PATIENCE = 60.0
POLICY_PATH = "/three"


def wait_for(holds: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """The first true value of a condition.

    Raises:
        AssertionError: it does not in time.
    """
    end_at = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        assert time.monotonic() < end_at, "it did not come to hold"
        time.sleep(0.05)


def end(process: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> None:
    """End a process of ours."""
    process.send_signal(number)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(20)
    if process.stdout is not None:
        process.stdout.close()


def tidegate(
    *words: str, environment: dict[str, str], log: Path
) -> tuple[subprocess.Popen[bytes], Any]:
    """Start a command that prints one line of JSON when it is ready."""
    with log.open("ab") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tidegate", *words, "--json"],
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **environment},
        )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, log.read_text()[-2000:]
    return process, json.loads(line)


@attrs.define
class Service:
    """A running service with the demonstration's tenant."""

    process: subprocess.Popen[bytes]
    said: dict[str, str]
    directory: Path

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """A call of the control plane about the tenant, by its Owner."""
        url = f"{self.said['base_url']}/api/v1/tenants/{self.said['tenant_id']}{path}"
        headers = {"authorization": f"Bearer {self.said['owner_token']}"}
        answer = plain_http.request(method, url, json=body, headers=headers, timeout=30)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    def sync(self, method: str, path: str, **given: Any) -> httpx2.Response:
        """A call as a daemon makes it."""
        headers = {"x-service-api-key": self.said["sync_api_key"]}
        url = f"{self.said['base_url']}/api/v1/sync{path}"
        return plain_http.request(method, url, headers=headers, timeout=30, **given)

    def decide(self, event: dict[str, Any]) -> Any:
        """A decision of the service itself."""
        headers = {"x-service-api-key": self.said["api_key"]}
        url = f"{self.said['base_url']}/api/v1/runtime/mitigation"
        return plain_http.post(url, json=event, headers=headers, timeout=30).json()

    def make_policy(
        self, name: str, path: str, threshold: int, ttl: int = 600, seconds: int = 60
    ) -> Any:
        """A policy that blocks an address from its last of some requests within a time on.

        A path that ends with a hyphen stands for all that begin with it.
        """
        entity = {"name": name, "priority": 1, "key_fields": ["request.client_ip"]}
        made = self.call("POST", "/entity-definitions", entity)
        refuse = {"name": name, "mode": "Block", "ttl_seconds": ttl}
        mitigation = self.call("POST", "/mitigations", refuse)
        clause = {
            "name": "enough",
            "entity_definition_id": made["entity_definition_id"],
            "mitigation_id": mitigation["mitigation_id"],
            "window": {"duration_seconds": seconds, "threshold": threshold},
        }
        begins = f'request.path.startsWith("{path}")'
        policy = {
            "name": name,
            "status": "active",
            "expression": begins if path.endswith("-") else f'request.path == "{path}"',
            "clauses": [clause],
        }
        return self.call("POST", "/policies", policy)

    def decisions(self, path: str) -> list[Any]:
        """Every decision on a path, the newest first."""
        found: list[Any] = []
        before = ""
        while True:
            page = self.call("GET", f"/decisions?path={path}&limit=500{before}")
            found += page
            if len(page) < 500:
                return found
            raise AssertionError("more decisions than the test expects")

    def restart(self, number: int = signal.SIGTERM) -> None:
        """End it and start it again, at the same address and with the same data.

        The first time it has to be killed: a demonstration that ends removes its data.
        """
        end(self.process, number)
        store = self.directory / "store"
        for made in self.directory.glob("tidegate-demo-*"):
            made.rename(store)
        port = self.said["base_url"].rpartition(":")[2]
        self.process, _ = _serve(
            self.directory, "--server-port", port, "--store-directory", str(store)
        )


def _serve(directory: Path, *words: str) -> tuple[subprocess.Popen[bytes], Any]:
    environment = {"HOME": str(directory), "TMPDIR": str(directory)}
    return tidegate("serve", *words, environment=environment, log=directory / "service.log")


@contextmanager
def service(directory: Path) -> Iterator[Service]:
    """The demonstration on a port of its own."""
    process, said = _serve(directory, "--demo", "--no-demo-traffic", "--server-port", "0")
    made = Service(process, said, directory)
    try:
        yield made
    finally:
        end(made.process)


@attrs.define
class Daemon:
    """A daemon in a folder of its own."""

    folder: Path
    log: Path
    settings: dict[str, str] = attrs.field(factory=dict)
    process: subprocess.Popen[bytes] | None = None
    base_url: str = ""

    @property
    def environment(self) -> dict[str, str]:
        return {"TIDEGATE_HOME": str(self.folder), **self.settings}

    def init(self, api_base: str, api_key: str, tenant_id: str) -> None:
        """Make the folder."""
        subprocess.run(
            [
                sys.executable, "-m", "tidegate", "init", "--json", "--api-base", api_base,
                "--api-key", api_key, "--tenant-id", tenant_id,
            ],
            check=True, capture_output=True, env={**os.environ, **self.environment},
        )  # fmt: skip

    def start(self) -> None:
        """Start it on a free port."""
        self.process, said = tidegate(
            "run", "--daemon-port", "0", environment=self.environment, log=self.log
        )
        self.base_url = said["base_url"]

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it, if it runs."""
        if self.process is not None:
            end(self.process, number)
            self.process = None

    def status(self) -> Any:
        """The daemon's status."""
        return plain_http.get(f"{self.base_url}/status", timeout=10).json()

    def decide(self, path: str, address: str, **more: Any) -> Any:
        """A decision of it."""
        event = {"request": {"method": "GET", "path": path, "client_ip": address}, **more}
        url = f"{self.base_url}/api/v1/runtime/mitigation"
        answer = plain_http.post(url, json=event, timeout=10)
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextmanager
def daemon(made: Service, directory: Path, **settings: str) -> Iterator[tuple[Daemon, Link]]:
    """A running daemon behind a link to a service."""
    link = Link(int(made.said["base_url"].rpartition(":")[2]))
    daemon = Daemon(directory / "home", directory / "daemon.log", settings)
    daemon.init(link.url, made.said["sync_api_key"], made.said["tenant_id"])
    daemon.start()
    try:
        wait_for(lambda: daemon.status()["revision"])
        yield daemon, link
    finally:
        daemon.stop()
        link.close()
