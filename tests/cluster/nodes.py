"""Nodes in processes of their own, over a database pair that the test starts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import httpx2 as httpx
import orjson
import psycopg
from tests.postgresql.pair import Pair, pair

from tidegate.server.demo import Demo, make_demo, make_owner
from tidegate.server.directory.opening import open_directory
from tidegate.stores import open_store

READY_SECONDS = 60.0


@attrs.define
class Node:
    """One node."""

    name: str
    directory: Path
    url: str
    base_url: str = ""
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """What it says."""
        return self.directory.with_suffix(".log")

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        command = [sys.executable, "-m", "tidegate", "serve", "--json"]
        command += ["--server-port", self.base_url.rpartition(":")[2] or "0"]
        command += ["--store-directory", str(self.directory), "--node-name", self.name]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "TIDEGATE_STORE_URL": self.url},
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log.read_text()[-2000:]
        self.base_url = orjson.loads(line)["base_url"]

    def kill(self) -> None:
        """End it as a crash does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(READY_SECONDS)

    def is_ready(self) -> bool:
        """Whether it can reach an owner."""
        try:
            return httpx.get(f"{self.base_url}/readyz", timeout=10).status_code == 200
        except httpx.TransportError:
            return False


@attrs.define
class Cluster:
    """Nodes over one database, with the demonstration's tenant."""

    databases: Pair
    url: str
    nodes: dict[str, Node]
    demo: Demo

    def owner(self) -> Node:
        """The node that the directory has the log at."""
        with psycopg.connect(self.url) as connection:
            found = connection.execute("SELECT owner FROM cluster_placements").fetchone()
        assert found is not None
        return self.nodes[found[0]]

    def others(self) -> list[Node]:
        """The nodes that are not the owner."""
        owner = self.owner()
        return [each for each in self.nodes.values() if each is not owner]

    def wait_until_ready(self) -> None:
        """Return when each node that runs can reach an owner."""
        until = time.monotonic() + READY_SECONDS
        running = [
            each
            for each in self.nodes.values()
            if each.process is not None and each.process.poll() is None
        ]
        while not all(each.is_ready() for each in running):
            assert time.monotonic() < until, "\n".join(each.log.read_text() for each in running)
            time.sleep(0.05)

    def decide(self, node: Node, body: object, path: str = "runtime/mitigation") -> httpx.Response:
        """A hot call at a node."""
        return httpx.post(
            f"{node.base_url}/api/v1/{path}",
            content=orjson.dumps(body),
            headers={
                "x-service-api-key": self.demo.api_key,
                "content-type": "application/json",
            },
            timeout=30,
        )


def shared(first: Path, to: Path) -> Path:
    """A directory of a further node, as an operator makes it."""
    to.mkdir(mode=0o700)
    shutil.copytree(first / "keys", to / "keys")
    shutil.copy(first / "identity", to)
    return to


@contextmanager
def cluster(directory: Path, names: str = "abc") -> Iterator[Cluster]:
    """A cluster that runs as long as the block does.

    Args:
        directory: of the nodes' directories and logs.
        names: a letter for each node.
    """
    with pair() as databases:
        url = databases.url(databases.emptied())
        first = directory / names[0]
        keys = open_directory(first, url=url)
        store = open_store(url)
        token = make_owner(store, keys)
        store.close()
        nodes = {names[0]: Node(names[0], first, url)}
        for name in names[1:]:
            nodes[name] = Node(name, shared(first, directory / name), url)
        made = Cluster(databases, url, nodes, Demo("", "", "", "", ""))
        try:
            for node in nodes.values():
                node.start()
            made.wait_until_ready()
            made.demo = make_demo(nodes[names[-1]].base_url, token)
            yield made
        finally:
            for node in nodes.values():
                node.kill()
