"""A whole service in its own process, as ``tidegate serve`` starts it."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import httpx2 as httpx
import pytest

START_SECONDS = 60.0
CERTIFICATES = ssl.create_default_context()
"""Read once: each call would read them again, which takes longer than the call."""


@attrs.frozen
class Service:
    """A running service and who may call it."""

    base_url: str
    tenant_id: str
    api_key: str
    owner_token: str
    sync_api_key: str
    process: subprocess.Popen[bytes]
    log: Path

    def hot(self, path: str, body: object, **headers: str) -> httpx.Response:
        """A hot call with the demonstration's key."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.post(path, content, {"x-service-api-key": self.api_key, **headers})

    def post(self, path: str, content: bytes, headers: Mapping[str, str]) -> httpx.Response:
        """Any call with a body."""
        given = {"content-type": "application/json", **headers}
        return httpx.post(
            f"{self.base_url}/api/v1{path}",
            content=content,
            headers=given,
            timeout=30,
            verify=CERTIFICATES,
        )

    def control(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """A call of the control plane by the Owner."""
        return httpx.request(
            method,
            f"{self.base_url}/api/v1{path}",
            json=body,
            headers={"authorization": f"Bearer {self.owner_token}"},
            timeout=30,
            verify=CERTIFICATES,
        )


def start(*arguments: str, log: Path, environment: Mapping[str, str] | None = None) -> Any:
    """Start ``tidegate serve`` and give the process and the first line it prints.

    A demonstration sends itself no traffic.
    """
    quiet = ["--no-demo-traffic"] if "--demo" in arguments else []
    serve = [sys.executable, "-m", "tidegate", "serve", "--json", "--server-port", "0", *quiet]
    process = subprocess.Popen(
        [*serve, *arguments],
        stdout=subprocess.PIPE,
        stderr=log.open("wb"),
        env={**os.environ, "HOME": str(log.parent), **(environment or {})},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        process.wait(10)
        raise AssertionError(f"the server did not start: {log.read_text()[-2000:]}")
    return process, json.loads(line)


def stop(process: subprocess.Popen[bytes]) -> int:
    """Stop a server as an operator would, and give its exit code."""
    process.send_signal(signal.SIGTERM)
    try:
        return process.wait(30)
    finally:
        process.kill()


@contextmanager
def demonstration(log: Path, *arguments: str) -> Iterator[Service]:
    """The demonstration, until the block ends."""
    process, said = start("--demo", "--metrics-public", "all", *arguments, log=log)
    try:
        yield Service(process=process, log=log, **said)
    finally:
        stop(process)


@pytest.fixture(scope="session")
def service(process: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The demonstration, shared by all tests that only add to it."""
    with demonstration(tmp_path_factory.mktemp("service") / "log") as made:
        yield made
