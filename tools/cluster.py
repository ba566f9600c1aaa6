"""``make cluster``: three nodes and a database pair on this machine; Ctrl-C stops all of it.

It prints calls that each node answers, also while one of them is killed: a node that ends is
started again, as a service manager does.
"""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

import attrs
import httpx2 as httpx
import orjson
from tools import plain_http
from tools.database_pair import LOOPBACK, NEEDED, Pair, pair, programs
from tools.network import Machine, Network

from tidegate_server.cluster.ownership import View, plan
from tidegate_server.demo import Demo, make_demo, make_owner
from tidegate_server.directory.opening import open_directory
from tidegate_server.stores.databases import open_store
from tidegate_server.stores.directory.members import ClusterReader

READY_SECONDS = 60.0
T = TypeVar("T")


@attrs.define
class Node:
    """One node."""

    name: str
    directory: Path
    url: str
    host: str = LOOPBACK
    machine: Machine | None = None
    base_url: str = ""
    standby: str = "required"
    partitions: int = 1
    python_path: str = ""
    """Where another version of the package is; empty for this one."""
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """The file with its log."""
        return self.directory.with_suffix(".log")

    @property
    def runs(self) -> bool:
        """Whether its process is there."""
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        self.begin()
        self.wait_until_started()

    def begin(self) -> None:
        """Start its process."""
        command = [sys.executable, "-m", "tidegate", "serve", "--json"]
        command += ["--server-port", self.base_url.rpartition(":")[2] or "0"]
        command += ["--store-directory", str(self.directory), "--node-name", self.name]
        command += ["--host", self.host, "--node-address", f"{self.host}:0"]
        if self.machine is not None:
            command = self.machine.inside(command)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=log,
                # Ctrl-C is for the one who started it, who stops the nodes.
                start_new_session=True,
                env={
                    **os.environ,
                    **({"PYTHONPATH": self.python_path} if self.python_path else {}),
                    "TIDEGATE_STORE_URL": self.url,
                    "TIDEGATE_STORE_STANDBY": self.standby,
                    "TIDEGATE_STORE_PARTITIONS": str(self.partitions),
                    # The network has this machine alone.
                    "TIDEGATE_SERVER_BEHIND_PROXY": str(self.machine is not None).lower(),
                    # All nodes share the processors of this machine.
                    "TIDEGATE_WORKERS_PROCESSES": "1",
                },
            )

    def wait_until_started(self) -> None:
        """Return when it accepts connections."""
        assert self.process is not None
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
            return plain_http.get(f"{self.base_url}/readyz", timeout=10).status_code == 200
        except httpx.TransportError:
            return False


@attrs.define
class Cluster:
    """Nodes over one database, with the demonstration's tenant."""

    databases: Pair
    url: str
    nodes: dict[str, Node]
    demo: Demo

    def stop(self) -> None:
        """Stop all nodes, at once: none of them has to take over from another."""
        running = [each.process for each in self.nodes.values() if each.process is not None]
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            process.wait(READY_SECONDS)

    def start_ended(self) -> None:
        """Start each node that ended, as a service manager does."""
        for node in self.nodes.values():
            if not node.runs:
                node.start()

    def owner(self, partition: int = 0) -> Node:
        """The node that holds the lock of a log."""
        with self._reading() as reader:
            return self._wait(
                lambda: self.nodes.get(reader.read().partitions[partition].owner or ""),
                "nobody owns the log",
            )

    def others(self) -> list[Node]:
        """The nodes that are not the owner."""
        owner = self.owner()
        return [each for each in self.nodes.values() if each is not owner]

    def wait_until_ready(self) -> None:
        """Return when each node that runs can reach an owner."""
        until = time.monotonic() + READY_SECONDS
        # One that ends meanwhile is not waited for.
        while waiting := [
            each for each in self.nodes.values() if each.runs and not each.is_ready()
        ]:
            assert time.monotonic() < until, "\n".join(each.log.read_text() for each in waiting)
            time.sleep(0.05)

    def wait_until_level(self) -> None:
        """Return when followers have all states, so that the next owners are ready for the logs."""
        with self._reading() as reader:
            self._wait(lambda: is_level(reader.read()), "nobody follows the log")

    @contextmanager
    def _reading(self) -> Iterator[ClusterReader]:
        reader = ClusterReader(self.url)
        try:
            yield reader
        finally:
            reader.close()

    def _wait(self, found: Callable[[], T | None], what: str) -> T:
        until = time.monotonic() + READY_SECONDS
        while not (one := found()):
            assert time.monotonic() < until, what
            time.sleep(0.02)
        return one

    def decide(self, node: Node, body: object, path: str = "runtime/mitigation") -> httpx.Response:
        """A hot call at a node."""
        return plain_http.post(
            f"{node.base_url}/api/v1/{path}",
            content=orjson.dumps(body),
            headers={
                "x-service-api-key": self.demo.api_key,
                "content-type": "application/json",
            },
            timeout=30,
        )


def is_level(view: View) -> bool:
    """Whether the right nodes own all partitions, and others have their states."""
    return all(
        view.partitions[number].owner == place.owner
        and place.follower in view.partitions[number].level
        for number, place in plan(view).items()
    )


def shared(first: Path, to: Path) -> Path:
    """A directory of a further node, as an operator makes it."""
    to.mkdir(mode=0o700)
    shutil.copytree(first / "keys", to / "keys")
    shutil.copy(first / "identity", to)
    return to


@contextmanager
def cluster(
    directory: Path,
    names: str = "abc",
    standby: str = "required",
    network: Network | None = None,
    databases_at: AbstractContextManager[Pair] | None = None,
    partitions: int = 1,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Cluster]:
    """A cluster that runs as long as the block does.

    Args:
        directory: of the nodes' directories and logs.
        names: a letter for each node.
        standby: as of the setting ``store.standby``.
        partitions: as of the setting ``store.partitions``.
        progress: called with each step before it begins.
        network: with a machine for each node; without one, all are on the loopback interface.
        databases_at: the databases, which the nodes can reach.
    """
    progress("starting PostgreSQL, a primary and a standby")
    with databases_at or pair() as databases:
        url = databases.url(databases.new_database())
        first = directory / names[0]
        keys = open_directory(first, url=url)
        store = open_store(url)
        token = make_owner(store, keys)
        store.close()
        places: Iterable[tuple[str, Machine | None]] = (
            itertools.repeat((LOOPBACK, None)) if network is None else network.machines.items()
        )
        directories = [first, *(shared(first, directory / name) for name in names[1:])]
        nodes = {
            name: Node(name, own, url, host, machine, standby=standby, partitions=partitions)
            for name, own, (host, machine) in zip(names, directories, places, strict=False)
        }
        made = Cluster(databases, url, nodes, Demo("", "", "", "", ""))
        try:
            progress(f"starting the nodes {', '.join(nodes)}")
            for node in nodes.values():
                node.begin()
            for node in nodes.values():
                node.wait_until_started()
            progress("waiting until one of them owns the log, and the others reach it")
            made.wait_until_ready()
            progress("making a tenant with sample definitions and an API key")
            made.demo = make_demo(nodes[names[-1]].base_url, token)
            yield made
        finally:
            for node in nodes.values():
                node.kill()


EVENT = {
    "request": {
        "method": "GET",
        "path": "/.env",
        "host": "shop.example",
        "client_ip": "203.0.113.9",
    }
}
WATCH_SECONDS = 0.5


def curl_line(base_url: str, api_key: str) -> str:
    """A call of a node."""
    return (
        f"curl --silent --show-error --fail {base_url}/api/v1/runtime/mitigation"
        f" -H 'x-service-api-key: {api_key}' -H 'content-type: application/json'"
        f" -d {shlex.quote(orjson.dumps(EVENT).decode())}"
    )


def main() -> None:
    """Run a cluster until Ctrl-C or SIGTERM."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if programs() is None:
        sys.exit(f"PostgreSQL {NEEDED} or newer is needed: install it from the distribution")
    with tempfile.TemporaryDirectory(prefix="tidegate-cluster-") as directory:
        try:
            with cluster(Path(directory), progress=_say_step) as made:
                _say(made, Path(directory))
                _watch(made)
        except KeyboardInterrupt:
            pass
    print("stopped", flush=True)


def _say_step(step: str) -> None:
    print(f"{step} ...", flush=True)


def program() -> str:
    """The command of this environment, which need not be on the path of a shell."""
    return f"{shlex.quote(os.path.relpath(sys.executable))} -m tidegate"


def _say(made: Cluster, directory: Path) -> None:
    lines = [
        f"three nodes, with logs in {directory}; stop with Ctrl-C",
        "",
        f"console  {made.owner().base_url}/console/#access_token={made.demo.owner_token}",
        f"status   {program()} cluster status --store-url '{made.url}'",
        "",
        "one event in, one decision out, at each node:",
        "",
    ]
    for node in made.nodes.values():
        assert node.process is not None
        kill = f"kill -9 {node.process.pid}"
        lines += [f"# node {node.name}, which ends with: {kill}"]
        lines += [curl_line(node.base_url, made.demo.api_key), ""]
    print("\n".join(lines), flush=True)


def _watch(made: Cluster) -> None:
    """Start nodes again that ended, until Ctrl-C."""
    # Noted instead of raised: an exception of a signal that strikes a finalizer is ignored.
    signals: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda given, _: signals.append(given))
    try:
        while not signals:
            for node in made.nodes.values():
                if not node.runs:
                    print(f"node {node.name} ended and is started again", flush=True)
                    node.begin()
                    assert node.process is not None
                    print(f"node {node.name} is process {node.process.pid} now", flush=True)
            time.sleep(WATCH_SECONDS)
    finally:
        made.stop()


if __name__ == "__main__":
    main()
