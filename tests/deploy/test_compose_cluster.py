"""The nodes of the Compose file of a cluster: its commands and settings, run as processes."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from tests.deploy.test_deploy import DEPLOY
from tests.waiting import wait_until
from tools import plain_http
from tools.database_pair import Pair, free_port, pair

SERVICES: dict[str, Any] = yaml.safe_load((DEPLOY / "compose-cluster.yaml").read_text())["services"]
STOP_SECONDS = 60


def environment(name: str, directory: Path, url: str, port: int) -> dict[str, str]:
    """The environment of a node's container, with the addresses of this machine."""
    own: dict[str, str] = SERVICES[name]["environment"]
    assert own["TIDEGATE_STORE_URL"].startswith("postgresql://tidegate:${POSTGRES_PASSWORD:?}@")
    here = {
        "TIDEGATE_STORE_URL": url,
        "TIDEGATE_STORE_DIRECTORY": str(directory / name),
        "TIDEGATE_SERVER_HOST": "127.0.0.1",
        "TIDEGATE_SERVER_PORT": str(port),
        "TIDEGATE_WORKERS_PROCESSES": "1",
        "TIDEGATE_SERVER_PUBLIC_URL": "http://localhost:8081",
    }
    return {**os.environ, **own, **here}


@contextmanager
def node(name: str, directory: Path, url: str) -> Iterator[str]:
    """A node by its command, until the block ends; its address."""
    port = free_port()
    words = shlex.split(SERVICES[name]["command"].replace(f"{name}:7400", "127.0.0.1:0"))
    with (directory / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tidegate", *words],
            env=environment(name, directory, url, port),
            stdout=log,
            stderr=log,
        )
    try:
        base_url = f"http://127.0.0.1:{port}"
        wait_until(lambda: process.poll() is not None or answers(f"{base_url}/healthz"))
        assert process.poll() is None, (directory / f"{name}.log").read_text()[-2_000:]
        yield base_url
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def answers(url: str) -> bool:
    """Whether a page is answered with 200."""
    try:
        return plain_http.get(url, timeout=10).status_code == 200
    except httpx2.TransportError:
        return False


@pytest.fixture
def databases(postgresql: None, process: None) -> Iterator[Pair]:
    """A primary and its standby."""
    with pair() as made:
        yield made


def test_both_nodes_become_ready_with_the_keys_of_the_first(
    databases: Pair, tmp_path: Path
) -> None:
    """Node b starts with the files that the service `keys` copies, and reaches the owner."""
    url = databases.url(databases.new_database())
    with node("a", tmp_path, url) as first:
        wait_until(lambda: answers(f"{first}/readyz"))
        shell, flags, script = SERVICES["keys"]["entrypoint"]
        script = script.replace("/from", str(tmp_path / "a"))
        (tmp_path / "b").mkdir(mode=0o700)
        script = script.replace("/var/lib/tidegate", str(tmp_path / "b"))
        subprocess.run([shell, flags, script], check=True)
        with node("b", tmp_path, url) as second:
            wait_until(lambda: answers(f"{second}/readyz"))
