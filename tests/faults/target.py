"""The server that faults are done to: a data directory that stays, and a process that does not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import httpx2 as httpx
from tests.faults.traffic import definitions
from tools import plain_http

from tidegate_server.demo import make_owner
from tidegate_server.engines.engines import proof_keys_of
from tidegate_server.operators.keys import load_keys
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from tidegate.policy.proofs import ProofKeys

NAME = "Faults"
UNLIMITED = 100_000_000
LIMITS = {
    "TIDEGATE_SERVER_TENANT_RATE_LIMIT_PER_MINUTE": str(UNLIMITED),
    "TIDEGATE_SERVER_MAX_API_KEY_RATE_LIMIT_PER_MINUTE": str(UNLIMITED),
}
"""Events a minute that nothing here reaches."""
START_SECONDS = 120.0


@attrs.define
class Target:
    """A server on a directory, and its one tenant.

    Attributes:
        directory: of the data.
        log: file of the server's standard error, of all its lives.
        token: of the Owner.
        settings: in the environment of the server.
        python: the interpreter that runs the server, of this checkout or of another.
    """

    directory: Path
    log: Path
    token: str
    settings: Mapping[str, str] = attrs.field(factory=dict)
    tenant_id: str = ""
    api_key: str = ""
    base_url: str = ""
    process: subprocess.Popen[bytes] | None = None
    document: dict[str, Any] = attrs.field(factory=dict)
    python: str = sys.executable

    @classmethod
    def make(cls, directory: Path, log: Path, settings: Mapping[str, str] | None = None) -> Target:
        """Make a database with an operator, start a server on it, and make a tenant."""
        directory.mkdir(mode=0o700, exist_ok=True)
        url = f"sqlite:///{directory / 'tidegate.db'}"
        migrate(url)
        store = SqliteStore(url)
        token = make_owner(store, load_keys(directory / "keys"))
        store.close()
        target = cls(directory, log, token, settings or {})
        target.start()
        target.tenant_id = target.control("POST", "/tenants", {"name": NAME}).json()["tenant_id"]
        target.define(0)
        wanted = {"name": "load", "rate_limit_per_minute": UNLIMITED}
        target.api_key = target.control("POST", f"{target.tenant}/api-keys", wanted).json()["key"]
        return target

    @property
    def tenant(self) -> str:
        """Path of the tenant."""
        return f"/tenants/{self.tenant_id}"

    @property
    def proof_keys(self) -> ProofKeys:
        """Keys that make the proofs of challenges of the tenant."""
        return proof_keys_of(UUID(self.tenant_id), load_keys(self.directory / "keys"))

    @property
    def database(self) -> Path:
        """The file of the database."""
        return self.directory / "tidegate.db"

    def start(self) -> float:
        """Start the server; the seconds until it accepts connections."""
        started = time.monotonic()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(self.python, "-m", "tidegate", "serve", "--json", "--server-port", "0"),
                    *("--store-directory", str(self.directory)),
                ],
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "HOME": str(self.log.parent), **LIMITS, **self.settings},
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the server did not start: {self.log.read_text()[-3000:]}"
        self.base_url = json.loads(line)["base_url"]
        return time.monotonic() - started

    def end(self, number: signal.Signals) -> int:
        """Send the server a signal and give its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        try:
            return self.process.wait(60)
        finally:
            self.process.kill()

    def define(self, number: int) -> httpx.Response:
        """Put the document with this number in place."""
        self.document = definitions(self.tenant_id, NAME, number)
        return self.control("PUT", f"{self.tenant}/definitions", self.document)

    def control(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """A call of the control plane by the Owner.

        Raises:
            httpx.HTTPStatusError: it was refused.
        """
        answer = plain_http.request(
            method,
            f"{self.base_url}/api/v1{path}",
            json=body,
            headers={"authorization": f"Bearer {self.token}"},
            timeout=60,
        )
        return answer.raise_for_status()
