"""A disk that fills up under a running server, and has room again."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import httpx2 as httpx
import pytest
from tests.faults.check import Checker
from tests.faults.load import Acknowledged, Call, send
from tests.faults.target import Target
from tests.faults.traffic import PROBE, RUNTIME, Traffic
from tests.waiting import wait_until
from tools import plain_http

SIZE = "16m"
DEADLINE_SECONDS = 60.0
CALLS = 300


@attrs.frozen
class Disk:
    """A file system of its own, small."""

    path: Path

    def fill(self) -> None:
        """Leave no room at all."""
        with (self.path / "filler").open("ab", buffering=0) as filler:
            for size in (65_536, 4_096, 1):
                try:
                    while True:
                        filler.write(bytes(size))
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def free(self) -> None:
        """Give the room back."""
        (self.path / "filler").unlink()


@pytest.fixture
def disk(tmp_path: Path, namespace: None) -> Iterator[Disk]:
    """A tmpfs; skips where none can be mounted."""
    place = tmp_path / "data"
    place.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0700", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a tmpfs needs the rights of root")
    try:
        yield Disk(place)
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def start(disk: Disk, tmp_path: Path) -> Iterator[Callable[..., Target]]:
    """Starts a server on the disk; killed at the end."""
    made: list[Target] = []

    def start(**settings: str) -> Target:
        made.append(Target.make(disk.path, tmp_path / "log", settings))
        return made[0]

    yield start
    for target in made:
        target.end(signal.SIGKILL)


def calls(seed: int) -> list[Call]:
    """Some events."""
    traffic = Traffic(seed)
    return [Call(*traffic.next()) for _ in range(CALLS)]


def load(target: Target, events: list[Call]) -> list[Acknowledged]:
    """Send events; all are acknowledged."""
    outcome = asyncio.run(send(target.base_url, target.api_key, events))
    assert not outcome.refused, outcome.refused
    assert len(outcome.acknowledged) == len(events)
    return outcome.acknowledged


def post(target: Target, call: Call) -> httpx.Response:
    """One hot call."""
    headers = {"x-service-api-key": target.api_key, "content-type": "application/json"}
    return plain_http.post(
        target.base_url + call.path, content=call.body, headers=headers, timeout=60
    )


def test_a_full_disk_refuses_decisions_and_recovers(
    disk: Disk, start: Callable[..., Target]
) -> None:
    """Calls that can't be recorded are refused, not decided; with room again the server decides."""
    target = start()
    checker = Checker(UUID(target.tenant_id), target.document)
    acknowledged = load(target, calls(1))
    # A search shows what was indexed while there was room for it.
    wait_until(lambda: target.control("GET", f"{target.tenant}/decisions?limit=1").json())
    disk.fill()
    outcome = asyncio.run(send(target.base_url, target.api_key, calls(2)))
    acknowledged += outcome.acknowledged
    assert set(outcome.refused) == {503}
    refused = post(target, Call(*Traffic(3).next()))
    assert refused.status_code == 503
    assert refused.json()["code"] == "decision-log-unavailable"
    assert int(refused.headers["retry-after"]) > 0

    assert plain_http.get(f"{target.base_url}/healthz").status_code == 200
    assert target.control("GET", f"{target.tenant}/policies").json()
    assert target.control("GET", f"{target.tenant}/decisions?limit=1").json()

    disk.free()
    started = time.monotonic()
    wait_until(lambda: post(target, Call(*Traffic(3).next())).status_code == 200)
    print(f"recovered after {time.monotonic() - started:.1f} s")
    known = {made.call.key for made in acknowledged}
    late = [call for call in calls(2) if call.key not in known]
    again = load(target, late)
    assert not [made.call.key for made in again if made.is_replayed]
    acknowledged += again + load(target, calls(4))
    checker.check(target.database, acknowledged)


def test_a_change_that_met_a_full_disk_recovers_without_traffic(
    disk: Disk, start: Callable[..., Target]
) -> None:
    """A control plane that nobody sends events to comes back by itself."""
    target = start()
    disk.fill()

    def fails() -> bool:
        try:
            target.define(1)
        except httpx.HTTPStatusError as error:
            assert error.response.status_code == 503
            return True
        return False

    wait_until(fails)
    disk.free()
    wait_until(lambda: not fails())
    load(target, calls(1))


def test_relaxed_durability_answers_on_and_records_the_gap(
    disk: Disk, start: Callable[..., Target]
) -> None:
    """Every event is answered; the audit says how many are not in the log; no state is lost."""
    target = start(TIDEGATE_STORE_DURABILITY="relaxed")
    answered = load(target, calls(1))
    disk.fill()
    answered += load(target, calls(2))
    intruder = {"request": {"method": "GET", "path": PROBE, "client_ip": "10.7.7.7"}}
    probe = Call(RUNTIME, "probe", json.dumps({**intruder, "idempotency_key": "probe"}).encode())
    assert "block" in load(target, [probe])[0].answer.decode()
    disk.free()

    def gaps() -> list[dict[str, Any]]:
        found = target.control("GET", f"{target.tenant}/audit?kind=decision-log").json()
        return [each["after"] for each in found]

    wait_until(gaps)
    load(target, calls(3))
    assert target.end(signal.SIGTERM) == 0
    target.start()
    intruder["request"]["path"] = "/"
    after = post(target, Call(RUNTIME, "", json.dumps(intruder).encode())).json()
    assert (after["action"]["type"], after["reason"]) == ("block", "active-mitigation")
    logged = target.control("GET", f"{target.tenant}/results/timeline").json()
    total = sum(step["total"] for step in logged)
    missing = sum(gap["decisions"] for gap in gaps())
    assert missing > 0
    assert total + missing == 3 * CALLS + 2
    assert all(gap["from"] <= gap["to"] for gap in gaps())
