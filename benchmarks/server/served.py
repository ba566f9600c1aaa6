"""A running service for benchmarks: the demonstration with other definitions, pinned to a core."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from attrs import frozen

from benchmarks.goals.native import REPOSITORY, WORKSPACE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEMONSTRATION = (
    *("-m", "tidegate", "serve", "--demo", "--no-demo-traffic"),
    *("--json", "--server-port", "0"),
)
"""Arguments of Python for a demonstration on a free port, whose first line says where it serves."""
SERVER_CORE, LOAD_CORE = 0, 1
UNLIMITED = 100_000_000
"""Events a minute that no benchmark reaches."""
LIMITS = {
    "TIDEGATE_SERVER_TENANT_RATE_LIMIT_PER_MINUTE": str(UNLIMITED),
    "TIDEGATE_METRICS_PUBLIC": "all",
    "TIDEGATE_SERVER_MAX_API_KEY_RATE_LIMIT_PER_MINUTE": str(UNLIMITED),
}


@frozen
class Served:
    """A server that runs: where, as which process, and the key its calls carry."""

    base_url: str
    tenant_id: str
    token: str
    api_key: str
    pid: int

    @property
    def address(self) -> str:
        """Host and port."""
        return urlsplit(self.base_url).netloc

    def call(self, method: str, path: str, body: object = None) -> Any:
        """A call of the control plane.

        Raises:
            RuntimeError: it was refused.
        """
        return self._call(method, path, body)[0]

    def pages(self, path: str) -> Iterator[Any]:
        """The items on all pages of a list.

        Raises:
            RuntimeError: a page was refused.
        """
        following: str | None = path
        while following is not None:
            items, link = self._call("GET", following)
            yield from items
            found = re.search(r'<(?:https?://[^/]+)?/api/v1([^>]+)>; *rel="next"', link)
            following = found and found[1]

    def _call(self, method: str, path: str, body: object = None) -> tuple[Any, str]:
        connection = http.client.HTTPConnection(self.address, timeout=600)
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        text = None if body is None else json.dumps(body)
        connection.request(method, f"/api/v1{path}", text, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {content[:2000].decode()}")
        return json.loads(content) if content else None, answer.headers.get("link", "")

    def resident_bytes(self) -> int:
        """Resident memory of the server's process."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def serving(
    definitions: dict[str, Any], core: int | None = SERVER_CORE, python: str = sys.executable
) -> Iterator[Served]:
    """A server with these definitions and a key without a limit that matters.

    Args:
        definitions: a document; its tenant is replaced by the demonstration's.
        core: the processor core it is pinned to; None leaves it free.
        python: the interpreter whose Tidegate serves.
    """
    environment = {**os.environ, **LIMITS}
    command = pinned([python, *DEMONSTRATION], core)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        served = Served(said["base_url"], said["tenant_id"], said["owner_token"], "", process.pid)
        tenant = f"/tenants/{served.tenant_id}"
        name = served.call("GET", tenant)["name"]
        document = {**definitions, "tenant": {"name": name, "tenant_id": served.tenant_id}}
        served.call("PUT", f"{tenant}/definitions", document)
        key = served.call(
            "POST", f"{tenant}/api-keys", {"name": "load", "rate_limit_per_minute": UNLIMITED}
        )["key"]
        yield Served(served.base_url, served.tenant_id, served.token, key, process.pid)
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a server and wait for it."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()


def pinned(command: Sequence[str], core: int | None) -> list[str]:
    """The command on one core."""
    return list(command) if core is None else ["taskset", "-c", str(core), *command]


def load_generator() -> Path:
    """The program that sends events, built if need be."""
    build = ["cargo", "build", "--release", "--quiet", "--locked"]
    subprocess.run([*build, *WORKSPACE, "--bin", "http_load"], cwd=REPOSITORY, check=True)
    return REPOSITORY / "target" / "release" / "http_load"


def load(
    program: Path,
    address: str,
    path: str,
    events: Path,
    connections: int,
    seconds: float,
    headers: Sequence[str] = (),
    core: int | None = LOAD_CORE,
) -> dict[str, Any]:
    """Send events for a time; what the generator measured."""
    command = [str(program), address, path, str(events), str(connections), str(seconds), *headers]
    ran = subprocess.run(pinned(command, core), check=True, stdout=subprocess.PIPE)
    measured: dict[str, Any] = json.loads(ran.stdout)
    return measured
