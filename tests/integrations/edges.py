"""The examples under deploy/integrations, each started by the command of its README."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

import attrs

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "deploy" / "integrations"
BIN = Path(sys.executable).parent
START_SECONDS = 60.0
_PATH = f"{BIN}:{os.environ['PATH']}:/usr/sbin"

Command: TypeAlias = Callable[[Path, int], list[str]]
"""A command that starts an example, by its folder and a port."""


@attrs.frozen
class Edge:
    """An integration that runs.

    Attributes:
        name: of its folder.
        base_url: where visitors go: the origin of the site.
        log: what it printed.
    """

    name: str
    base_url: str
    log: Path


def program(name: str) -> str:
    found = shutil.which(name, path=_PATH)
    assert found, f"{name} is not installed: .ci/run installs it"
    return found


def _of_readme(folder: str) -> Command:
    """The one command that the README of a folder has."""
    text = (EXAMPLES / folder / "README.md").read_text()
    (line,) = re.findall(r"^TIDEGATE_KEY=tg_… (.+)$", text, re.MULTILINE)

    def command(where: Path, port: int) -> list[str]:
        placed = line.replace(f"deploy/integrations/{folder}", str(where))
        return shlex.split(placed.replace("8000", str(port)))

    return command


COMMANDS: Mapping[str, Command] = {
    **{name: _of_readme(name) for name in ("asgi", "wsgi", "nginx", "caddy", "envoy", "haproxy")},
    "express": _of_readme("javascript"),
    "worker": lambda *_: ["node", str(Path(__file__).with_name("worker_host.mjs"))],
}
"""Examples by name; ``express`` and ``worker`` are both in the folder ``javascript``."""
_FOLDERS = {"express": "javascript", "worker": "javascript"}


def free_port() -> int:
    """A port on loopback that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def running(
    name: str, tidegate_url: str, key: str, directory: Path, folder: Path | None = None
) -> Iterator[Edge]:
    """An example, until the block ends.

    Args:
        name: one of ``COMMANDS``.
        tidegate_url: the address of the service that it asks.
        key: of the tenant.
        directory: its log is put there.
        folder: of the example, where it is not the one under deploy/.
    """
    port, service = free_port(), urlsplit(tidegate_url)
    settings = {
        "TIDEGATE_URL": tidegate_url,
        "TIDEGATE_ADDRESS": service.netloc,
        "TIDEGATE_HOST": str(service.hostname),
        "TIDEGATE_PORT": str(service.port),
        "TIDEGATE_KEY": key,
        "PORT": str(port),
        "SITE_PORT": str(free_port()),
        "ENVOY": str(BIN / "envoy"),
        "HOME": str(directory),
        "TMPDIR": str(directory),
        "PATH": _PATH,
    }
    command = COMMANDS[name](folder or EXAMPLES / _FOLDERS.get(name, name), port)
    log = directory / f"{name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [program(command[0]), *command[1:]],
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **settings},
            cwd=directory,
        )
    try:
        _await(process, port, log)
        yield Edge(name, f"http://127.0.0.1:{port}", log)
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def _await(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"it did not start: {log.read_text()[-2000:]}")
