"""The stop of a service of two workers."""

from __future__ import annotations

import signal
import socket
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

from tests.faults.target import Target
from tests.server.partitions.workers import connected, owner_of
from tools import plain_http

WAIT_SECONDS = 60.0


def test_daemons_that_wait_for_changes_are_answered_at_a_stop(
    tmp_path: Path, process: None
) -> None:
    """Wherever the call came in, it neither holds the service until the drain's end, nor ends as
    an error."""
    settings = {"TIDEGATE_SERVER_WORKERS": "2", "TIDEGATE_SERVER_DRAIN_SECONDS": "600"}
    target = Target.make(tmp_path / "data", tmp_path / "log", settings)
    assert target.process is not None
    try:
        second = target.control("POST", "/tenants", {"name": "Second"}).json()["tenant_id"]
        wanted = {"name": "site", "can_sync": True}
        key = target.control("POST", f"/tenants/{second}/api-keys", wanted).json()["key"]
        _await_definitions(target, key)
        place = urlsplit(target.base_url)
        probe = _get("/healthz", place.netloc)
        wait = _get("/api/v1/sync/changes?wait=60", place.netloc, f"x-service-api-key: {key}")
        with ExitStack() as until:
            waiting: list[socket.socket] = []
            for partition in (0, 1):
                owner = owner_of(target.directory, partition)
                waits = until.enter_context(connected(place, owner))
                probes = until.enter_context(connected(place, owner))
                waits.sendall(wait)
                waiting.append(waits)
                # The loop reads in the order of arrival.
                for _ in range(2):
                    probes.sendall(probe)
                    assert probes.recv(65_536).startswith(b"HTTP/1.1 200")
            assert target.end(signal.SIGTERM) == 0
            for each in waiting:
                with each.makefile("rb") as answer:
                    assert answer.readline() == b"HTTP/1.1 200 OK\r\n"
    finally:
        target.process.kill()
    assert '"level":"error"' not in target.log.read_text()


def _await_definitions(target: Target, key: str) -> None:
    """Return when the tenant of a key has definitions that daemons can follow."""
    end = time.monotonic() + WAIT_SECONDS
    url = f"{target.base_url}/api/v1/sync/snapshot"
    while plain_http.get(url, headers={"x-service-api-key": key}).status_code != 200:
        assert time.monotonic() < end
        time.sleep(0.05)


def _get(path: str, host: str, *headers: str) -> bytes:
    lines = (f"GET {path} HTTP/1.1", f"host: {host}", *headers)
    return "\r\n".join([*lines, "", ""]).encode()
