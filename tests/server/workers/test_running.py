"""The worker processes of a running service."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.server.deciding import Deciding, Service, deciding, start
from tests.waiting import wait_until

WAIT_SECONDS = 60.0
CHECK = {"expression": "request.path == '/'", "purpose": "condition"}

pytestmark = [
    pytest.mark.usefixtures("process"),
    pytest.mark.skipif(
        not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc"
    ),
]


def parents() -> dict[int, int]:
    """The parent of every process."""
    found = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = place.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue  # it has ended meanwhile
        if state != "Z":
            found[int(place.parent.name)] = int(parent)
    return found


def descendants(pid: int) -> set[int]:
    """All processes that a process started, and that these started."""
    parent_of = parents()
    family = {pid}
    while more := {child for child, parent in parent_of.items() if parent in family} - family:
        family |= more
    return family - {pid}


def workers(pid: int) -> set[int]:
    """The forked processes, which do the work."""
    parent_of = parents()
    return {each for each in descendants(pid) if parent_of.get(each, pid) != pid}


def check(shop: Deciding) -> Any:
    return shop.by("Viewer").post(f"{shop.path}/expressions/check", CHECK)


def test_workers_that_were_killed_are_replaced(tmp_path: Path) -> None:
    """Checks and changes go on, and decisions never noticed."""
    with deciding(tmp_path) as service:
        shop = service.tenant()
        killed = workers(service.process.pid)
        assert len(killed) >= 3
        for each in killed:
            os.kill(each, signal.SIGKILL)
        assert shop.decide()["action"]["type"] == "allow"
        wait_until(lambda: not killed & workers(service.process.pid))
        assert check(shop).json()["ok"]
        changed = {"name": "New", "expression": "request.path == '/new'"}
        assert shop.by("Owner").post(f"{shop.path}/actions", changed).status_code == 201


def test_a_fork_server_that_was_killed_is_replaced(tmp_path: Path) -> None:
    """Its workers end with it; checks and changes go on, and decisions never noticed."""
    with deciding(tmp_path) as service:
        shop = service.tenant()
        before = workers(service.process.pid)
        parent_of = parents()
        (forks,) = {parent_of[each] for each in before}
        os.kill(forks, signal.SIGKILL)
        assert shop.decide()["action"]["type"] == "allow"
        wait_until(lambda: not before & set(parents()))
        assert check(shop).json()["ok"]
        changed = {"name": "New", "expression": "request.path == '/new'"}
        assert shop.by("Owner").post(f"{shop.path}/actions", changed).status_code == 201


def test_no_worker_outlives_the_service(tmp_path: Path) -> None:
    """No worker outlives the service, however it ends."""
    with deciding(tmp_path):
        pass
    process = start(tmp_path, {})
    assert process.stdout is not None
    process.stdout.readline()
    family = descendants(process.pid)
    assert len(family) >= 4
    process.kill()
    process.wait()
    wait_until(lambda: not [each for each in family if Path(f"/proc/{each}").exists()])


def test_a_change_by_a_worker_decides_when_it_is_answered(service: Service) -> None:
    """The worker asks for the write, and the service takes over what a worker compiled."""
    shop = service.tenant()
    path = f"{shop.path}/policies/{shop.ids('policies')['watch']}"
    changed = shop.by("Admin").patch(path, {"expression": 'request.path == "/other"'})
    assert changed.status_code == 200
    decision = shop.get(f"decisions/{shop.decide('/other')['decision_id']}")
    assert [each["policy"] for each in decision["fired_clauses"]] == ["watch"]
    entry = shop.get("audit")[0]
    assert (entry["action"], entry["actor"]) == ("update", str(shop.by("Admin").operator_id))
